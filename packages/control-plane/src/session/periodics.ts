import type { TimerClock, Timer } from "../ports/environment.ts";

/** Raft's tick, and the grain of all periodic work: one timer wakes an idle node for all of it. */
export const BEAT_MS = 100;

/** Periods of a session's work, in beats. */
export const BEATS = {
  tick: 1,
  membershipLook: 2,
  upkeep: 2,
  leaderLook: 5,
  resendState: 10,
  clockReport: 10,
  /** Peers' signed progress is durable after this long, even if nothing else is written. */
  savePeers: 10,
} as const;

/** Periods of work that is done only while there is some, milliseconds. */
export const PERIOD_MS = {
  /** While anything has a deadline it is checked this often; an answer is late by no more. */
  sweep: 25,
  resendUncovered: 50,
} as const;

/** Work at fixed periods. Missed beats are dropped: a beat that comes late comes once. */
export class Periodics {
  readonly #clock: TimerClock;
  readonly #timers = new Set<Timer>();
  readonly #works: { readonly beats: number; readonly action: () => void }[] = [];
  #beat = 0;
  #isClosed = false;

  constructor(clock: TimerClock) {
    this.#clock = clock;
  }

  /** For the first time after that many beats. To be called before `start`. */
  every(beats: number, action: () => void): void {
    this.#works.push({ beats, action });
  }

  /** Starts the beats. */
  start(): void {
    const timer = this.#clock.startTimer(BEAT_MS, () => {
      this.#timers.delete(timer);
      this.#beat += 1;
      for (const { beats, action } of this.#works) if (!this.#isClosed && this.#beat % beats === 0) action();
      if (!this.#isClosed) this.start();
    });
    this.#timers.add(timer);
  }

  /**
   * The same work, but only while there is some: an idle node is not woken for it. Returns a function that starts it,
   * to be called when there is work; the first time is a period later.
   */
  whileOpen(periodMs: number, isOpen: () => boolean, action: () => void): () => void {
    let isRunning = false;
    const start = (): void => {
      if (isRunning || this.#isClosed) return;
      isRunning = true;
      const timer = this.#clock.startTimer(periodMs, () => {
        this.#timers.delete(timer);
        isRunning = false;
        if (this.#isClosed) return;
        action();
        if (!this.#isClosed && isOpen()) start();
      });
      this.#timers.add(timer);
    };
    return start;
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }
}
