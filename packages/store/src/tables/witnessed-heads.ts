/** node.witnessed_heads: certified heads with the lines of witnesses. */
import type { Certificate } from "@event-anchoring/ledger";
import { DecodeError, toOriginFingerprint } from "@event-anchoring/protocol";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import type { Reader, Session } from "../postgres/connection.ts";
import { decodeCosignatures, encodeCosignatures } from "./certificates.ts";
import { arraysOf, bigint, bytea, selectOf } from "./table.ts";
import type { Columns } from "./table.ts";

/** What a witness has signed about a head. */
interface StoredWitnessLine {
  /** Its name in the trust root. */
  readonly witness: string;
  /** Unix seconds, as signed. */
  readonly timeS: number;
  /** 64 bytes. */
  readonly signature: Uint8Array;
}

/** A certified head with lines of witnesses. */
export interface StoredWitnessedHead extends Certificate {
  readonly lines: readonly StoredWitnessLine[];
}

interface WitnessedHeadRow {
  readonly originFingerprint: Uint8Array;
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
  /** Encoded. */
  readonly cosignatures: Uint8Array;
  /** Encoded. */
  readonly lines: Uint8Array;
}

const COLUMNS: Columns<WitnessedHeadRow> = {
  originFingerprint: bytea("origin_fingerprint"),
  treeSize: bigint("tree_size"),
  rootHash: bytea("root_hash"),
  cosignatures: bytea("cosignatures"),
  lines: bytea("witness_lines"),
};

const arrays = arraysOf(COLUMNS);

/** The rows of one origin become these: one statement. */
const REPLACE = {
  name: "witnessed_heads",
  text: `
    WITH dropped AS (
      DELETE FROM node.witnessed_heads w WHERE w.origin_fingerprint = $6 AND w.tree_size <> ALL($2::bigint[])
    )
    INSERT INTO node.witnessed_heads (origin_fingerprint, tree_size, root_hash, cosignatures, witness_lines)
    SELECT u.* FROM unnest($1::bytea[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[]) AS u
    ON CONFLICT (origin_fingerprint, tree_size) DO UPDATE
      SET root_hash = excluded.root_hash, cosignatures = excluded.cosignatures, witness_lines = excluded.witness_lines`,
};

/** Makes these the rows of the origin, in the place of those that it has. */
export async function replaceWitnessedHeads(
  session: Pick<Session, "write">,
  origin: OriginFingerprint,
  heads: readonly StoredWitnessedHead[],
): Promise<void> {
  const rows = heads.map((head) => ({
    ...head,
    cosignatures: encodeCosignatures(head.cosignatures),
    lines: encodeCosignatures(head.lines.map(({ witness, ...line }) => ({ nodeId: witness, ...line }))),
  }));
  await session.write(REPLACE, [...arrays(rows, {}), origin]);
}

export interface LoadedWitnessedHeads {
  /** Ascending by origin and size. Nothing in them has been verified. */
  readonly heads: readonly StoredWitnessedHead[];
  /** Rows that cannot be decoded: what they held can be signed again. */
  readonly unreadable: number;
}

/** All origins. */
export async function loadWitnessedHeads(session: Reader): Promise<LoadedWitnessedHeads> {
  const columns = selectOf("w", COLUMNS);
  const rows = await session.read<WitnessedHeadRow>({
    text: `SELECT ${columns} FROM node.witnessed_heads w ORDER BY w.origin_fingerprint, w.tree_size`,
  });
  const heads = rows.flatMap((row) => toWitnessedHead(row) ?? []);
  return { heads, unreadable: rows.length - heads.length };
}

function toWitnessedHead(row: WitnessedHeadRow): StoredWitnessedHead | null {
  const { treeSize, rootHash } = row;
  const originFingerprint = toOriginFingerprint(row.originFingerprint);
  try {
    const cosignatures = decodeCosignatures(row.cosignatures);
    const lines = decodeCosignatures(row.lines).map(({ nodeId, ...line }) => ({ witness: nodeId, ...line }));
    return { originFingerprint, treeSize, rootHash, cosignatures, lines };
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}
