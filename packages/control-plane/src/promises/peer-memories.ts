import type { Hello, HelloVerdict, PeerCosignature } from "@event-anchoring/control-contract";
import type { Certificate } from "@event-anchoring/ledger";
import { equalBytes } from "@event-anchoring/protocol";
import type { RaftIndex } from "raft-ts";
import type { Clock } from "../environment.ts";
import { HELLO_AGE_MAX_MS } from "../transport/hello-timeouts.ts";
import {
  EMPTY_PEER_MEMORY,
  type PeerMemory,
  judgeHello,
  rememberAck,
  rememberCosignature,
  rememberHello,
} from "./fencing.ts";

interface Recollection {
  current: PeerMemory;
  /** What the peer itself has told us: in a new incarnation it can only have done so once its hello was accepted. */
  heard: PeerMemory;
  /** Who speaks in the incarnation of `current`; null: not heard since this node started. */
  lifeId: Uint8Array | null;
  /** As it was at the last turn of the page, and at the one before: at least one page is older than any hello. */
  recent: PeerMemory;
  settled: PeerMemory;
  turnedMs: number;
}

/**
 * What this node remembers of each peer's promises, and whether a hello still knows them.
 *
 * A peer in a new incarnation is held against everything it has told us. One that opens another connection in the
 * incarnation we know may have acknowledged and signed more while its hello travelled, so it is held against what we
 * knew before that. A clone speaks in that incarnation too, and shows by its life id.
 *
 * What a certificate tells us of a peer in a new incarnation may be news of that very incarnation: it has signed for
 * others while its hello to us travelled. Such a peer is asked again, without a verdict, until its hello says so too
 * or we have known it for longer than any hello travels.
 */
export class PeerMemories {
  readonly #clock: Clock;
  readonly #peers = new Map<string, Recollection>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What the promise file kept over a restart. */
  recall(nodeId: string, kept: { readonly incarnation: number; readonly ackedCommitted: number }): void {
    this.#update(nodeId, (memory) =>
      rememberAck(rememberHello(memory, kept), kept.ackedCommitted, kept.ackedCommitted),
    );
  }

  /** All that is known so far is old: no hello can have been on its way while it came about. */
  settle(): void {
    for (const recollection of this.#peers.values()) {
      recollection.recent = recollection.current;
      recollection.settled = recollection.current;
    }
  }

  judge(hello: Hello): HelloVerdict {
    const recollection = this.#of(hello.nodeId);
    const { incarnation, lifeId } = hello;
    const isKnownLife = incarnation === recollection.current.incarnation;
    if (isKnownLife && recollection.lifeId !== null && !equalBytes(recollection.lifeId, lifeId)) {
      const detail = `incarnation ${incarnation} is spoken for by another process`;
      return { accepted: false, code: "stale_incarnation", detail };
    }
    const verdict = judgeHello(isKnownLife ? recollection.settled : recollection.current, hello);
    if (!verdict.accepted) {
      const { heard, settled } = recollection;
      const isOnlyNews = judgeHello(heard, hello).accepted && judgeHello(settled, hello).accepted;
      if (isKnownLife || !isOnlyNews) return verdict;
      return { accepted: false, code: "not_ready", detail: `say again what you have signed: ${verdict.detail}` };
    }
    this.#update(hello.nodeId, (memory) => rememberHello(memory, hello));
    recollection.lifeId = lifeId;
    return verdict;
  }

  incarnationOf(nodeId: string): number {
    return this.#of(nodeId).current.incarnation;
  }

  onAck(nodeId: string, acked: RaftIndex, committed: RaftIndex): PeerMemory {
    return this.#update(nodeId, (memory) => rememberAck(memory, acked, committed));
  }

  /** Cosignatures that were verified here or recorded by the log. */
  onCertificate(certificate: Certificate): void {
    for (const { nodeId } of certificate.cosignatures) {
      const recollection = this.#of(nodeId);
      recollection.current = rememberCosignature(recollection.current, certificate);
    }
  }

  /** What the peer itself says that it has signed; it binds nobody else. */
  onCosignature(nodeId: string, item: PeerCosignature): void {
    this.#update(nodeId, (memory) => rememberCosignature(memory, item));
  }

  #update(nodeId: string, change: (memory: PeerMemory) => PeerMemory): PeerMemory {
    const recollection = this.#of(nodeId);
    recollection.current = change(recollection.current);
    recollection.heard = change(recollection.heard);
    return recollection.current;
  }

  #of(nodeId: string): Recollection {
    const now = this.#clock.monotonicMs();
    let recollection = this.#peers.get(nodeId);
    if (recollection === undefined) {
      const empty = EMPTY_PEER_MEMORY;
      recollection = { current: empty, heard: empty, lifeId: null, recent: empty, settled: empty, turnedMs: now };
      this.#peers.set(nodeId, recollection);
    }
    if (now - recollection.turnedMs >= HELLO_AGE_MAX_MS) {
      recollection.settled = recollection.recent;
      recollection.recent = recollection.current;
      recollection.turnedMs = now;
    }
    return recollection;
  }
}
