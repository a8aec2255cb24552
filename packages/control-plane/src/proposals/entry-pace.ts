/** While one entry is under way, a second is due once so many bytes wait … */
const SECOND_ENTRY_BYTES = 128 * 1024;
/** … or as many commands as the first has, when that takes longer than processors would need: it waits for links … */
const LONG_ENTRY_MS = 20;
/** … or once the oldest has waited for as long as an entry takes, within these bounds. */
const SECOND_ENTRY_AGE_MS = { least: 3, most: 40 } as const;
/** Clients whose entry is settled write again within this time, if they mean to. */
const GATHER_MS_MAX = 12;
/** So much of what is expected is enough: not every client writes again. */
const GATHERED_SHARE = 0.95;
/** What is expected falls to this share with each entry that it was too much for. */
const EXPECTED_LEFT = 0.8;
/** Weight of the newest entry in the mean of how long entries take. */
const NEWEST_WEIGHT = 1 / 8;

/** What waits for an entry. */
export interface WaitingCommands {
  readonly commands: number;
  readonly bytes: number;
  /** Monotonic time since when the oldest has waited. */
  readonly oldestMs: number;
}

/** An entry that was proposed. */
export interface PacedEntry {
  readonly commands: number;
  /** Monotonic time of its proposal. */
  readonly sinceMs: number;
}

/**
 * When a leader proposes its next entry. An entry has a fixed price on every node, so few large ones are cheap: what
 * waits when an entry is settled waits a little longer for the next writes of the clients who are answered then.
 * With 64 clients an entry then holds 50 writes. Without this it holds 23: they form groups that take turns and
 * a write takes a quarter more processor time. A client that is alone waits for nobody.
 */
export class EntryPace {
  /** How long entries take from the proposal until they are settled, by a moving mean. */
  #entryMs = 0;
  /** How many commands the last entry had, with those that waited when it was settled. Falls slowly. */
  #expected = 0;
  #settledMs = Number.NEGATIVE_INFINITY;

  /** An entry is settled, while so many commands wait. */
  onSettled(nowMs: number, entry: PacedEntry, waitingCommands: number): void {
    this.#entryMs += NEWEST_WEIGHT * (nowMs - entry.sinceMs - this.#entryMs);
    this.#expected = Math.max(entry.commands + waitingCommands, this.#expected * EXPECTED_LEFT);
    this.#settledMs = nowMs;
  }

  /**
   * The monotonic time from which on the next entry is due, if nothing else comes. Not in the future: now.
   * @param underWay the newest entry that is not settled
   */
  dueMs(waiting: WaitingCommands, underWay: PacedEntry | undefined): number {
    if (waiting.bytes >= SECOND_ENTRY_BYTES) return waiting.oldestMs;
    if (underWay === undefined) {
      if (waiting.commands >= this.#expected * GATHERED_SHARE) return waiting.oldestMs;
      return this.#settledMs + Math.min(GATHER_MS_MAX, this.#entryMs);
    }
    const { least, most } = SECOND_ENTRY_AGE_MS;
    const byAge = waiting.oldestMs + Math.min(most, Math.max(least, this.#entryMs));
    return waiting.commands >= underWay.commands ? Math.min(byAge, underWay.sinceMs + LONG_ENTRY_MS) : byAge;
  }
}
