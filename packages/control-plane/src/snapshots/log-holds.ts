import type { RaftIndex } from "raft-ts";
import type { Timer, TimerClock } from "../ports/environment.ts";

/** A peer that has taken over a state loads it before it is connected again. */
const AWAY_MAX_MS = 120_000;
const HOLD_MAX_MS = 60 * 60_000;

export interface LogHoldsOptions {
  readonly clock: TimerClock;
  /** The last entry that the peer says its log holds; 0: it has said nothing. */
  readonly reachedBy: (nodeId: string) => RaftIndex;
}

interface LogHold {
  /** The entry of the state that the peer takes over. */
  readonly raftIndex: RaftIndex;
  readonly expiry: Timer;
  /** null: it is connected. */
  away: Timer | null;
}

/**
 * Keeps in the log what follows the state that a peer takes over. To write and to load a state may take longer than the
 * log lasts that is kept for every follower: without a hold the peer would need another state when it is done with the
 * first, and so on for ever.
 *
 * A hold moves on with the peer's log. It ends when the peer has been away for two minutes, asks for another state, or
 * after an hour: so the log does not grow without bound for a peer that is slower than its clients.
 */
export class LogHolds {
  readonly #options: LogHoldsOptions;
  /** By node id of the peer. */
  readonly #holds = new Map<string, LogHold>();

  constructor(options: LogHoldsOptions) {
    this.#options = options;
  }

  /** The log must not be compacted beyond this index; null: nobody needs it. */
  get pinnedIndex(): RaftIndex | null {
    const { reachedBy } = this.#options;
    const indexes = [...this.#holds].map(([nodeId, { raftIndex }]) => Math.max(raftIndex, reachedBy(nodeId)));
    return indexes.length === 0 ? null : Math.min(...indexes);
  }

  /** The peer takes over the state after this entry, and no earlier one. */
  begin(nodeId: string, raftIndex: RaftIndex): void {
    this.#end(nodeId);
    const expiry = this.#options.clock.startTimer(HOLD_MAX_MS, () => this.#end(nodeId));
    this.#holds.set(nodeId, { raftIndex, expiry, away: null });
  }

  onPeerUp(nodeId: string): void {
    const hold = this.#holds.get(nodeId);
    hold?.away?.cancel();
    if (hold !== undefined) hold.away = null;
  }

  onPeerDown(nodeId: string): void {
    const hold = this.#holds.get(nodeId);
    if (hold !== undefined) hold.away ??= this.#options.clock.startTimer(AWAY_MAX_MS, () => this.#end(nodeId));
  }

  close(): void {
    for (const nodeId of this.#holds.keys()) this.#end(nodeId);
  }

  #end(nodeId: string): void {
    const hold = this.#holds.get(nodeId);
    hold?.expiry.cancel();
    hold?.away?.cancel();
    this.#holds.delete(nodeId);
  }
}
