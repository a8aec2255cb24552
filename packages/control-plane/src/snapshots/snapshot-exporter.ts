import { decodeSnapshotChunkRequest, encodeSnapshotManifest } from "@event-anchoring/control-contract";
import { bytesToHex } from "@event-anchoring/protocol";
import { type SignedStatePoint, type SnapshotExport, StoreError } from "@event-anchoring/store";
import type { RaftIndex } from "raft-ts";
import type { Logger } from "@event-anchoring/telemetry";
import type { Timer } from "../ports/environment.ts";
import type { OpenStateHold, SignedStates } from "../session/signed-states.ts";
import { LogHolds, type LogHoldsOptions, type LogReach } from "./log-holds.ts";
import type { UnaryAnswer, UnaryIdentity, UnaryRequest } from "../transport/network-types.ts";

/** Each export is as large as the leaves, and keeps the log from being compacted. */
const EXPORTS_MAX = 2;
/** A peer that asks within this time after an export was made shares it: the log still holds what follows. */
const SHARED_MS = 60_000;
/**
 * An export is closed after this time without a request: a peer writes each chunk before it asks for the next. The log
 * keeps what was erased for as long, if the peer has ended and this node has no connection to it that would say so.
 */
const IDLE_MS = 120_000;
const EXPORT_MAX_MS = 60 * 60_000;

const BUSY: UnaryAnswer = { status: 503, body: new Uint8Array() };
const UNKNOWN: UnaryAnswer = { status: 404, body: new Uint8Array() };

/** A state on its way to a peer. */
export type OpenExport = Pick<SnapshotExport, "manifest" | "chunk" | "close">;

/** Where a state is held and read. */
export interface ExportSource {
  /** A connection by which the tables can be pinned as they are. @throws StoreError */
  openStateHold(): Promise<OpenStateHold>;
  /** The state at a point that is held. @throws StoreError */
  exportSnapshot(point: SignedStatePoint): Promise<OpenExport>;
}

export interface SnapshotExporterOptions extends LogHoldsOptions {
  readonly machine: ExportSource;
  readonly session: () => (Pick<SignedStates, "holdSigned"> & LogReach) | null;
  readonly logger: Logger;
}

interface SharedExport {
  readonly made: OpenExport;
  /** Otherwise a peer that asks later gets one for which more nodes may have signed. */
  readonly hasHonestSigner: boolean;
  readonly madeMs: number;
  /** Node ids of the peers that fetch it. */
  readonly takers: Set<string>;
  readonly expiry: Timer;
  idle: Timer;
}

interface ExportUnderWay {
  /** Node ids of the peers that have asked for it. */
  readonly askers: Set<string>;
  readonly made: Promise<SharedExport>;
}

/**
 * Hands this node's state, as a quorum has signed it, to peers that have fallen behind the log: chunks by number, as
 * often as asked for. One export for each point, shared by all who ask soon enough, one for each peer, two in all; it
 * ends when no peer fetches it any more. The log keeps what follows it, from the moment at which the tables are pinned
 * until those peers have got what they need of it.
 */
export class SnapshotExporter {
  readonly #options: SnapshotExporterOptions;
  readonly #exports = new Map<string, SharedExport>();
  readonly #holds: LogHolds;
  #making: ExportUnderWay | null = null;
  /** The entry of the state that is being made; null: the tables are not held. */
  #heldIndex: RaftIndex | null = null;

  constructor(options: SnapshotExporterOptions) {
    this.#options = options;
    this.#holds = new LogHolds(options);
  }

