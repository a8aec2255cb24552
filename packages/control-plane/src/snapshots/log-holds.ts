import type { RaftIndex } from "raft-ts";
import type { Timer, TimerClock } from "../ports/environment.ts";
import type { PeerMemories } from "../promises/peer-memories.ts";

/** A peer that takes over a state writes each chunk before it asks for the next, and loads it before it connects. */
const AWAY_MAX_MS = 120_000;
const HOLD_MAX_MS = 60 * 60_000;

/** Knows how far logs reach: its own by what is applied, those of peers by what they have signed. */
export interface LogReach {
  readonly state: { readonly appliedIndex: RaftIndex };
  readonly membership: { readonly peers: { readonly memories: Pick<PeerMemories, "progressOf"> } };
}

export interface LogHoldsOptions {
  readonly clock: TimerClock;
  readonly session: () => LogReach | null;
  /** So many entries are kept for every follower. */
  readonly entriesKept: number;
}

interface LogHold {
  /** The entry of the state that the peer takes over. */
  readonly raftIndex: RaftIndex;
  readonly expiry: Timer;
  /** null: the peer is connected. */
  away: Timer | null;
}

/**
 * Keeps in the log what follows the state that a peer takes over. To write and to load a state may take longer than the
 * log lasts that is kept for every follower: without a hold the peer would need another state when it is done with the
 * first, and so on for ever.
 *
 * A hold moves on with the peer's log, and ends when half of what is kept for every follower is enough for the peer. It
 * also ends when the peer has been away for two minutes, which is neither connected nor asking for a chunk, or asks for
 * another state, and after an hour: the log does not grow without bound for a peer that is slower than the clients.
 */
export class LogHolds {
  readonly #options: LogHoldsOptions;
  /** By node id of the peer. */
  readonly #holds = new Map<string, LogHold>();
  /** Node ids. A peer that starts asks for a state before it lets this node connect. */
  readonly #connected = new Set<string>();

  constructor(options: LogHoldsOptions) {
    this.#options = options;
  }

  /** The log must not be compacted beyond this index; null: nobody needs it. Lets go of who has caught up. */
  pinnedIndex(): RaftIndex | null {
    const needed: RaftIndex[] = [];
    for (const [nodeId, { raftIndex }] of this.#holds) {
      if (this.#hasCaughtUp(nodeId)) this.#end(nodeId);
      else needed.push(Math.max(raftIndex, this.#reachedBy(nodeId)));
    }
    return needed.length === 0 ? null : Math.min(...needed);
  }

  /** The peer takes over the state after this entry, and no earlier one. */
  begin(nodeId: string, raftIndex: RaftIndex): void {
    this.#end(nodeId);
    const expiry = this.#options.clock.startTimer(HOLD_MAX_MS, () => this.#end(nodeId));
    this.#holds.set(nodeId, { raftIndex, expiry, away: this.#connected.has(nodeId) ? null : this.#awayTimer(nodeId) });
  }

  /** The peer asks for a chunk. */
  onAsked(nodeId: string): void {
    const hold = this.#holds.get(nodeId);
    if (hold === undefined || hold.away === null) return;
    hold.away.cancel();
    hold.away = this.#awayTimer(nodeId);
  }

  onPeerUp(nodeId: string): void {
    this.#connected.add(nodeId);
    const hold = this.#holds.get(nodeId);
    hold?.away?.cancel();
    if (hold !== undefined) hold.away = null;
  }

  onPeerDown(nodeId: string): void {
    this.#connected.delete(nodeId);
    // It may be gone for good.
    if (this.#hasCaughtUp(nodeId)) this.#end(nodeId);
    const hold = this.#holds.get(nodeId);
    if (hold !== undefined) hold.away ??= this.#awayTimer(nodeId);
  }

  close(): void {
    for (const nodeId of this.#holds.keys()) this.#end(nodeId);
  }

  #awayTimer(nodeId: string): Timer {
    return this.#options.clock.startTimer(AWAY_MAX_MS, () => this.#end(nodeId));
  }

  #hasCaughtUp(nodeId: string): boolean {
    const { session, entriesKept } = this.#options;
    const [hold, reached] = [this.#holds.get(nodeId), this.#reachedBy(nodeId)];
    const appliedIndex = session()?.state.appliedIndex ?? Number.POSITIVE_INFINITY;
    return hold !== undefined && reached >= hold.raftIndex && appliedIndex - reached <= entriesKept / 2;
  }

  /** The last entry that the peer says its log holds; 0: it has said nothing. */
  #reachedBy(nodeId: string): RaftIndex {
    return this.#options.session()?.membership.peers.memories.progressOf(nodeId)?.index ?? 0;
  }

  #end(nodeId: string): void {
    const hold = this.#holds.get(nodeId);
    hold?.expiry.cancel();
    hold?.away?.cancel();
    this.#holds.delete(nodeId);
  }
}
