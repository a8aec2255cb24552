import type { NodeStatus } from "@event-anchoring/control-contract";
import type { Clock, Logger } from "@event-anchoring/telemetry";

/**
 * What a peer did that no node does that keeps its promises. It says nothing about *this* node.
 * - `impossible_message`: a consensus message that this node's log excludes.
 * - `term_too_high`: a term that elections and time do not explain.
 * - `unreadable_entry`: it adds to the log what no leader writes and no node could decide.
 * - `false_state`: as leader, it said that its log begins after an entry, and it has not applied that entry.
 * - `invalid_frame`: bytes that do not decode, or contradict themselves.
 * - `unproven_accusation`: it claims that this node forgot a promise, and shows nothing that this node has signed.
 */
export const PEER_OFFENCES = [
  "impossible_message",
  "term_too_high",
  "unreadable_entry",
  "false_state",
  "invalid_frame",
  "unproven_accusation",
] as const;

export type PeerOffence = (typeof PEER_OFFENCES)[number];

/** The first pause; each later one is twice as long as the one before it. */
const PAUSE_MIN_MS = 1000;
const PAUSE_MAX_MS = 5 * 60_000;
/** After this long without an offence a peer starts again with the first pause. */
const FORGIVEN_AFTER_MS = 60 * 60_000;

interface Standing {
  readonly counts: Map<PeerOffence, number>;
  pauseMs: number;
  lastMs: number;
}

/**
 * Which peers are cut off, and until when. It belongs to the process: a new session forgives nothing.
 *
 * A peer's unproven word costs that peer, never this node: its message is dropped, its sessions end, and none is opened
 * for a pause that grows.
 */
export class PeerOffences {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #peers = new Map<string, Standing>();

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  note(peer: string, offence: PeerOffence, detail: string): void {
    const now = this.#clock.monotonicMs();
    const standing: Standing = this.#peers.get(peer) ?? { counts: new Map(), pauseMs: 0, lastMs: now };
    this.#peers.set(peer, standing);
    standing.counts.set(offence, (standing.counts.get(offence) ?? 0) + 1);
    // Messages that were under way when the peer was cut off do not lengthen the pause.
    if (standing.pauseMs === 0 || now >= standing.lastMs + standing.pauseMs) {
      const isForgiven = now - standing.lastMs > FORGIVEN_AFTER_MS;
      standing.pauseMs =
        isForgiven || standing.pauseMs === 0 ? PAUSE_MIN_MS : Math.min(2 * standing.pauseMs, PAUSE_MAX_MS);
      standing.lastMs = now;
    }
    this.#logger.error("peer_cut_off", { peer, offence, detail, pauseMs: standing.pauseMs });
  }

  /** How long the peer remains cut off from now on; 0: it is not. */
  cutOffMs(peer: string): number {
    const standing = this.#peers.get(peer);
    return standing === undefined ? 0 : Math.max(0, standing.lastMs + standing.pauseMs - this.#clock.monotonicMs());
  }

  /** The peers that are cut off now. */
  view(): NodeStatus["peersCutOff"] {
    return [...this.#peers].flatMap(([nodeId, { counts }]) => {
      const remainingMs = this.cutOffMs(nodeId);
      return remainingMs === 0 ? [] : [{ nodeId, remainingMs, offences: Object.fromEntries(counts) }];
    });
  }

  countOf(peer: string, offence: PeerOffence): number {
    return this.#peers.get(peer)?.counts.get(offence) ?? 0;
  }
}
