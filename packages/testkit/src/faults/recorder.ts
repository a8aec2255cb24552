import type { PeerCosignature, PeerFrame } from "@event-anchoring/control-contract";
import { bytesToHex } from "@event-anchoring/protocol";
import type { LoadAnswer } from "../clients/load-client.ts";

export type AnchoredKind = "event" | "signed_event" | "claim" | "grant" | "revocation";

/** A record that was acknowledged to its writer. Times are milliseconds of this process's monotonic clock. */
export interface AnchoredRecord {
  readonly kind: AnchoredKind;
  /**
   * What distinguishes this record from all others, in hex: an event's hash, the attribute, the scope, the revoked
   * anchor.
   */
  readonly content: string;
  readonly clientEventId: string | null;
  readonly anchorId: string;
  readonly originFingerprint: string;
  readonly sequence: number;
  readonly depth: number;
  /**
   * The receipt as JSON, in UTF-8; null: the answer had none. Bytes lie outside of V8's heap: hundreds of thousands of
   * objects would keep it collecting while answers are timed.
   */
  readonly receipt: Uint8Array | null;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly tries: number;
}

/** @returns what `receiptFromJson` takes; null if there is none */
export function receiptJson({ receipt }: Pick<AnchoredRecord, "receipt">): unknown {
  return receipt === null ? null : JSON.parse(Buffer.from(receipt).toString());
}

/** The latest anchor of an origin (its EEA), as one node answered it. */
export interface SeenHead {
  readonly nodeId: string;
  readonly originFingerprint: string;
  readonly treeSize: number;
  /** 64 hex digits. */
  readonly rootHash: string;
  /** The signed note, as it came. */
  readonly checkpoint: string;
  readonly startedMs: number;
  readonly endedMs: number;
}

/** A cosignature as its signer handed it to the network for the first time. */
export interface SeenCosignature {
  readonly nodeId: string;
  readonly originFingerprint: string;
  readonly treeSize: number;
  readonly rootHash: string;
  readonly timeS: number;
  readonly signature: Uint8Array;
}

interface SeenEffect {
  readonly nodeId: string;
  readonly effect: string;
}

/** Keeps everything that a cluster has answered to writers and readers, and that its nodes have sent each other. */
export class Recorder {
  readonly anchored: AnchoredRecord[] = [];
  readonly heads: SeenHead[] = [];
  /** Answers that a retry cannot cure: none is expected. */
  readonly refusals: LoadAnswer[] = [];
  /** Statements of a cosigner, a peer or a reader that contradict earlier ones. */
  readonly contradictions: string[] = [];
  /** Contents that were sent, whatever their outcome. */
  readonly attempted = new Set<string>();
  readonly #cosignatures = new Map<string, SeenCosignature>();
  readonly #effects = new Map<number, SeenEffect>();
  readonly #framesByLink = new Map<string, number>();

  get cosignatures(): readonly SeenCosignature[] {
    return [...this.#cosignatures.values()];
  }

  /** How many frames each directed link has carried, as `n1 n2`. */
  get framesByLink(): ReadonlyMap<string, number> {
    return this.#framesByLink;
  }

  /** What `from` has handed to the network for `to`. */
  frame(from: string, to: string, frame: PeerFrame): void {
    const link = `${from} ${to}`;
    this.#framesByLink.set(link, (this.#framesByLink.get(link) ?? 0) + 1);
    if (frame.type === "cosignatures") for (const item of frame.items) this.#cosignature(from, item);
  }

  #cosignature(nodeId: string, item: PeerCosignature): void {
    const originFingerprint = bytesToHex(item.originFingerprint);
    const rootHash = bytesToHex(item.rootHash);
    const { treeSize, timeS } = item;
    const key = `${nodeId} ${originFingerprint} ${treeSize}`;
    const before = this.#cosignatures.get(key);
    if (before === undefined) {
      const signature = item.signature.slice();
      this.#cosignatures.set(key, { nodeId, originFingerprint, treeSize, rootHash, timeS, signature });
    } else if (before.rootHash !== rootHash) {
      this.contradictions.push(`${key}: signed ${before.rootHash}, then ${rootHash}`);
    }
    this.#effect(nodeId, item.raftIndex, bytesToHex(item.effect));
  }

  #effect(nodeId: string, raftIndex: number, effect: string): void {
    const before = this.#effects.get(raftIndex);
    if (before === undefined) this.#effects.set(raftIndex, { nodeId, effect });
    else if (before.effect !== effect) {
      this.contradictions.push(
        `entry ${raftIndex}: effect ${before.effect} at ${before.nodeId}, ${effect} at ${nodeId}`,
      );
    }
  }
}
