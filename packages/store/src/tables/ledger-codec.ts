/** What the state tables hold, in bytes. Local to this node's database; what nodes must agree on is elsewhere. */
import { createHash } from "node:crypto";
import { ByteReader, ByteWriter, asciiToBytes, bytesToAscii } from "@event-anchoring/protocol";
import { decodeGroupId, encodeGroupId } from "@event-anchoring/ledger";
import type { Cosignature, DecidedGroupId, GroupId } from "@event-anchoring/ledger";

const GROUP_ID_BYTES = 24;
const SIGNATURE_BYTES = 64;

/** The single row that says how far the log is applied. */
export interface LedgerRow {
  readonly appliedIndex: number;
  readonly appliedTerm: number;
  readonly effect: Uint8Array;
  readonly nextSequence: number;
  readonly lastAcceptedMs: number;
  readonly groupIdsFrom: number;
  /** Encoded; null: none yet. */
  readonly confState: Uint8Array | null;
  /** By which the next entry is decided. */
  readonly rules: number;
  /** Time of the newest entry, Unix milliseconds: no later one is accepted before it. */
  readonly stampMs: number;
  /** Root of the state tree, 32 bytes. */
  readonly stateRoot: Uint8Array;
  /** Running hashes, 32 bytes each. */
  readonly groupIdsHash: Uint8Array;
  readonly clientEventsHash: Uint8Array;
}

/** SHA-256 over the columns in the order of the table; conf_state as 0x00 if null, else 0x01 and its bytes. */
export function ledgerRowChecksum(row: LedgerRow): Uint8Array {
  const writer = new ByteWriter(200)
    .u64(row.appliedIndex)
    .u64(row.appliedTerm)
    .bytes(row.effect, 32)
    .u64(row.nextSequence)
    .u64(row.lastAcceptedMs)
    .u16(row.rules)
    .u64(row.stampMs)
    .u64(row.groupIdsFrom)
    .bytes(row.stateRoot, 32)
    .bytes(row.groupIdsHash, 32)
    .bytes(row.clientEventsHash, 32)
    .u8(row.confState === null ? 0 : 1);
  const hash = createHash("sha256").update(writer.finish());
  if (row.confState !== null) hash.update(row.confState);
  return hash.digest();
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

/** 24 bytes an id. */
export function encodeGroupIds(ids: readonly GroupId[]): Uint8Array {
  const writer = new ByteWriter(ids.length * GROUP_ID_BYTES);
  for (const id of ids) writer.bytes(encodeGroupId(id), GROUP_ID_BYTES);
  return writer.finish();
}

/** @throws DecodeError */
export function decodeGroupIds(bytes: Uint8Array, index: number): DecidedGroupId[] {
  const reader = new ByteReader(bytes);
  const ids: DecidedGroupId[] = [];
  while (reader.remaining > 0) ids.push({ ...decodeGroupId(reader.bytes(GROUP_ID_BYTES)), index });
  reader.finish();
  return ids;
}
