import type { PeerFrame } from "@event-anchoring/control-contract";
import type { RaftIndex } from "raft-ts";
import type { Clock } from "@event-anchoring/telemetry";

interface Report {
  readonly wallMs: number;
  readonly appliedIndex: RaftIndex;
  readonly atMs: number;
}

/** A clock this far from the median must not stamp anything. */
const OFF_MAX_MS = 5000;
/** Older reports say nothing about the peer's clock now. */
const REPORT_AGE_MAX_MS = 2000;

/**
 * Whether this node's wall clock is fit to stamp entries: not more than 5 s from the median of its own clock and the
 * fresh reports of connected voters, and these are a majority of the voters. A clock ahead of the others would date
 * entries after their time, and one behind them would have ended grants and keys in force. A clock that no other node
 * confirms stamps nothing.
 *
 * With an even number of clocks either of the two in the middle may be right: a clock is unsafe if it is far from
 * one of them, and refuted if it is far from both, on the same side.
 */
export class ClockGuard {
  readonly #clock: Clock;
  /** Node ids of the voters, this node's among them. */
  readonly #voters: () => readonly string[];
  /** Reports of all nodes: whether a sender votes is asked when they are weighed. */
  readonly #reports = new Map<string, Report>();

  constructor(clock: Clock, voters: () => readonly string[]) {
    this.#clock = clock;
    this.#voters = voters;
  }

  /** The wall time and applied index that a connected node reports, on arrival. */
  onReport(nodeId: string, wallMs: number, appliedIndex: RaftIndex): void {
    this.#reports.set(nodeId, { wallMs, appliedIndex, atMs: this.#clock.monotonicMs() });
  }

  onPeerDown(nodeId: string): void {
    this.#reports.delete(nodeId);
  }

  /** How far this clock is ahead of the median, in ms; 0 if it is not. */
  aheadOfMedianMs(): number {
    return Math.max(0, -this.#medians().lower);
  }

  /** How far this clock is behind the median, in ms; 0 if it is not. */
  behindMedianMs(): number {
    return Math.max(0, this.#medians().upper);
  }

  /** Whether a stamp lies so far ahead of this clock that one of the two is wrong. */
  isFuture(stampMs: number): boolean {
    return stampMs - this.#clock.wallMs() > OFF_MAX_MS;
  }

  /**
   * Whether a stamp lies so far behind this clock that one of the two is wrong. An entry that its leader had applied
   * when it last told the time may have been long on its way.
   */
  isPast(stampMs: number, index: RaftIndex, leader: string): boolean {
    const report = this.#freshReport(leader);
    return report !== null && index > report.appliedIndex && this.#clock.wallMs() - stampMs > OFF_MAX_MS;
  }

  /** What this node tells the others. */
  ownReport(appliedIndex: RaftIndex): PeerFrame {
    const wallMs = Math.round(this.#clock.wallMs());
    const monotonicMs = Math.round(this.#clock.monotonicMs());
    return { type: "clock", wallMs, appliedIndex, monotonicMs };
  }

  isSafe(): boolean {
    return this.#isConfirmed() && this.aheadOfMedianMs() <= OFF_MAX_MS && this.behindMedianMs() <= OFF_MAX_MS;
  }

  /** A majority of the voters was heard, and this clock is wrong whichever of them is right. */
  isRefuted(): boolean {
    const { lower, upper } = this.#medians();
    return this.#isConfirmed() && (lower > OFF_MAX_MS || upper < -OFF_MAX_MS);
  }

  #isConfirmed(): boolean {
    return this.#freshOffsets().length > this.#voters().length / 2;
  }

  /** The two middle values, or the single one twice. */
  #medians(): { readonly lower: number; readonly upper: number } {
    const offsets = this.#freshOffsets().sort((left, right) => left - right);
    const lower = offsets[Math.floor((offsets.length - 1) / 2)] ?? 0;
    return { lower, upper: offsets[Math.floor(offsets.length / 2)] ?? 0 };
  }

  /** How far each clock that counts is ahead of this one, in ms: this one, and those of voters' fresh reports. */
  #freshOffsets(): number[] {
    const nowMs = this.#clock.monotonicMs();
    const ownMs = this.#clock.wallMs();
    const offsets = [0];
    for (const nodeId of this.#voters()) {
      const report = this.#freshReport(nodeId);
      // The report is carried on by monotonic time, so that a jump of the own clock shows at once.
      if (report !== null) offsets.push(report.wallMs + (nowMs - report.atMs) - ownMs);
    }
    return offsets;
  }

  #freshReport(nodeId: string): Report | null {
    const report = this.#reports.get(nodeId);
    return report !== undefined && this.#clock.monotonicMs() - report.atMs <= REPORT_AGE_MAX_MS ? report : null;
  }
}
