/** The running hash of decided groups: each row continues the one before it, and the ledger's row ends them. */
import { nextGroupIdsHash } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import type { Reader } from "../postgres/connection.ts";
import { decodeGroupIds } from "../tables/group-ids.ts";
import type { Findings } from "./findings.ts";
import type { LedgerEnds } from "./small-tables.ts";
import type { RaftIndex } from "raft-ts";

const GROUPS = {
  name: "fsck_group_hashes",
  text: "SELECT index, groups, hash_before FROM state.group_ids WHERE index > $1 ORDER BY index LIMIT $2",
};
const GROUP_ID_BYTES = 24;
const AFTER_ALL = Number.MAX_SAFE_INTEGER;

interface GroupRow {
  readonly index: RaftIndex;
  readonly groups: Uint8Array;
  readonly hash_before: Uint8Array;
}

/** Goes over the rows in steps; older ones may be forgotten, and newer ones added, between two. */
export class GroupWalk {
  readonly #findings: Findings;
  #last = 0;
  /** The hash after the last row; null: not known, and the next row is believed. */
  #hash: Uint8Array | null = null;

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  /** @returns true: all rows are done and were compared with the ledger's row */
  async step(session: Reader, rowsMax: number, ends: LedgerEnds): Promise<boolean> {
    // Rows that were deleted since may have been in between.
    if (ends.groupIdsFrom > this.#last + 1) this.#hash = null;
    const rows = await session.read<GroupRow>(GROUPS, [this.#last, rowsMax]);
    for (const row of rows) this.#judge(row);
    if (rows.length === rowsMax) return false;
    if (this.#hash !== null) {
      const name = { table: "state.ledger", key: "the only row", at: AFTER_ALL };
      this.#findings.compare(name, { group_ids_hash: ends.groupIdsHash }, { group_ids_hash: this.#hash });
    }
    return true;
  }

  #judge({ index, groups, hash_before: before }: GroupRow): void {
    const name = { table: "state.group_ids", key: `index ${index}`, at: index };
    if (this.#hash !== null) this.#findings.compare(name, { hash_before: before }, { hash_before: this.#hash });
    this.#last = index;
    this.#findings.checked.groupRows += 1;
    // A row of another length is reported with the small tables.
    const isWhole = groups.length > 0 && groups.length % GROUP_ID_BYTES === 0;
    const entry = { index, groupIds: isWhole ? decodeGroupIds(groups, index) : [] };
    this.#hash = isWhole ? nextGroupIdsHash(before, entry, nodeCrypto.sha256) : null;
  }
}