  /** The log must not be compacted beyond this index; null: no peer takes over a state. */
  pinnedIndex(): RaftIndex | null {
    const open = [...this.#exports.values()].map(({ made }) => made.manifest.raftIndex);
    const indexes = [...open, this.#heldIndex, this.#holds.pinnedIndex()].filter((index) => index !== null);
    return indexes.length === 0 ? null : Math.min(...indexes);
  }

  async manifest({ from, signal }: UnaryRequest): Promise<UnaryAnswer> {
    const taker = takerOf(from);
    this.#leave(taker);
    const shared = this.#shared() ?? (await this.#make(taker));
    if (shared === null) return BUSY;
    if (signal.aborted) {
      this.#endIfUnused(shared);
      return BUSY;
    }
    shared.takers.add(taker);
    this.#holds.begin(taker, shared.made.manifest.raftIndex);
    return { status: 200, body: encodeSnapshotManifest(shared.made.manifest) };
  }

  async chunk({ from, body }: UnaryRequest): Promise<UnaryAnswer> {
    const { snapshotId, chunkIndex } = decodeSnapshotChunkRequest(body);
    const open = this.#exports.get(bytesToHex(snapshotId));
    if (open === undefined || !open.takers.has(takerOf(from))) return UNKNOWN;
    if (chunkIndex >= open.made.manifest.chunkHashes.length) return UNKNOWN;
    open.idle.cancel();
    open.idle = this.#options.clock.startTimer(IDLE_MS, () => this.#end(open));
    this.#holds.onAsked(takerOf(from));
    return { status: 200, body: await open.made.chunk(chunkIndex) };
  }

  onPeerUp(nodeId: string): void {
    this.#holds.onPeerUp(nodeId);
  }

  onPeerDown(nodeId: string): void {
    this.#leave(nodeId);
    this.#holds.onPeerDown(nodeId);
  }

  /** A peer is gone, or asks anew: its export ends unless other peers fetch it too. */
  #leave(nodeId: string): void {
    for (const open of this.#exports.values()) {
      if (open.takers.delete(nodeId)) this.#endIfUnused(open);
    }
  }

  async close(): Promise<void> {
    // One that fails has told those who asked for it.
    if (this.#making !== null) await Promise.allSettled([this.#making.made]);
    this.#holds.close();
    await Promise.all([...this.#exports.values()].map((open) => this.#release(open)));
  }

  #shared(): SharedExport | null {
    const sinceMs = this.#options.clock.monotonicMs() - SHARED_MS;
    return [...this.#exports.values()].findLast((open) => open.hasHonestSigner && open.madeMs >= sinceMs) ?? null;
  }

  /** null: as many are open as may be. Those who ask meanwhile get the same. @throws StoreError */
  async #make(taker: string): Promise<SharedExport | null> {
    if (this.#making !== null) {
      this.#making.askers.add(taker);
      return this.#making.made;
    }
    if (this.#exports.size >= EXPORTS_MAX) return null;
    const askers = new Set([taker]);
    this.#making = { askers, made: this.#export((nodeId) => askers.has(nodeId)) };
    try {
      return await this.#making.made;
    } finally {
      this.#making = null;
    }
  }

  async #export(isTaking: (nodeId: string) => boolean): Promise<SharedExport> {
    const { machine, session, clock, logger } = this.#options;
    const live = session();
    if (live === null) throw new StoreError("unavailable", "this node does not serve");
    const hold = await machine.openStateHold();
    try {
      const { hasHonestSigner, ...point } = await live.holdSigned(this.#noting(hold), { signers: "fewer", isTaking });
      const made = await machine.exportSnapshot(point);
      const { snapshotId, raftIndex, totalBytes } = made.manifest;
      const open: SharedExport = {
        made,
        hasHonestSigner,
        madeMs: clock.monotonicMs(),
        takers: new Set(),
        expiry: clock.startTimer(EXPORT_MAX_MS, () => this.#end(open)),
        idle: clock.startTimer(IDLE_MS, () => this.#end(open)),
      };
      this.#exports.set(bytesToHex(snapshotId), open);
      logger.info("snapshot_exported", { raftIndex, totalBytes });
      return open;
    } finally {
      this.#heldIndex = null;
      await hold.release();
    }
  }

  /** From the moment at which the tables are held: to read them takes as long as the log may last. */
  #noting(hold: OpenStateHold): OpenStateHold {
    return {
      hold: async () => {
        const held = await hold.hold();
        this.#heldIndex = held.raftIndex;
        return held;
      },
      release: () => hold.release(),
    };
  }

  #endIfUnused(open: SharedExport): void {
    if (open.takers.size === 0) this.#end(open);
  }

  #end(open: SharedExport): void {
    this.#release(open).catch((error: unknown) => {
      this.#options.logger.warn("snapshot_release_failed", { reason: String(error) });
    });
  }

  async #release(open: SharedExport): Promise<void> {
    if (!this.#exports.delete(bytesToHex(open.made.manifest.snapshotId))) return;
    open.idle.cancel();
    open.expiry.cancel();
    await open.made.close();
  }
}

function takerOf(from: UnaryIdentity): string {
  return from.kind === "node" ? from.nodeId : "";
}
