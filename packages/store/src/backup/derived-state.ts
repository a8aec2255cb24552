/** The state tree of a backup, derived in memory from its leaves and records. */
import { stateEntriesOf, stateLeafOf } from "@event-anchoring/ledger";
import { RecordBook } from "@event-anchoring/records";
import type { StateEntry, StateWrites } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, stateRootOfLeaves } from "@event-anchoring/protocol";
import type { StateLeaf } from "@event-anchoring/protocol";
import { StoreError } from "../postgres/errors.ts";
import type { RebuiltRows } from "../snapshot/snapshot-rebuild.ts";

const { sha256 } = nodeCrypto;

const NOTHING: StateWrites = {
  claims: [],
  grants: [],
  endedClaims: [],
  endedGrants: [],
  apiKeys: [],
  operatorActs: [],
  erasures: [],
};

/** Takes some 3,500 bytes of memory for each claim or grant. */
export class DerivedState {
  readonly #book = new RecordBook(sha256);
  /** By the hex of the key. */
  readonly #leaves = new Map<string, StateLeaf>();

  /** Rows in their order. @throws StoreError `snapshot_refused`: a record names one that is not before it */
  add({ writes, erased, recordLeaves }: RebuiltRows): void {
    for (const { leaf, ...source } of recordLeaves) {
      if (this.#book.append(leaf, source).kind !== "dangling") continue;
      const what = `leaf ${leaf.sequence} names a claim or a grant that is not before it`;
      throw new StoreError("snapshot_refused", what);
    }
    const { apiKeys, operatorActs } = writes;
    this.#put(stateEntriesOf({ ...NOTHING, apiKeys, operatorActs, erasures: erased }));
  }

  /** Root of the tree, once all rows were added. */
  root(): Uint8Array {
    this.#put(stateEntriesOf({ ...NOTHING, claims: this.#book.addedClaims(), grants: this.#book.addedGrants() }));
    return stateRootOfLeaves(this.#leaves.values(), sha256);
  }

  #put(entries: readonly StateEntry[]): void {
    for (const entry of entries) {
      const leaf = stateLeafOf(entry, sha256);
      this.#leaves.set(bytesToHex(leaf.key), leaf);
    }
  }
}
