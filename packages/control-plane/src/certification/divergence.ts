import { equalBytes } from "@event-anchoring/protocol";
import type { Clock } from "@event-anchoring/telemetry";
import type { RaftIndex } from "raft-ts";

/** Peers that differ over one point within this time are counted together; a later one is another event. */
const WINDOW_MS = 10_000;
const POINTS_MAX = 1024;

/** Own effects kept for comparison with peers', and effects kept of each peer that this node has not reached. */
const EFFECTS_MAX = 1024;

/** The effect chain at the newest certify points, here and at the peers that are ahead. */
export class Effects {
  readonly #own = new Map<RaftIndex, Uint8Array>();
  readonly #ahead = new Map<string, Map<RaftIndex, Uint8Array>>();
  #newest = 0;

  /** @returns the peers that reported another effect */
  onOwn(raftIndex: RaftIndex, effect: Uint8Array): readonly string[] {
    this.#newest = Math.max(this.#newest, raftIndex);
    keep(this.#own, raftIndex, effect);
    return [...this.#ahead].flatMap(([nodeId, effects]) => {
      const said = effects.get(raftIndex);
      for (const index of effects.keys()) if (index <= raftIndex) effects.delete(index);
      return said === undefined || equalBytes(said, effect) ? [] : [nodeId];
    });
  }

  /** Whether this node has another effect there. */
  differs(nodeId: string, raftIndex: RaftIndex, effect: Uint8Array): boolean {
    const own = this.#own.get(raftIndex);
    if (own !== undefined) return !equalBytes(own, effect);
    if (raftIndex <= this.#newest) return false;
    const ahead = this.#ahead.get(nodeId) ?? new Map<RaftIndex, Uint8Array>();
    this.#ahead.set(nodeId, ahead);
    keep(ahead, raftIndex, effect);
    return false;
  }
}

/** The oldest goes. */
function keep(effects: Map<RaftIndex, Uint8Array>, raftIndex: RaftIndex, effect: Uint8Array): void {
  effects.set(raftIndex, effect);
  for (const index of effects.keys()) {
    if (effects.size <= EFFECTS_MAX) break;
    effects.delete(index);
  }
}

export interface DivergenceOptions {
  readonly clock: Clock;
  readonly quorum: () => number;
  /** Whether that node counts: it is active, and its key is not known to have signed two roots of one size. */
  readonly counts: (nodeId: string) => boolean;
}

interface Point {
  readonly sinceMs: number;
  readonly peers: Set<string>;
}

/**
 * Which peers differ from this node, and over what.
 *
 * A peer that differs has itself diverged, or lies. When as many distinct members as make a quorum differ from this
 * node over the same point, within seconds, it is this node that is wrong.
 */
export class Divergence {
  readonly #options: DivergenceOptions;
  readonly #points = new Map<string, Point>();

  constructor(options: DivergenceOptions) {
    this.#options = options;
  }

  /** Peers that differed within the window. */
  get peers(): readonly string[] {
    this.#forget();
    return [...new Set([...this.#points.values()].flatMap(({ peers }) => [...peers]))].sort();
  }

  /** @param point what they differ over: a log index, or a size of an origin. @returns true: this node must stop */
  note(peer: string, point: string): boolean {
    this.#forget();
    const known = this.#points.get(point) ?? { sinceMs: this.#options.clock.monotonicMs(), peers: new Set() };
    this.#points.set(point, known);
    known.peers.add(peer);
    return [...known.peers].filter((nodeId) => this.#options.counts(nodeId)).length >= this.#options.quorum();
  }

  #forget(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [key, { sinceMs }] of this.#points) {
      if (nowMs - sinceMs <= WINDOW_MS && this.#points.size < POINTS_MAX) break;
      this.#points.delete(key);
    }
  }
}
