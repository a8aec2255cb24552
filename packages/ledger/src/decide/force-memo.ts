import type { AsOf, ForceFault, GrantRecord, RecordBook } from "@event-anchoring/records";
import { LedgerHaltError } from "../entry/halt.ts";
import { addLinkFaults } from "@event-anchoring/records";

/**
 * Which grants are in force while one entry is decided, and why others are not: grants that share a long chain cost one
 * walk of it. All of an entry is judged at one time, so a verdict holds until a record that it depends on ends; and a
 * claim that puts an expired lineage into force again always ends the claim before it.
 */
export class ForceMemo {
  readonly #records: RecordBook;
  /** Sequences of grants that are in force, including all records that they depend on. */
  readonly #inForce = new Set<number>();
  /** By sequence, the first fault on the way from a grant to its root. */
  readonly #faults = new Map<number, ForceFault>();
  #endingsSeen = 0;

  constructor(records: RecordBook) {
    this.#records = records;
  }

  /**
   * The first reason why a grant is not in force, from itself to its root; null: it is.
   * @param at has the same time in every call
   * @throws LedgerHaltError `stored_state_inconsistent` if a record that it depends on is missing
   */
  faultOf(grant: GrantRecord, at: AsOf): ForceFault | null {
    this.#forgetWhatEnded();
    const walked: number[] = [];
    const faults: ForceFault[] = [];
    for (let link: GrantRecord | null = grant; link !== null && !this.#inForce.has(link.sequence);) {
      const known = this.#faults.get(link.sequence);
      if (known !== undefined) return this.#remember(walked, known);
      const isComplete = addLinkFaults(link, at, this.#records, faults);
      const [first] = faults;
      if (first !== undefined) return this.#remember([...walked, link.sequence], first);
      const parent: GrantRecord | null = link.parent === null ? null : this.#records.grant(link.parent);
      if (!isComplete || (parent === null && link.parent !== null))
        throw new LedgerHaltError(
          "stored_state_inconsistent",
          `grant ${link.sequence} hangs on a record that is missing`,
        );
      walked.push(link.sequence);
      link = parent;
    }
    for (const sequence of walked) this.#inForce.add(sequence);
    return null;
  }

  #remember(walked: readonly number[], fault: ForceFault): ForceFault {
    for (const sequence of walked) this.#faults.set(sequence, fault);
    return fault;
  }

  #forgetWhatEnded(): void {
    const ended = this.#records.endedSince(this.#endingsSeen);
    this.#endingsSeen += ended.length;
    // Which grants depend on a claim is not remembered.
    if (ended.some(({ kind }) => kind === "claim")) this.#faults.clear();
    if (ended.some(({ kind, sequence }) => kind === "claim" || this.#inForce.has(sequence))) this.#inForce.clear();
  }
}
