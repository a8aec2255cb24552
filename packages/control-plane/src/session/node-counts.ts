import type { CommandOutcome, EntryDecision, RejectionCode } from "@event-anchoring/ledger";
import { LEAF_KIND } from "@event-anchoring/protocol";
import type { WitnessFailure } from "../witnessing/submit-head.ts";

/** The kinds of leaves, by name. */
export type LeafKindName = keyof typeof LEAF_KIND;

const KIND_NAMES = new Map(
  (Object.entries(LEAF_KIND) as [LeafKindName, (typeof LEAF_KIND)[LeafKindName]][]).map(([name, kind]) => [kind, name]),
);

/** What happened on this node since its process started. Records, rejections and replays agree between nodes. */
export class NodeCounts {
  /** Leaves appended. */
  readonly records = new Map<LeafKindName, number>();
  /** Commands, and items of batches, that were refused by a rule. */
  readonly rejections = new Map<RejectionCode, number>();
  /** Cosignatures that do not count, by sender: over another root, or not signed by its key. */
  readonly refusedCosignatures = new Map<string, number>();
  /** Requests to witnesses that gave no line, by witness and reason. */
  readonly witnessFailures = new Map<string, Map<WitnessFailure, number>>();
  #leaderChanges = 0;
  #replays = 0;
  #otherGroups = 0;

  /** Records that were there already. */
  get replays(): number {
    return this.#replays;
  }

  /** Decided groups with an id of this node's whose content it has not sent. */
  get otherGroups(): number {
    return this.#otherGroups;
  }

  /** How often the leader changed, to another node or to none. */
  get leaderChanges(): number {
    return this.#leaderChanges;
  }

  noteLeaderChange(): void {
    this.#leaderChanges += 1;
  }

  noteRefusedCosignature(from: string): void {
    increment(this.refusedCosignatures, from);
  }

  noteWitnessFailure(witness: string, failure: WitnessFailure): void {
    const failures = this.witnessFailures.get(witness) ?? new Map<WitnessFailure, number>();
    this.witnessFailures.set(witness, failures);
    increment(failures, failure);
  }

  noteOtherGroup(): void {
    this.#otherGroups += 1;
  }

  noteDecision({ writes, outcomes }: EntryDecision): void {
    for (const { kind } of writes.leaves) {
      const name = KIND_NAMES.get(kind);
      if (name !== undefined) increment(this.records, name);
    }
    for (const group of outcomes) {
      if (group.status === "decided") for (const outcome of group.commands) this.#noteOutcome(outcome);
    }
  }

  #noteOutcome(outcome: CommandOutcome): void {
    if (outcome.kind === "rejected") increment(this.rejections, outcome.rejection.code);
    if (outcome.kind !== "records") return;
    for (const record of outcome.records) {
      if (record.status === "rejected") increment(this.rejections, record.rejection.code);
      else if (record.status === "replayed") this.#replays += 1;
    }
  }
}

function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
