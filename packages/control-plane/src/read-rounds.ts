import { bytesToHex } from "@event-anchoring/protocol";
import type { RaftIndex, ReadState } from "raft-ts";
import type { Clock, Timer } from "./environment.ts";

/** A round without an answer is asked again after this time, with another context. */
const RETRY_MS = 250;

export interface ReadRoundsOptions {
  readonly clock: Clock;
  /** Unique for this life of the node: a context of an earlier life must never answer one of this life. */
  readonly lifeId: Uint8Array;
  readonly readIndex: (context: Uint8Array) => void;
}

type Waiter = (index: RaftIndex) => void;

/**
 * Read-index rounds: one under way, one waiting.
 *
 * A reader joins the round that has not started yet, so the index it gets was asked for after it came. Every attempt
 * has a context of its own: a late answer to an earlier attempt must not be taken for an answer to this one
 * (etcd issue 20418).
 */
export class ReadRounds {
  readonly #options: ReadRoundsOptions;
  #attempts = 0;
  #context: string | null = null;
  #asking: Waiter[] = [];
  #waiting: Waiter[] = [];
  #retry: Timer | null = null;
  #isClosed = false;

  constructor(options: ReadRoundsOptions) {
    this.#options = options;
  }

  /** Calls `waiter` with an index that was confirmed by a quorum after this call. */
  request(waiter: Waiter): void {
    if (this.#isClosed) return;
    this.#waiting.push(waiter);
    if (this.#context === null) this.#start();
  }

  onReadState(state: ReadState): void {
    if (this.#context === null || bytesToHex(state.context) !== this.#context) return;
    this.#retry?.cancel();
    const answered = this.#asking;
    this.#asking = [];
    this.#context = null;
    if (this.#waiting.length > 0) this.#start();
    for (const waiter of answered) waiter(state.index);
  }

  /** Whoever leads now may never have heard of the round under way. */
  onLeaderChange(): void {
    if (this.#context !== null) this.#ask();
  }

  close(): void {
    this.#isClosed = true;
    this.#retry?.cancel();
    this.#asking = [];
    this.#waiting = [];
    this.#context = null;
  }

  #start(): void {
    this.#asking = this.#waiting;
    this.#waiting = [];
    this.#ask();
  }

  #ask(): void {
    this.#retry?.cancel();
    const context = new Uint8Array(24);
    context.set(this.#options.lifeId.subarray(0, 16));
    this.#attempts += 1;
    new DataView(context.buffer).setFloat64(16, this.#attempts);
    this.#context = bytesToHex(context);
    this.#retry = this.#options.clock.startTimer(RETRY_MS, () => this.#ask());
    this.#options.readIndex(context);
  }
}
