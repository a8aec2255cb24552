import type { AsOf } from "./checks.ts";
import { LedgerHaltError } from "./halt.ts";
import { addLinkFaults } from "./in-force.ts";
import type { ForceFault } from "./in-force.ts";
import type { GrantRecord, RecordBook } from "./records.ts";

/**
 * Which grants are in force while one entry is decided: grants that share a long chain cost one walk of it. All of an
 * entry is judged at one time, so that a verdict stands until a record that it rests on ends.
 */
export class ForceMemo {
  readonly #records: RecordBook;
  /** Sequences of grants that are in force, all that they hang on included. */
  readonly #inForce = new Set<number>();
  #endingsSeen = 0;

  constructor(records: RecordBook) {
    this.#records = records;
  }

  /**
   * The first reason why a grant is not in force, from itself to its root; null: it is.
   * @param at the same time whenever it is asked
   * @throws LedgerHaltError `stored_state_inconsistent` if a record that it hangs on is missing
   */
  faultOf(grant: GrantRecord, at: AsOf): ForceFault | null {
    this.#forgetWhatEnded();
    const walked: number[] = [];
    const faults: ForceFault[] = [];
    for (let link: GrantRecord | null = grant; link !== null && !this.#inForce.has(link.sequence);) {
      const isComplete = addLinkFaults(link, at, this.#records, faults);
      const [first] = faults;
      if (first !== undefined) return first;
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

  #forgetWhatEnded(): void {
    const ended = this.#records.endedSince(this.#endingsSeen);
    this.#endingsSeen += ended.length;
    // Which grants rest on a claim is not remembered.
    if (ended.some(({ kind, sequence }) => kind === "claim" || this.#inForce.has(sequence))) this.#inForce.clear();
  }
}
