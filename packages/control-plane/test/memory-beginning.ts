/** With what a node in memory begins: nothing, or a backup that was put into its database. */
import {
  type Certificate,
  type EntryDecision,
  type LedgerState,
  advance,
  emptyLedgerState,
} from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import type { Restoration } from "@event-anchoring/store";
import type { ConfState, EntryId } from "raft-ts";

export interface Beginning {
  /** All up to the backup's entry. */
  readonly decisions: readonly EntryDecision[];
  readonly confState: ConfState;
  readonly restoration: Restoration;
}

/** The last entry that the log does not hold. */
export function pointOf(beginning: Beginning | null): EntryId {
  return beginning?.restoration.point ?? { index: 0, term: 0 };
}

/** @param apply takes each decision into the tables */
export function stateOf(beginning: Beginning | null, apply: (decision: EntryDecision) => void): LedgerState {
  const state = emptyLedgerState(nodeCrypto.sha256);
  for (const decision of beginning?.decisions ?? []) {
    advance(state, decision);
    apply(decision);
  }
  return state;
}

/** The newest recorded one of each origin. */
export function certificatesOf(beginning: Beginning | null): readonly Certificate[] {
  const newest = new Map<string, Certificate>();
  for (const { writes } of beginning?.decisions ?? []) {
    for (const certificate of writes.certificates) newest.set(bytesToHex(certificate.originFingerprint), certificate);
  }
  return [...newest.values()];
}
