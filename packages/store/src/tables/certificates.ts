/** state.certificates: quorum certificates that the log has recorded. */
import type { CertificateWrite, CertifiedHead, Cosignature } from "@event-anchoring/ledger";
import { ByteReader, ByteWriter, asciiToBytes, bytesToAscii, toOriginFingerprint } from "@event-anchoring/protocol";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import type { Reader } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import type { GuardedStatement } from "./guarded-statement.ts";
import type { OriginNumbers } from "./origin-numbers.ts";
import { arraysOf, bigint, bytea, insertOf, selectOf, smallint } from "./table.ts";
import type { Columns } from "./table.ts";

const SIGNATURE_BYTES = 64;

/** A row of the table, without its origin. */
export interface CertificateColumns {
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
  /** Unix seconds. */
  readonly certifiedAtS: number;
  readonly trustRootVersion: number;
  /** Encoded. */
  readonly cosignatures: Uint8Array;
}

const COLUMNS: Columns<CertificateColumns> = {
  treeSize: bigint("tree_size"),
  rootHash: bytea("root_hash"),
  certifiedAtS: bigint("certified_at_s"),
  trustRootVersion: bigint("trust_root_version"),
  cosignatures: bytea("cosignatures"),
};

const ALL = { origin: smallint("origin"), ...COLUMNS };

const arrays = arraysOf(ALL);
const INSERT = { name: "certificates", sql: insertOf("state.certificates", ALL) };

export function addCertificates(
  statement: GuardedStatement,
  certificates: readonly CertificateWrite[],
  numbers: OriginNumbers,
): void {
  if (certificates.length === 0) return;
  const cosignatures = certificates.map((certificate) => encodeCosignatures(certificate.cosignatures));
  statement.add(INSERT, arrays(certificates, { origin: numbers.of(certificates), cosignatures }));
}

/** u16 count; each: u16 length and node id, u64 time, 64 bytes. */
export function encodeCosignatures(cosignatures: readonly Cosignature[]): Uint8Array {
  const writer = new ByteWriter().u16(cosignatures.length);
  for (const { nodeId, timeS, signature } of cosignatures) {
    writer.lengthPrefixed16(asciiToBytes(nodeId)).u64(timeS).bytes(signature, SIGNATURE_BYTES);
  }
  return writer.finish();
}

/** @throws DecodeError */
export function decodeCosignatures(bytes: Uint8Array): Cosignature[] {
  const reader = new ByteReader(bytes);
  const count = reader.u16();
  const cosignatures = Array.from({ length: count }, () => ({
    nodeId: bytesToAscii(reader.lengthPrefixed16()),
    timeS: reader.u64(),
    signature: reader.bytes(SIGNATURE_BYTES),
  }));
  reader.finish();
  return cosignatures;
}

/** A recorded quorum certificate. */
export interface StoredCertificate extends Omit<CertificateColumns, "cosignatures"> {
  readonly originFingerprint: OriginFingerprint;
  readonly cosignatures: readonly Cosignature[];
}

export interface CertificateRow extends CertificateColumns {
  readonly originFingerprint: Uint8Array;
}

/** @param alias of the table */
export function certificateColumns(alias: string): string {
  return selectOf(alias, COLUMNS);
}

/** @throws StoreError `corrupt` */
export function toStoredCertificate(row: CertificateRow): StoredCertificate {
  const { treeSize, rootHash, certifiedAtS, trustRootVersion } = row;
  const originFingerprint = toOriginFingerprint(row.originFingerprint);
  const cosignatures = decodeStoredCosignatures(row);
  return { originFingerprint, treeSize, rootHash, certifiedAtS, trustRootVersion, cosignatures };
}

function decodeStoredCosignatures({ cosignatures, treeSize }: CertificateRow): Cosignature[] {
  try {
    return decodeCosignatures(cosignatures);
  } catch (cause) {
    throw new StoreError("corrupt", `the cosignatures of size ${treeSize} cannot be decoded`, { cause });
  }
}

/** The newest recorded one of an origin. */
export async function loadCertifiedHead(session: Reader, origin: number): Promise<CertifiedHead | null> {
  const { treeSize, rootHash, certifiedAtS } = COLUMNS;
  const columns = selectOf("c", { treeSize, rootHash, certifiedAtS });
  const [head] = await session.read<CertifiedHead>(
    { text: `SELECT ${columns} FROM state.certificates c WHERE c.origin = $1 ORDER BY c.tree_size DESC LIMIT 1` },
    [origin],
  );
  return head ?? null;
}
