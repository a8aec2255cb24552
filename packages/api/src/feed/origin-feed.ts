import { setTimeout as pause } from "node:timers/promises";
import { KEEPALIVE_TEXT } from "@event-anchoring/api-contract";
import type { ProblemCode } from "@event-anchoring/api-contract";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import type { Logger } from "@event-anchoring/telemetry";
import { RefusedError } from "../control-plane/control-plane.ts";
import type { ControlPlane, ReadyToRead, UnservedCode } from "../control-plane/control-plane.ts";
import { aheadOf } from "../reading/growth.ts";
import type { OpenableReads } from "../reading/node-reads.ts";
import { problemOf } from "../request/problems.ts";
import { Head } from "./head.ts";
import type { HeadOptions } from "./head.ts";

/** How long the control plane is asked for the next head at a time: it does not wait longer for that when it stops. */
const AWAIT_MS = 2000;
/** From this time on a comment is due; with the above, one comes every 10 seconds. */
const KEEPALIVE_MS = 8000;
/** How long a quorum may take to confirm that the head is the newest one. */
const CONFIRM_MS = 2000;
/** So often in a row, without a confirmation, the feed lives on: an election passes. */
const UNCONFIRMED_MAX = 3;
const BUSY_PAUSE_MS = 250;

/** Refusals after which asking again makes sense, and followers need not move. */
const PASSING: ReadonlySet<UnservedCode> = new Set<UnservedCode>([
  "overloaded",
  "no_leader",
  "deadline_exceeded",
  "certification_stalled",
]);

const KEEPALIVE = Buffer.from(KEEPALIVE_TEXT);

/** Who follows an origin. */
export interface Follower {
  /** The size that it has been shown; null: none. */
  readonly fromSize: number | null;
  /** Where a proof that it alone needs is read. */
  readonly reads: OpenableReads;
  /** False: it does not read, or is gone, and is sent nothing more. */
  readonly send: (bytes: Uint8Array) => boolean;
  readonly end: (code: ProblemCode) => void;
  /** Whether it may still read, as at its first request. */
  readonly isAllowed: () => Promise<boolean>;
}

interface Seat {
  readonly follower: Follower;
  atSize: number | null;
  isSending: boolean;
}

export interface OriginFeedOptions extends HeadOptions {
  readonly controlPlane: Pick<ControlPlane, "read" | "awaitHead">;
  /** Where the proof from the head before is read, which all followers share. */
  readonly reads: OpenableReads;
  readonly logger: Logger;
}

/**
 * The heads of one origin, and who follows them.
 *
 * It lives while somebody uses it, and asks the control plane for the next head with one request at a time, whatever
 * the number of followers. Each follower is shown the newest head, then the newest one when it has taken that, with a
 * proof from the head before: heads in between are left out, and nothing is queued. It ends, and all followers with it,
 * when the node cannot say any more what the newest head is.
 */
export class OriginFeed {
  readonly #origin: OriginFingerprint;
  readonly #options: OriginFeedOptions;
  readonly #seats = new Map<Follower, Seat>();
  readonly #waiting = new Set<{ readonly size: number; readonly done: () => void }>();
  readonly #onEnd: () => void;
  #head: Head;
  #users = 0;
  #isRunning = false;
  #isEnded = false;
  #unconfirmed = 0;
  #keptAliveMs: number;

