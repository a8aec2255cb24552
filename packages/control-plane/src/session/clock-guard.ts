import type { PeerFrame } from "@event-anchoring/control-contract";
import type { RaftIndex } from "raft-ts";
import type { Clock } from "../environment.ts";

/** A clock this far ahead of the median is not to stamp anything. */
const AHEAD_MAX_MS = 5000;
/** Older reports say nothing about the peer's clock now. */
const REPORT_AGE_MAX_MS = 2000;

/**
 * Whether this node's wall clock is fit to stamp entries: not more than 5 s ahead of the median of its own clock and
 * the fresh reports of connected voters (of two clocks, the lower one), and these are a majority of the voters. A clock
 * that nobody confirms stamps nothing.
 */
export class ClockGuard {
  readonly #clock: Clock;
  /** How many voters there are, this node among them. */
  readonly #voters: () => number;
  readonly #reports = new Map<string, { readonly wallMs: number; readonly atMs: number }>();

  constructor(clock: Clock, voters: () => number) {
    this.#clock = clock;
    this.#voters = voters;
  }

  /** The wall time of a connected voter, as it arrived. */
  onReport(nodeId: string, wallMs: number): void {
    this.#reports.set(nodeId, { wallMs, atMs: this.#clock.monotonicMs() });
  }

  onPeerDown(nodeId: string): void {
    this.#reports.delete(nodeId);
  }

  /** How far this clock is ahead of the median, in ms; 0 if it is not. */
  aheadOfMedianMs(): number {
    const offsets = this.#freshOffsets().sort((left, right) => left - right);
    const median = offsets[Math.floor((offsets.length - 1) / 2)] ?? 0;
    return Math.max(0, -median);
  }

  /** Whether a stamp lies so far ahead of this clock that one of the two is wrong. */
  isFuture(stampMs: number): boolean {
    return stampMs - this.#clock.wallMs() > AHEAD_MAX_MS;
  }

  /** What this node tells the others. */
  ownReport(appliedIndex: RaftIndex): PeerFrame {
    const wallMs = Math.round(this.#clock.wallMs());
    const monotonicMs = Math.round(this.#clock.monotonicMs());
    return { type: "clock", wallMs, appliedIndex, monotonicMs };
  }

  isSafe(): boolean {
    const isConfirmed = this.#freshOffsets().length > this.#voters() / 2;
    return isConfirmed && this.aheadOfMedianMs() <= AHEAD_MAX_MS;
  }

  /** How far each clock that counts is ahead of this one, in ms: this one itself, and those of fresh reports. */
  #freshOffsets(): number[] {
    const nowMs = this.#clock.monotonicMs();
    const ownMs = this.#clock.wallMs();
    const offsets = [0];
    for (const { wallMs, atMs } of this.#reports.values()) {
      // The report is carried on by monotonic time, so that a jump of the own clock shows at once.
      if (nowMs - atMs <= REPORT_AGE_MAX_MS) offsets.push(wallMs + (nowMs - atMs) - ownMs);
    }
    return offsets;
  }
}
