/** state.group_ids: which proposal groups were decided, a row for each entry that decided any. */
import { decodeGroupId, encodeGroupId } from "@event-anchoring/ledger";
import type { DecidedGroupId, GroupId } from "@event-anchoring/ledger";
import { ByteReader, ByteWriter } from "@event-anchoring/protocol";
import type { Reader } from "../postgres/connection.ts";
import type { GuardedStatement } from "./guarded-statement.ts";
import { arraysOf, bigint, bytea, insertOf, selectOf } from "./table.ts";
import type { Columns } from "./table.ts";

const GROUP_ID_BYTES = 24;

export interface GroupIdsRow {
  readonly index: number;
  /** Encoded. */
  readonly groups: Uint8Array;
  /** Running hash before this entry. */
  readonly hashBefore: Uint8Array;
}

const COLUMNS: Columns<GroupIdsRow> = {
  index: bigint("index"),
  groups: bytea("groups"),
  hashBefore: bytea("hash_before"),
};

const arrays = arraysOf(COLUMNS);
const INSERT = { name: "group_ids", sql: insertOf("state.group_ids", COLUMNS) };
const FORGET = { name: "forgotten", sql: "DELETE FROM state.group_ids USING guard WHERE index < ?" };

export function addGroupIds(statement: GuardedStatement, rows: readonly GroupIdsRow[]): void {
  if (rows.length > 0) statement.add(INSERT, arrays(rows, {}));
}

export function forgetGroupIds(statement: GuardedStatement, below: number): void {
  statement.add(FORGET, [below]);
}

/** 24 bytes for each id. */
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

/** @param from of this entry and later ones, ascending */
export async function loadGroupIds(session: Reader, from: number, rowsMax: number | null): Promise<GroupIdsRow[]> {
  return session.read<GroupIdsRow>(
    {
      name: "load_group_ids",
      text: `SELECT ${selectOf("g", COLUMNS)} FROM state.group_ids g WHERE g.index >= $1 ORDER BY g.index LIMIT $2`,
    },
    [from, rowsMax],
  );
}
