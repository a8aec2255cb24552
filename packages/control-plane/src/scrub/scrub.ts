import { type Difference, type ScrubWalk, StoreError, describeDifference } from "@event-anchoring/store";
import type { Logger } from "@event-anchoring/telemetry";
import type { TimerClock, Timer } from "../ports/environment.ts";

/** The machine is busy, or there is nothing to read from: the scrub tries again after this long. */
const BUSY_MS = 1000;
/** The pause after the database was unavailable, or a statement took too long. */
const RETRY_MS = 10_000;
/** How long the process waits for a step under way when it ends. */
const STOP_MS_MAX = 2000;
/** Between the end of a pass and the beginning of the next. */
const PASS_PAUSE_MS = 10_000;
/** A step lasts as long as others may wait for the event loop, and comes every few seconds. */
const STEP_ROWS_MIN = 10;
const STEP_ROWS_MAX = 200;
const STEP_EVERY_S = 4;

/** The tables, walked a step at a time. */
export type OpenScrub = Pick<ScrubWalk, "step" | "close">;

export interface ScrubOptions {
  readonly clock: TimerClock;
  readonly logger: Logger;
  /** @throws StoreError */
  readonly openWalk: () => Promise<OpenScrub>;
  /** 0: nothing is scrubbed. */
  readonly rowsPerSecond: number;
  /** True: writes, or catching up, come first. */
  readonly isBusy: () => boolean;
  /** The first difference; after it nothing more is looked at. */
  readonly onDifference: (detail: string) => void;
}

/** What the scrub has done since the process began. */
export interface ScrubCounts {
  /** Leaves, claims, grants and log entries. */
  readonly rows: number;
  /** Walks over all tables that found nothing. */
  readonly passes: number;
  /** When the last of these ended, Unix milliseconds; null: none has. */
  readonly lastPassMs: number | null;
  readonly differences: number;
  /** Steps that could not be made; the pass then begins anew. */
  readonly interruptions: number;
}

/**
 * Derives the node's tables again from its leaves, slowly and for ever. It reads in short snapshots, a step at a time,
 * and yields the machine between two steps. A pass begins anew with each start of the process.
 */
export class Scrub {
  readonly #options: ScrubOptions;
  #counts: ScrubCounts = { rows: 0, passes: 0, lastPassMs: null, differences: 0, interruptions: 0 };
  #walk: OpenScrub | null = null;
  #timer: Timer | null = null;
  #turn: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: ScrubOptions) {
    this.#options = options;
  }

  get counts(): ScrubCounts {
    return this.#counts;
  }

  get rowsPerSecond(): number {
    return this.#options.rowsPerSecond;
  }

  start(): void {
    if (this.#options.rowsPerSecond > 0) this.#after(BUSY_MS);
  }

  /** Resolves when its connection is closed; a statement that takes long is not waited for. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    const closed = this.#turn.then(() => this.#close());
    await Promise.race([closed, new Promise<void>((resolve) => this.#options.clock.startTimer(STOP_MS_MAX, resolve))]);
  }

  #after(delayMs: number): void {
    if (this.#isStopped) return;
    this.#timer = this.#options.clock.startTimer(delayMs, () => {
      this.#turn = this.#takeTurn();
    });
  }

  async #takeTurn(): Promise<void> {
    if (this.#options.isBusy()) {
      this.#after(BUSY_MS);
      return;
    }
    try {
      await this.#step();
    } catch (error) {
      await this.#interrupted(error);
    }
  }

  async #step(): Promise<void> {
    const { clock, openWalk, rowsPerSecond } = this.#options;
    const startedMs = clock.monotonicMs();
    this.#walk ??= await openWalk();
    const rowsMax = Math.min(STEP_ROWS_MAX, Math.max(STEP_ROWS_MIN, rowsPerSecond * STEP_EVERY_S));
    const { rows, isPassDone, difference } = await this.#walk.step(rowsMax);
    this.#counts = { ...this.#counts, rows: this.#counts.rows + rows };
    if (difference !== null) {
      this.#found(difference);
      return;
    }
    if (isPassDone) this.#passed();
    const paceMs = (Math.max(rows, 1) / rowsPerSecond) * 1000 - (clock.monotonicMs() - startedMs);
    this.#after(Math.max(1, paceMs, isPassDone ? PASS_PAUSE_MS : 0));
  }

  #passed(): void {
    const { clock, logger } = this.#options;
    const { rows, passes } = this.#counts;
    this.#counts = { ...this.#counts, passes: passes + 1, lastPassMs: clock.wallMs() };
    logger.info("scrub_passed", { passes: passes + 1, rows });
  }

  #found(difference: Difference): void {
    const { logger, onDifference } = this.#options;
    const { table, key, column, is, shouldBe } = difference;
    this.#counts = { ...this.#counts, differences: this.#counts.differences + 1 };
    logger.error("scrub_difference", { table, key, column, is, should_be: shouldBe });
    onDifference(describeDifference(difference));
  }

  async #interrupted(error: unknown): Promise<void> {
    const { logger } = this.#options;
    this.#counts = { ...this.#counts, interruptions: this.#counts.interruptions + 1 };
    const detail = error instanceof Error ? error.message : String(error);
    if (error instanceof StoreError) logger.warn("scrub_interrupted", { detail });
    else logger.error("scrub_failed", { detail });
    await this.#close();
    this.#after(RETRY_MS);
  }

  async #close(): Promise<void> {
    const walk = this.#walk;
    this.#walk = null;
    try {
      await walk?.close();
    } catch (error) {
      this.#options.logger.debug("scrub_close_failed", { detail: String(error) });
    }
  }
}
