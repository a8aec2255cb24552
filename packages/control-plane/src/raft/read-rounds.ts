import { bytesToHex } from "@event-anchoring/protocol";
import type { RaftIndex, ReadState } from "raft-ts";
import type { TimerClock, Timer } from "../ports/environment.ts";

/** A round without an answer is retried after this time, with another context. */
const RETRY_MS = 250;
/**
 * Readers that came during a round wait this much longer for the next one, and those of the round that has ended may
 * come again and join it: a round costs every node messages and wake-ups, however many readers it answers.
 */
const PAUSE_MS = 1;

export interface ReadRoundsOptions {
  readonly clock: TimerClock;
  /** Unique for this life of the node: a context of an earlier life must never answer one of this life. */
  readonly lifeId: Uint8Array;
  readonly readIndex: (context: Uint8Array) => void;
}

/** An object of its own for each request: the same function may wait twice. */
interface Waiter {
  readonly confirmed: (index: RaftIndex) => void;
}

/**
 * Read-index rounds: one under way, one waiting. A reader that comes when none is under way is not kept waiting.
 *
 * A reader joins the round that has not started yet, so the index it gets was asked for after it came. Every attempt
 * has a context of its own: a late answer to an earlier attempt must not be taken for an answer to this one
 * (etcd issue 20418).
 */
export class ReadRounds {
  readonly #options: ReadRoundsOptions;
  #attempts = 0;
  #context: string | null = null;
  #asking = new Set<Waiter>();
  #waiting = new Set<Waiter>();
  #retry: Timer | null = null;
  /** While set, the next round is about to start. */
  #pause: Timer | null = null;
  #isClosed = false;

  constructor(options: ReadRoundsOptions) {
    this.#options = options;
  }

  /** Calls `confirmed` with an index that a quorum confirmed after this call. Returns a function that cancels. */
  request(confirmed: (index: RaftIndex) => void): () => void {
    if (this.#isClosed) return () => {};
    const waiter = { confirmed };
    this.#waiting.add(waiter);
    if (this.#context === null && this.#pause === null) this.#start();
    return () => {
      this.#waiting.delete(waiter);
      this.#asking.delete(waiter);
    };
  }

  onReadState(state: ReadState): void {
    if (this.#context === null || bytesToHex(state.context) !== this.#context) return;
    this.#retry?.cancel();
    const answered = this.#asking;
    this.#asking = new Set();
    this.#context = null;
    if (this.#waiting.size > 0) this.#pause = this.#options.clock.startTimer(PAUSE_MS, () => this.#afterPause());
    for (const { confirmed } of answered) confirmed(state.index);
  }

  /** The new leader may not know the round under way. */
  onLeaderChange(): void {
    if (this.#context !== null) this.#ask();
  }

  close(): void {
    this.#isClosed = true;
    this.#retry?.cancel();
    this.#pause?.cancel();
    this.#asking.clear();
    this.#waiting.clear();
    this.#context = null;
  }

  #afterPause(): void {
    this.#pause = null;
    if (this.#waiting.size > 0) this.#start();
  }

  #start(): void {
    this.#asking = this.#waiting;
    this.#waiting = new Set();
    this.#ask();
  }

  #ask(): void {
    this.#retry?.cancel();
    const context = new Uint8Array(24);
    context.set(this.#options.lifeId.subarray(0, 16));
    this.#attempts += 1;
    new DataView(context.buffer).setFloat64(16, this.#attempts);
    this.#context = bytesToHex(context);
    this.#retry = this.#options.clock.startTimer(RETRY_MS, () => this.#askAgain());
    this.#options.readIndex(context);
  }

  /** Requests that came meanwhile may join: the next attempt begins after they came, with a context of its own. */
  #askAgain(): void {
    for (const waiter of this.#waiting) this.#asking.add(waiter);
    this.#waiting.clear();
    if (this.#asking.size > 0) this.#ask();
    else this.#context = null;
  }
}
