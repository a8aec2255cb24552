import { type Hello, type Progress, type SignedProgress, progressSignedBytes } from "@event-anchoring/control-contract";
import { equalBytes } from "@event-anchoring/protocol";
import type { TimerClock, Timer } from "../ports/environment.ts";
import type { NodeIdentity } from "../ports/identity.ts";
import type { KnownTrustRoot } from "../membership/known-trust-root.ts";
import { authUnder } from "../membership/own-keys.ts";
import type { PromiseKeeper } from "../promises/promises.ts";

/** Followers get this node's progress at most this often; a leader gets it with every acknowledgement. */
const TOLD_TO_ALL_EVERY_MS = 100;

export interface OwnHelloOptions {
  readonly clock: TimerClock;
  readonly identity: NodeIdentity;
  readonly known: KnownTrustRoot;
  readonly promises: PromiseKeeper;
  /** 16 bytes. */
  readonly lifeId: Uint8Array;
  /** Epoch of the group. */
  readonly epoch: () => number;
  /** The highest rules that this node lets the cluster raise to. */
  readonly rulesMax: () => number;
  /** Mark of a restored group. */
  readonly mark: () => Pick<Hello, "restoredFrom">;
  /** null: nobody, or this node itself. */
  readonly leader: () => string | null;
  readonly sendTo: (nodeId: string, progress: SignedProgress) => void;
  readonly broadcast: (progress: SignedProgress) => void;
}

/**
 * What this node says about itself: every promise that a peer might remember better, and its log's progress, signed.
 */
export class OwnHello {
  readonly #options: OwnHelloOptions;
  #signed: { readonly progress: SignedProgress; readonly by: Uint8Array } | null = null;
  #telling: Timer | null = null;

  constructor(options: OwnHelloOptions) {
    this.#options = options;
  }

  hello(): Hello {
    const { identity, known, promises, rulesMax, mark } = this.#options;
    const { signedHeads } = promises.current;
    return {
      nodeId: identity.nodeId,
      clusterId: identity.clusterId,
      progress: this.progress(),
      signed: [...signedHeads.values()].map(({ originFingerprint, treeSize, rootHash }) => ({
        originFingerprint,
        treeSize,
        rootHash,
      })),
      trustRootVersion: known.newest.version,
      rulesMax: rulesMax(),
      ...mark(),
    };
  }

  /** The furthest that the log has ever reached; signed once for each advance, and again after a key change. */
  progress(): SignedProgress {
    const { identity, known, promises, lifeId, epoch } = this.#options;
    const { reached, incarnation } = promises.current;
    const progress: Progress = { epoch: epoch(), incarnation, lifeId, term: reached.term, index: reached.index };
    const by = authUnder(identity, known.newest) ?? identity.authSigner;
    const signed = this.#signed;
    if (signed !== null && equalBytes(signed.by, by.publicKey) && isSame(signed.progress, progress)) {
      return signed.progress;
    }
    const signature = by.sign(progressSignedBytes(identity, progress));
    this.#signed = { progress: { ...progress, signature }, by: by.publicKey };
    return this.#signed.progress;
  }

  /**
   * The log has grown on disk, and the growth is not acknowledged yet. The leader gets the signed progress first, on
   * the lane that the acknowledgement will take: so it never counts an acknowledgement that it could not prove.
   */
  onDurable(): void {
    const { clock, leader, sendTo, broadcast } = this.#options;
    const leaderId = leader();
    if (leaderId !== null) sendTo(leaderId, this.progress());
    this.#telling ??= clock.startTimer(TOLD_TO_ALL_EVERY_MS, () => {
      this.#telling = null;
      broadcast(this.progress());
    });
  }

  close(): void {
    this.#telling?.cancel();
  }
}

function isSame(left: Progress, right: Progress): boolean {
  return left.epoch === right.epoch && left.term === right.term && left.index === right.index;
}
