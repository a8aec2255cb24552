import type { Hello, HelloVerdict, PeerCosignature, SignedProgress } from "@event-anchoring/control-contract";
import type { Certificate } from "@event-anchoring/ledger";
import { equalBytes } from "@event-anchoring/protocol";
import type { Clock } from "@event-anchoring/telemetry";
import { HELLO_AGE_MAX_MS } from "../transport/hello-timeouts.ts";
import {
  EMPTY_PEER_MEMORY,
  type PeerMemory,
  judgeHello,
  rememberCosignature,
  rememberProgress,
} from "./peer-memory.ts";
import type { RaftIndex } from "raft-ts";

interface Recollection {
  current: PeerMemory;
  /** What the peer itself has told us: a new incarnation can tell us only after its hello was accepted. */
  heard: PeerMemory;
  /** The memory at the last two calls of `settle`: at least one of them is older than any hello under way. */
  recent: PeerMemory;
  settled: PeerMemory;
  turnedMs: number;
}

/**
 * What this node remembers of each peer's promises, and whether a hello still knows them.
 *
 * A peer in a new incarnation is held against everything it has told us. One that opens another connection in the life
 * we know may have acknowledged and signed more while its hello travelled, so it is held against what we knew before
 * that. A clone uses the same incarnation, and is recognised by its life id.
 *
 * What a certificate tells us of a peer in a new incarnation may be news of that very incarnation: it has signed for
 * others while its hello to us travelled. Such a peer is asked again, without a verdict, until its hello says so too or
 * until we have known it for longer than any hello can be under way.
 */
export class PeerMemories {
  readonly #clock: Clock;
  readonly #peers = new Map<string, Recollection>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What the promise file kept over a restart. */
  recall(nodeId: string, kept: SignedProgress): void {
    this.#update(nodeId, (memory) => rememberProgress(memory, kept));
  }

  /** Marks everything known so far as old: every hello that was on its way at the time has arrived or expired. */
  settle(): void {
    for (const recollection of this.#peers.values()) {
      recollection.recent = recollection.current;
      recollection.settled = recollection.current;
    }
  }

  judge(hello: Hello): HelloVerdict {
    const recollection = this.#of(hello.nodeId);
    const isKnownLife = isSameLife(recollection.current.progress, hello.progress);
    const verdict = judgeHello(isKnownLife ? recollection.settled : recollection.current, hello);
    if (!verdict.accepted) {
      const { heard, settled } = recollection;
      const isOnlyNews = judgeHello(heard, hello).accepted && judgeHello(settled, hello).accepted;
      if (isKnownLife || !isOnlyNews) return verdict;
      return { accepted: false, code: "not_ready", detail: `say again what you have signed: ${verdict.detail}` };
    }
    this.#update(hello.nodeId, (memory) => rememberProgress(memory, hello.progress));
    return verdict;
  }

  /** The newest progress that the peer has signed; null: none. */
  progressOf(nodeId: string): SignedProgress | null {
    return this.#of(nodeId).current.progress;
  }

  /**
   * False: the peer has signed that its log has never held an entry, so it has no state. One that has not said how far
   * its log has reached may have one.
   */
  hasState(nodeId: string): boolean {
    return this.progressOf(nodeId)?.index !== 0;
  }

  /** @returns whether it is news: from the life whose hello was accepted, and later in Raft's order */
  onProgress(nodeId: string, said: SignedProgress): boolean {
    const before = this.progressOf(nodeId);
    if (!isSameLife(before, said)) return false;
    return this.#update(nodeId, (memory) => rememberProgress(memory, said)).progress !== before;
  }

  /** Cosignatures that were verified here or recorded by the log. */
  onCertificate({ cosignatures, raftIndex = 0, ...head }: Certificate & { readonly raftIndex?: RaftIndex }): void {
    const { originFingerprint, treeSize, rootHash } = head;
    for (const { nodeId, timeS, signature } of cosignatures) {
      const said = { originFingerprint, treeSize, rootHash, timeS, signature, raftIndex };
      const recollection = this.#of(nodeId);
      recollection.current = rememberCosignature(recollection.current, said);
    }
  }

  /** A cosignature that the peer itself claims; it binds only that peer. */
  onCosignature(nodeId: string, item: PeerCosignature): void {
    const { originFingerprint, treeSize, rootHash, timeS, signature, raftIndex } = item;
    const said = { originFingerprint, treeSize, rootHash, timeS, signature, raftIndex };
    this.#update(nodeId, (memory) => rememberCosignature(memory, said));
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
      recollection = { current: empty, heard: empty, recent: empty, settled: empty, turnedMs: now };
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

function isSameLife(known: SignedProgress | null, said: SignedProgress): boolean {
  return known !== null && known.incarnation === said.incarnation && equalBytes(known.lifeId, said.lifeId);
}
