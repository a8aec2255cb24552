import type { PeerCosignature, PeerFrame } from "@event-anchoring/control-contract";
import type { EntryDecision } from "@event-anchoring/ledger";
import { type OriginFingerprint, bytesToHex } from "@event-anchoring/protocol";
import type { Clock, Tracer } from "@event-anchoring/telemetry";
import type { LeaderQueueOptions } from "../proposals/leader-queue.ts";
import type { Session } from "../session/session.ts";
import type { SessionOptions } from "../session/session-options.ts";
import { EntryTraces, type Position } from "./entry-traces.ts";
import type { NodeTimings } from "./node-timings.ts";

/** A session, as far as it is looked at. */
type ObservedSession = Pick<Session, "whenCosigned" | "leaderNodeId"> & {
  readonly consensus: Pick<Session["consensus"], "view">;
};

/** The parts of a session that the observer wraps. */
type WatchedParts = Pick<SessionOptions, "log" | "tables" | "network">;

export interface SessionObserverOptions {
  readonly clock: Clock;
  readonly timings: NodeTimings;
  readonly tracer: Tracer | null;
  /** The session that is observed, once it lives. */
  readonly session: () => ObservedSession | null;
  /** To every other node. */
  readonly broadcast: (frame: PeerFrame) => void;
}

/**
 * Measures and traces one session. It wraps the session's log, tables and network, and passes every call through;
 * nothing that a node does depends on it.
 */
export class SessionObserver {
  readonly #options: SessionObserverOptions;
  readonly #traces: EntryTraces | null;
  /** When deciding the current entry began. */
  #turnMs = 0;

  constructor(options: SessionObserverOptions) {
    this.#options = options;
    const { tracer, broadcast } = options;
    const announce = ({ index, term }: Position, context: { traceId: string; spanId: string }): void =>
      broadcast({ type: "entry_trace", index, term, context });
    this.#traces = tracer === null ? null : new EntryTraces({ tracer, announce });
  }

  /** The same log, tables and network, observed. */
  around({ log, tables, network }: WatchedParts): WatchedParts {
    return {
      log: {
        append: (batch) => this.#append(batch, () => log.append(batch)),
        read: (from, to, maxBytes) => log.read(from, to, maxBytes),
        compact: (upTo) => log.compact(upTo),
      },
      tables: {
        loadFacts: (query) => tables.loadFacts(query),
        onTurn: (entry) => this.#onTurn(entry),
        onDecided: (decision) => this.#onDecided(decision),
        apply: (...run) => this.#apply(run, () => tables.apply(...run)),
      },
      network: {
        send: (to, lane, frame) => {
          if (frame.type === "cosignatures") this.#onCosigned(frame.items);
          return network.send(to, lane, frame);
        },
        flush: () => network.flush(),
        isConnected: (nodeId) => network.isConnected(nodeId),
        disconnect: (nodeId, reason) => network.disconnect(nodeId, reason),
      },
    };
  }

  /** The leader's queue, observed. */
  queue(options: LeaderQueueOptions): LeaderQueueOptions {
    const traces = this.#traces;
    if (traces === null) return options;
    return {
      ...options,
      onQueued: (group) => {
        traces.onQueued(group);
        options.onQueued(group);
      },
      propose: (payload, groups) => {
        const index = options.propose(payload, groups);
        // A propose that fails ends the session within the call; then there is no term to ask for.
        if (index === null) return null;
        traces.onProposed({ index, term: this.#options.session()?.consensus.view().term ?? 0 }, groups);
        return index;
      },
      refuse: (groups, code, detail) => {
        traces.onRefused(groups, code);
        options.refuse(groups, code, detail);
      },
    };
  }

  /** A peer's frame, before the session gets it. */
  onFrame(from: string, frame: PeerFrame): void {
    if (frame.type === "entry_trace") this.#onEntryTrace(from, frame);
    if (frame.type !== "cosignatures") return;
    for (const { raftIndex } of frame.items) this.#options.timings.cosignatures.arrived(from, raftIndex, this.#now());
  }

  close(): void {
    this.#traces?.close();
  }

  /** Only the leader announces the spans of its entries. */
  #onEntryTrace(from: string, { index, term, context }: Extract<PeerFrame, { type: "entry_trace" }>): void {
    if (from === this.#options.session()?.leaderNodeId()) this.#traces?.onAnnounced({ index, term }, context);
  }

  #onCosigned(items: readonly PeerCosignature[]): void {
    for (const { raftIndex } of items) this.#traces?.end("cosign", raftIndex);
  }

  async #append<Done>(batch: { readonly entries: readonly Position[] }, append: () => Promise<Done>): Promise<Done> {
    const { timings } = this.#options;
    const startMs = this.#now();
    for (const entry of batch.entries) this.#traces?.begin("append", entry);
    try {
      return await append();
    } finally {
      timings.append.observe((this.#now() - startMs) / 1000);
      for (const { index } of batch.entries) this.#traces?.end("append", index);
    }
  }

  #onTurn(entry: Position): void {
    this.#turnMs = this.#now();
    this.#traces?.begin("decide", entry);
  }

  async #apply<Applied>(
    run: readonly { readonly decision: EntryDecision }[],
    apply: () => Promise<Applied>,
  ): Promise<Applied> {
    const startMs = this.#now();
    try {
      return await apply();
    } finally {
      this.#options.timings.apply.observe((this.#now() - startMs) / 1000);
      for (const { decision } of run) this.#traces?.end("apply", decision.index);
    }
  }

  /**
   * Called in the turn in which the entry was decided and its certify point reached. From here on it waits for its
   * transaction, and for the cosignatures of all origins that it has grown.
   */
  #onDecided(decision: EntryDecision): void {
    const decidedMs = this.#now();
    this.#options.timings.decide.observe((decidedMs - this.#turnMs) / 1000);
    this.#traces?.end("decide", decision.index);
    this.#traces?.begin("apply", decision);
    const { timings, session } = this.#options;
    const observed = session();
    const heads = new Map<string, { origin: OriginFingerprint; treeSize: number }>();
    for (const { originFingerprint: origin, depth } of decision.writes.leaves) {
      heads.set(bytesToHex(origin), { origin, treeSize: depth + 1 });
    }
    const { index } = decision;
    if (observed === null || heads.size === 0) {
      this.#traces?.end("certify", index);
      return;
    }
    timings.cosignatures.reached(index, decidedMs);
    this.#traces?.begin("cosign", decision);
    this.#traces?.begin("certify", decision);
    let uncovered = heads.size;
    const cosigned = (): void => {
      uncovered -= 1;
      if (uncovered > 0) return;
      timings.certify.observe((this.#now() - decidedMs) / 1000);
      this.#traces?.end("certify", index);
    };
    for (const { origin, treeSize } of heads.values()) observed.whenCosigned(origin, treeSize, cosigned);
  }

  #now(): number {
    return this.#options.clock.monotonicMs();
  }
}
