/** Claims and grants packed into bytes, with the fields from their leaf's row. */
import type { RecordSource } from "@event-anchoring/records";
import { ByteReader, DecodeError, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import { StoreError } from "../postgres/errors.ts";
import { bigintOrNull, bytea, bytes32, packedOf, unpackerOf } from "./table.ts";
import type { PackedColumns } from "./table.ts";

/** Columns of the leaf's row `a` and of its origin's row `o`. */
export interface Recorded extends RecordSource {
  readonly originFingerprint: OriginFingerprint;
}

/** A claim or a grant. */
export interface PackedRecordRow {
  /** All its columns: with thousands of links, reading each one by itself takes longer than finding them. */
  readonly record: Uint8Array | null;
}

/** How a claim or a grant has ended. */
export const ENDS = { supersededAt: bigintOrNull("superseded_at"), revokedAt: bigintOrNull("revoked_at") };

/** Outer joins: a record without its anchor is reported as damage, not left out. */
export function anchorJoin(alias: string): string {
  return `LEFT JOIN state.anchors a ON a.sequence = ${alias}.sequence
  LEFT JOIN state.origins o ON o.origin = a.origin`;
}

const OF_LEAF: PackedColumns<Pick<Recorded, "anchorId" | "recordedBy">> = {
  anchorId: { ...bytes32("anchor_id"), unpack: (reader) => toAnchorId(reader.bytes(32)) },
  recordedBy: { ...bytea("api_client_id"), pack: (column) => column, unpack: (reader) => reader.bytes(16) },
};

const OF_ORIGIN: PackedColumns<Pick<Recorded, "originFingerprint">> = {
  originFingerprint: { ...bytes32("origin_fingerprint"), unpack: (reader) => toOriginFingerprint(reader.bytes(32)) },
};

/** @param alias of the table with these columns, beside anchorJoin */
export function packedRecord<Row>(alias: string, columns: PackedColumns<Row>): string {
  return [packedOf("a", OF_LEAF), packedOf("o", OF_ORIGIN), packedOf(alias, columns)].join(" || ");
}

/** @returns what throws StoreError `corrupt` */
export function recordReader<Row>(columns: PackedColumns<Row>): (row: PackedRecordRow) => Recorded & Row {
  const unpack = unpackerOf({ ...OF_LEAF, ...OF_ORIGIN, ...columns } as PackedColumns<Recorded & Row>);
  return ({ record }) => {
    if (record === null) throw new StoreError("corrupt", "the row of a claim or a grant has a hole");
    const reader = new ByteReader(record);
    try {
      const found = unpack(reader);
      reader.finish();
      return found;
    } catch (cause) {
      if (!(cause instanceof DecodeError)) throw cause;
      throw new StoreError("corrupt", "the row of a claim or a grant cannot be decoded", { cause });
    }
  };
}
