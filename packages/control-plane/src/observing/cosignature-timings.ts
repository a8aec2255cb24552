/** Certify points that are remembered; cosignatures of older ones are not timed. */
import type { RaftIndex } from "raft-ts";
const POINTS_MAX = 512;

interface TimedPoint {
  /** When this node reached it; null: a peer was there first. */
  reachedMs: number | null;
  readonly arrived: Set<string>;
}

/**
 * How long after this node reached a certify point each peer's cosignature of it arrived; 0 for a peer that was first.
 */
export class CosignatureTimings {
  readonly #observe: (peer: string, seconds: number) => void;
  readonly #points = new Map<number, TimedPoint>();

  constructor(observe: (peer: string, seconds: number) => void) {
    this.#observe = observe;
  }

  /** This node is at the certify point of that entry. */
  reached(raftIndex: RaftIndex, nowMs: number): void {
    this.#pointAt(raftIndex).reachedMs ??= nowMs;
  }

  /** From an authenticated peer. A rebroadcast is not timed again. */
  arrived(peer: string, raftIndex: RaftIndex, nowMs: number): void {
    const point = this.#pointAt(raftIndex);
    if (point.arrived.has(peer)) return;
    point.arrived.add(peer);
    this.#observe(peer, point.reachedMs === null ? 0 : (nowMs - point.reachedMs) / 1000);
  }

  #pointAt(raftIndex: RaftIndex): TimedPoint {
    const known = this.#points.get(raftIndex);
    if (known !== undefined) return known;
    const point: TimedPoint = { reachedMs: null, arrived: new Set() };
    this.#points.set(raftIndex, point);
    const [oldest] = this.#points.keys();
    if (oldest !== undefined && this.#points.size > POINTS_MAX) this.#points.delete(oldest);
    return point;
  }
}