  constructor(origin: OriginFingerprint, head: Head, options: OriginFeedOptions, onEnd: () => void) {
    this.#origin = origin;
    this.#head = head;
    this.#options = options;
    this.#onEnd = onEnd;
    this.#keptAliveMs = options.clock.monotonicMs();
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Begins to use it. Each user leaves once. */
  enter(): void {
    this.#users += 1;
    if (this.#isRunning || this.#isEnded) return;
    this.#isRunning = true;
    void this.#run();
  }

  leave(follower: Follower | null): void {
    this.#users -= 1;
    if (follower !== null) this.#seats.delete(follower);
  }

  /**
   * A size that this node has not shown may have been shown by another one: a quorum knows.
   * @throws ProblemError `from_size_ahead`; RefusedError
   */
  async assertNotAhead(fromSize: number, remainingMs: number): Promise<void> {
    if (fromSize <= this.#head.treeSize) return;
    this.#advance(await this.#options.controlPlane.read([this.#origin], remainingMs));
    if (fromSize > this.#head.treeSize) throw aheadOf("the size that you know", fromSize, this.#head.treeSize);
  }

  /** @throws RefusedError `unavailable` if it has ended meanwhile */
  follow(follower: Follower): void {
    if (this.#isEnded) throw new RefusedError("unavailable", "the feed has ended");
    const seat = { follower, atSize: follower.fromSize, isSending: false };
    this.#seats.set(follower, seat);
    void this.#show(seat);
  }

  /** Resolves when the head is beyond a size, when the feed has ended, or when the time or the caller is gone. */
  async grownBeyond(size: number, withinMs: number, gone: AbortSignal): Promise<void> {
    if (this.#isEnded || this.#head.treeSize > size || gone.aborted) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        gone.removeEventListener("abort", done);
        this.#waiting.delete(waiter);
        resolve();
      };
      const timer = setTimeout(done, withinMs);
      const waiter = { size, done };
      this.#waiting.add(waiter);
      gone.addEventListener("abort", done);
    });
  }

  /** Every follower is told, and its answer ends. */
  end(code: ProblemCode): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#onEnd();
    for (const follower of this.#seats.keys()) follower.end(code);
    this.#seats.clear();
    for (const { done } of this.#waiting) done();
  }

  /** A failure ends the feed: never the process. */
  async #run(): Promise<void> {
    while (!this.#isEnded) {
      try {
        this.#advance(await this.#options.controlPlane.awaitHead(this.#origin, this.#head.treeSize, AWAIT_MS));
        // Nobody has used it for one such request at most.
        if (this.#users === 0) this.end("unavailable");
        else await this.#keepAlive();
      } catch (error) {
        await this.#afterFailure(error);
      }
    }
  }

  async #afterFailure(error: unknown): Promise<void> {
    if (error instanceof RefusedError && PASSING.has(error.code)) {
      await pause(BUSY_PAUSE_MS);
      if (this.#users === 0) this.end("unavailable");
      return;
    }
    const { code } = problemOf(error).problem;
    if (!this.#isEnded) this.#options.logger.warn("a feed ends", { err: error, code });
    this.end(code);
  }

  #advance(ready: ReadyToRead): void {
    const [certificate] = ready.certificates;
    if (certificate === undefined || certificate.treeSize <= this.#head.treeSize) return;
    this.#head = new Head(certificate, ready, this.#options);
    for (const seat of this.#seats.values()) void this.#show(seat);
    for (const { size, done } of this.#waiting) if (size < certificate.treeSize) done();
  }

  /**
   * A comment to every follower, once a quorum has confirmed what the newest head is. Without confirmation three times
   * in a row the node may be cut off: its followers had better ask another one.
   */
  async #keepAlive(): Promise<void> {
    const { clock, controlPlane } = this.#options;
    if (clock.monotonicMs() - this.#keptAliveMs < KEEPALIVE_MS) return;
    try {
      this.#advance(await controlPlane.read([this.#origin], CONFIRM_MS));
      this.#unconfirmed = 0;
    } catch (error) {
      if (!(error instanceof RefusedError) || !PASSING.has(error.code)) throw error;
      this.#unconfirmed += 1;
      if (this.#unconfirmed >= UNCONFIRMED_MAX) {
        this.end(problemOf(error).problem.code);
        return;
      }
    }
    this.#keptAliveMs = clock.monotonicMs();
    for (const follower of this.#seats.keys()) {
      if (!follower.send(KEEPALIVE)) this.#seats.delete(follower);
      else void this.#assertAllowed(follower);
    }
  }

  async #assertAllowed(follower: Follower): Promise<void> {
    if (await follower.isAllowed()) return;
    this.#seats.delete(follower);
    follower.end("api_key_invalid");
  }

  /** One event at a time for each follower, always of the newest head. */
  async #show(seat: Seat): Promise<void> {
    if (seat.isSending) return;
    seat.isSending = true;
    const { follower } = seat;
    try {
      while (this.#seats.has(follower) && (seat.atSize === null || seat.atSize < this.#head.treeSize)) {
        const head = this.#head;
        const text = await head.text(seat.atSize, this.#readsFor(seat));
        if (!this.#seats.has(follower)) return;
        if (!follower.send(text)) {
          this.#seats.delete(follower);
          return;
        }
        seat.atSize = head.treeSize;
      }
    } catch (error) {
      this.#seats.delete(follower);
      this.#options.logger.warn("a follower is not served", { err: error });
      follower.end(problemOf(error).problem.code);
    } finally {
      seat.isSending = false;
    }
  }

  /** The proof that a newcomer needs is its own affair; the next one is everybody's. */
  #readsFor({ follower, atSize }: Seat): OpenableReads {
    return atSize === follower.fromSize ? follower.reads : this.#options.reads;
  }
}
