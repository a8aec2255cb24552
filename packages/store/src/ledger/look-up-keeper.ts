/** Writes look-up runs beside the entries, on a session of its own: no entry and no read waits for it. */
import { Connection } from "../postgres/connection.ts";
import { INDEXED_PLANS } from "../postgres/indexed-plans.ts";
import { LOOK_UP_RUNS_LOCK } from "../postgres/locks.ts";
import { LookUpRuns } from "../tables/look-up-runs.ts";
import type { RunSizes } from "../tables/look-up-runs.ts";

export interface LookUpKeeperOptions {
  readonly url: string;
  readonly lockTimeoutMs?: number | undefined;
  readonly runSizes?: RunSizes | undefined;
}

/**
 * Its commits are asynchronous, like those of the entries before them: a crash that takes an entry back has taken the
 * runs over it.
 */
export class LookUpKeeper {
  readonly #connection: Connection;
  readonly #runs: LookUpRuns;
  /** Every leaf before this sequence is in the tables. */
  #nextSequence = 0;
  #writing: Promise<void> | null = null;
  #onFailure: (cause: Error) => void = () => undefined;
  /** Why no run is written any more. */
  #failure: Error | null = null;
  #hasEnded = false;

  private constructor(connection: Connection, runs: LookUpRuns) {
    this.#connection = connection;
    this.#runs = runs;
  }

  /** @throws StoreError `unavailable`, `schema`, `locked` */
  static async open({ url, lockTimeoutMs, runSizes }: LookUpKeeperOptions): Promise<LookUpKeeper> {
    const connection = await Connection.open({
      url,
      name: "event-anchoring look-up runs",
      settings: { ...INDEXED_PLANS, synchronous_commit: "off" },
    });
    try {
      await connection.lock(LOOK_UP_RUNS_LOCK, lockTimeoutMs);
    } catch (cause) {
      await connection.close();
      throw cause;
    }
    return new LookUpKeeper(connection, new LookUpRuns(connection, runSizes));
  }

  /** The session is lost, or a run cannot be written: called soon if that was so before. */
  onFailure(handler: (cause: Error) => void): void {
    const failure = this.#failure;
    if (failure !== null) queueMicrotask(() => handler(failure));
    this.#onFailure = handler;
    this.#connection.onLost(handler);
  }

  /** Goes on from the runs that are there. */
  async load(nextSequence: number): Promise<void> {
    await this.#runs.load();
    this.noteWritten(nextSequence);
  }

  /** @param nextSequence every leaf before it is in the tables now */
  noteWritten(nextSequence: number): void {
    this.#nextSequence = nextSequence;
    if (this.#hasEnded || !this.#runs.isDue(nextSequence)) return;
    this.#writing ??= this.#writeDue();
  }

  async #writeDue(): Promise<void> {
    try {
      while (!this.#hasEnded && this.#runs.isDue(this.#nextSequence)) await this.#runs.write();
    } catch (cause) {
      // After close() nobody waits for the run: the next start writes it.
      if (this.#hasEnded) return;
      this.#hasEnded = true;
      this.#failure = cause instanceof Error ? cause : new Error(String(cause));
      this.#onFailure(this.#failure);
    } finally {
      this.#writing = null;
    }
  }

  /** A run under way is written to its end. */
  async close(): Promise<void> {
    this.#hasEnded = true;
    await this.#writing;
    await this.#connection.close();
  }
}
