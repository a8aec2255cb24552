import type { PeerCosignature } from "@event-anchoring/control-contract";
import { type Certificate, type Cosignature, type LedgerState, type OriginState } from "@event-anchoring/ledger";
import type { Signer } from "@event-anchoring/node-crypto";
import { type Crypto, type OriginFingerprint, type TrustRoot, bytesToHex, equalBytes } from "@event-anchoring/protocol";
import { isActive, isGoodCosignature, judgingRoot, signHead } from "../signatures/certificates.ts";
import type { Comparison } from "./comparison.ts";
import type { CosignatureExchange } from "./cosignature-exchange.ts";
import { heldCertificate } from "./held-certificate.ts";
import { OriginCertification, type OwnPoint } from "./origin-certification.ts";
import type { Clock, Logger } from "@event-anchoring/telemetry";
import type { SignedHead } from "../promises/promise-file.ts";
import type { RaftIndex, Term } from "raft-ts";

export interface HeldCertificate extends Certificate {
  readonly certifiedAtS: number;
  /** The whole signed note. It is made, and its log line signed, on first use. */
  readonly checkpoint: () => string;
  readonly trustRootVersion: number;
  /** The log index at which this node reached the size; 0 if that was before this session. */
  readonly raftIndex: RaftIndex;
}

/** The end of an entry with the certify bit: the head that this node signs, if it signs. */
export interface CertifyPoint {
  readonly raftIndex: RaftIndex;
  readonly raftTerm: Term;
  /** The effect chain at this point; sent along, so that diverging nodes are noticed. */
  readonly effect: Uint8Array;
  /** The entry appended no leaf: a leader asks for uncovered cosignatures to be rebroadcast. */
  readonly isEmpty: boolean;
}

export interface CertifierOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly crypto: Crypto;
  readonly state: LedgerState;
  readonly nodeId: string;
  /** This node's key under this trust root; null: the key is not here, so nothing under that root is signed. */
  readonly cosignerUnder: (root: TrustRoot) => Signer | null;
  readonly logSignerOf: (origin: OriginFingerprint) => Signer;
  readonly promises: {
    headOf(origin: OriginFingerprint): SignedHead | null;
    promiseHeads(heads: readonly SignedHead[]): Promise<void>;
  };
  /** Whether this node is active in the trust root and a voter: only then does it sign. */
  readonly maySign: () => boolean;
  /** Sends own cosignatures to those who need them. */
  readonly exchange: Pick<CosignatureExchange, "send" | "ask">;
  /** To one peer that asks for them. */
  readonly sendTo: (nodeId: string, items: readonly PeerCosignature[]) => void;
  /** A head was reached over which too few cosignatures are in hand. */
  readonly onUncovered: () => void;
  /** Enough cosignatures over an own head are in hand, verified or not. */
  readonly onCosigned: () => void;
  readonly onCertificate: (certificate: HeldCertificate) => void;
  /** Compares what all nodes sign with this node's own roots. */
  readonly comparison: Pick<Comparison, "onOwn" | "onPeer" | "onCertificate" | "isNamed" | "isStopped" | "withholds">;
  /** A peer's cosignature does not verify with its key. It is dropped, and not verified again. */
  readonly onRefused?: (from: string) => void;
  /** The promise file holds another root for a size than this node's tree has: it forgot. */
  readonly onForgotten: (detail: string) => void;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Turns certify points into quorum certificates.
 *
 * Invariants: a cosignature leaves only after the promise file holds its head; never for a smaller size than promised,
 * never for another root of a promised size. A certificate counts distinct active nodes whose signature over *this
 * node's own* root was verified here.
 *
 * A cosignature of a peer is verified when somebody on this node waits for a certificate, when the leader records it,
 * and otherwise five times a second for the newest head of each origin: verifications were two thirds of what an
 * entry's certification cost. Roots are always compared at once.
 */
export class Certifier {
  readonly #options: CertifierOptions;
  readonly #origins = new Map<string, OriginCertification>();
  #toSign: OwnPoint[] = [];
  #isSigning = false;
  #isClosed = false;

  constructor(options: CertifierOptions) {
    this.#options = options;
  }

  heldOf(origin: OriginFingerprint): HeldCertificate | null {
    return this.#of(origin).held;
  }

  /** Nothing in the origin is certified until a trust root decides which certificate is right. */
  isStopped(origin: OriginFingerprint): boolean {
    return this.#options.comparison.isStopped(origin);
  }

  /** The end of an entry with the certify bit, already advanced into the state. */
  onCertifyPoint(point: CertifyPoint): void {
    const grown = this.#all().filter(
      ([origin, certification]) => this.#isOpen(origin) && this.#reach(origin, certification, point),
    );
    // The promise is on its way to the disk while peers' signatures are verified.
    void this.#signWaiting();
    for (const [origin, certification] of grown) this.#weigh(origin, certification, origin.tree.size);
  }

  /** Cosignatures from an authenticated peer; they are not trusted before they are verified. */
  onCosignatures(from: string, items: readonly PeerCosignature[], asks: boolean): void {
    // This node's own signature must not count twice: a clone may send it, or a node that is set up as its own peer.
    if (from === this.#options.nodeId) return;
    for (const item of items) {
      const origin = this.#options.state.origins.get(bytesToHex(item.originFingerprint));
      if (origin === undefined || origin.status === "lost") continue;
      const certification = this.#of(item.originFingerprint);
      this.#options.comparison.onPeer(from, item);
      const { lastOwn } = certification;
      if (asks && lastOwn !== null && lastOwn.treeSize >= item.treeSize) this.#options.sendTo(from, [lastOwn]);
      if (item.treeSize <= certification.coveredSize) continue;
      certification.offer(from, item);
      this.#weigh(origin, certification, item.treeSize);
    }
  }

  /** A certificate that the log records, verified by `decide`; called before the state drops what it covers. */
  onRecorded(certificate: Certificate): void {
    const origin = this.#options.state.origins.get(bytesToHex(certificate.originFingerprint));
    if (origin === undefined) return;
    this.#options.comparison.onCertificate(certificate);
    const certification = this.#of(certificate.originFingerprint);
    certification.recorded = this.#asHeld(origin, certificate);
    this.#hold(origin, certification, certification.recorded);
  }

  /** Another version of the trust root is in force: origins that it marks lost are not certified any more. */
  onTrustRoot(): void {
    for (const { originFingerprint, status } of this.#options.state.origins.values()) {
      if (status === "lost") this.#of(originFingerprint).lose();
    }
  }

  /** An origin is released: its certificates are completed, and their waiters are answered. */
  onReleased(originFingerprint: OriginFingerprint): void {
    const origin = this.#options.state.origins.get(bytesToHex(originFingerprint));
    if (origin === undefined || this.#isClosed) return;
    const certification = this.#of(originFingerprint);
    for (const point of certification.points.values()) {
      this.#signLater(point);
      this.#weigh(origin, certification, point.treeSize);
    }
    certification.answerWaiters((treeSize) => this.#withholds(origin, treeSize));
    void this.#signWaiting();
  }

  /**
   * Calls `covered` with a certificate of at least that size; at once if one is held, or can be made of what is in
   * hand. Returns a function that cancels.
   */
  whenCovered(
    origin: OriginFingerprint,
    treeSize: number,
    covered: (certificate: HeldCertificate) => void,
  ): () => void {
    const certification = this.#of(origin);
    this.#certify(origin, treeSize);
    const isCovered = certification.held !== null && certification.held.treeSize >= treeSize;
    if (certification.held !== null && isCovered && !this.#options.comparison.withholds(origin, treeSize)) {
      covered(certification.held);
      return () => {};
    }
    const waiter = { treeSize, covered };
    certification.waiters.add(waiter);
    return () => certification.waiters.delete(waiter);
  }

  /** Calls `cosigned` once enough cosignatures of at least that size are in hand, verified or not: for measuring. */
  whenCosigned(origin: OriginFingerprint, treeSize: number, cosigned: () => void): void {
    const certification = this.#of(origin);
    certification.watchers.add({ treeSize, cosigned });
    certification.answerWatchers();
  }

  /** The newest size of the origin for which enough cosignatures are in hand, verified or not. */
  cosignedSizeOf(origin: OriginFingerprint): number {
    return this.#of(origin).cosignedSize;
  }

  /** Makes a certificate of the newest head of each origin for which enough cosignatures are in hand. */
  certifyNewest(): void {
    for (const [{ originFingerprint }, { coveredSize, cosignedSize }] of this.#all()) {
      if (coveredSize < cosignedSize) this.#certify(originFingerprint, coveredSize + 1);
    }
  }

  /** The newest own cosignature per origin: for a peer that has connected, and after a change of leader. */
  newestOwn(): readonly PeerCosignature[] {
    return [...this.#origins.values()].flatMap(({ lastOwn }) => (lastOwn === null ? [] : [lastOwn]));
  }

  /**
   * Asks all members for their cosignatures where too few are in hand after `afterMs`: they may have been lost with a
   * connection, or the leader may keep them back. If this node was not entitled to sign when it passed the newest
   * point, and is now, it signs it.
   */
  resendUncovered(afterMs: number): void {
    const before = this.#options.clock.monotonicMs() - afterMs;
    const stale = [...this.#origins.values()].filter(({ oldest }) => {
      if (oldest === undefined || this.#options.comparison.isStopped(oldest.originFingerprint)) return false;
      return oldest.reachedMs <= before;
    });
    const items = stale.flatMap(({ lastOwn }) => (lastOwn === null ? [] : [lastOwn]));
    if (items.length > 0) this.#options.exchange.ask(items);
    for (const { points } of stale) {
      const newest = [...points.values()].at(-1);
      if (newest?.cosignature === null) this.#signLater(newest);
    }
    if (this.#toSign.length > 0) void this.#signWaiting();
  }

  /** Whether too few cosignatures of a head are in hand. */
  get hasUncovered(): boolean {
    for (const { oldest } of this.#origins.values()) if (oldest !== undefined) return true;
    return false;
  }

  /** Enough cosignatures are in hand of all heads that entries up to this one have reached; Infinity: of every head. */
  get cosignedTo(): RaftIndex {
    let to = Number.POSITIVE_INFINITY;
    for (const [origin, { oldest }] of this.#all()) {
      if (oldest !== undefined && this.#isOpen(origin)) to = Math.min(to, oldest.raftIndex - 1);
    }
    return to;
  }

  /** Leaves over which too few cosignatures are in hand, and for how long the oldest certify point has waited. */
  uncovered(): { readonly leaves: number; readonly oldestMs: number } {
    const now = this.#options.clock.monotonicMs();
    let leaves = 0;
    let oldestMs = 0;
    for (const [origin, certification] of this.#all()) {
      if (!this.#isOpen(origin)) continue;
      leaves += origin.tree.size - certification.cosignedSize;
      const { oldest } = certification;
      if (oldest !== undefined) oldestMs = Math.max(oldestMs, now - oldest.reachedMs);
    }
    return { leaves, oldestMs };
  }

  close(): void {
    this.#isClosed = true;
    this.#toSign = [];
    for (const { waiters, watchers } of this.#origins.values()) {
      waiters.clear();
      watchers.clear();
    }
  }

  /** Returns whether the point is a new head of the origin. */
  #reach({ originFingerprint, tree }: OriginState, certification: OriginCertification, point: CertifyPoint): boolean {
    if (tree.size <= certification.coveredSize) return false;
    const known = certification.points.get(tree.size);
    if (known !== undefined) {
      if (known.cosignature === null) this.#signLater(known);
      else if (point.isEmpty) this.#options.exchange.ask([known.cosignature]);
      return false;
    }
    const own: OwnPoint = {
      ...point,
      originFingerprint,
      treeSize: tree.size,
      rootHash: tree.rootAt(tree.size),
      reachedMs: this.#options.clock.monotonicMs(),
      isToBeSigned: false,
      timeS: 0,
      cosignature: null,
    };
    certification.points.set(own.treeSize, own);
    for (const [nodeId, offer] of certification.offers.get(own.treeSize) ?? []) {
      this.#options.comparison.onPeer(nodeId, offer);
    }
    this.#signLater(own);
    this.#options.onUncovered();
    return true;
  }

  #signLater(point: OwnPoint): void {
    if (point.isToBeSigned || !this.#maySign(point)) return;
    point.isToBeSigned = true;
    this.#toSign.push(point);
  }

  #maySign(point: OwnPoint): boolean {
    if (!this.#options.maySign() || this.#cosignerOf(point) === null) return false;
    const promised = this.#options.promises.headOf(point.originFingerprint);
    if (promised === null) return true;
    if (promised.treeSize > point.treeSize) return false;
    const own = promised.treeSize === point.treeSize ? point.rootHash : this.#rootAt(promised);
    if (own === null || equalBytes(promised.rootHash, own)) return true;
    this.#options.onForgotten(`root of size ${promised.treeSize} is not the one that was signed`);
    return false;
  }

  /**
   * This node's root of a size that it has promised; null: too old to be known. A promise that was regained from a peer
   * may be of a size at which this node has never stopped.
   */
  #rootAt({ originFingerprint, treeSize }: SignedHead): Uint8Array | null {
    const { lastOwn } = this.#of(originFingerprint);
    if (lastOwn?.treeSize === treeSize) return lastOwn.rootHash;
    const tree = this.#options.state.origins.get(bytesToHex(originFingerprint))?.tree;
    return tree === undefined || treeSize < Math.max(1, tree.base) ? null : tree.rootAt(treeSize);
  }

  /** Promises everything that waits in one write, then signs it in order. */
  async #signWaiting(): Promise<void> {
    if (this.#isSigning) return;
    this.#isSigning = true;
    try {
      while (this.#toSign.length > 0) {
        const points = this.#takeToSign();
        if (points.length === 0) continue;
        await this.#options.promises.promiseHeads(this.#newestHeads(points));
        if (this.#isClosed) return;
        this.#signAll(points);
      }
    } catch (error) {
      if (!this.#isClosed) this.#options.onFailure(error);
    } finally {
      this.#isSigning = false;
    }
  }

  /**
   * In the order of their sizes: one that was held back may have been queued behind a larger one. Without those that
   * may not be signed any more: meanwhile a larger head may have been taken back.
   */
  #takeToSign(): readonly OwnPoint[] {
    const waiting = this.#toSign;
    this.#toSign = [];
    for (const point of waiting) point.isToBeSigned = this.#maySign(point);
    return waiting.filter(({ isToBeSigned }) => isToBeSigned).sort((left, right) => left.treeSize - right.treeSize);
  }

  /** The last point of an origin is its largest, whose promise covers the others. */
  #newestHeads(points: readonly OwnPoint[]): SignedHead[] {
    const newest = new Map<string, SignedHead>();
    for (const point of points) {
      const { originFingerprint, treeSize, rootHash, raftIndex, raftTerm } = point;
      const timeS = this.#timeFor(this.#of(originFingerprint));
      point.timeS = timeS;
      newest.set(bytesToHex(originFingerprint), { originFingerprint, treeSize, rootHash, raftIndex, raftTerm, timeS });
    }
    return [...newest.values()];
  }

  /** Own cosignatures leave before any of a peer is verified. */
  #signAll(points: readonly OwnPoint[]): void {
    const signed = points.flatMap((point) => this.#sign(point) ?? []);
    if (signed.length > 0) this.#options.exchange.send(signed);
    for (const { originFingerprint, treeSize } of signed) {
      const origin = this.#options.state.origins.get(bytesToHex(originFingerprint));
      if (origin !== undefined) this.#weigh(origin, this.#of(originFingerprint), treeSize);
    }
  }

  /** Only what the promise file holds; null without the key for it. */
  #sign(point: OwnPoint): PeerCosignature | null {
    const { originFingerprint, treeSize, rootHash, timeS, raftIndex, effect } = point;
    const root = judgingRoot(this.#options.state, originFingerprint, treeSize);
    const cosigner = this.#cosignerOf(point);
    if (cosigner === null) {
      point.isToBeSigned = false;
      return null;
    }
    const signature = signHead(root, originFingerprint, point, timeS, cosigner);
    const cosignature = { originFingerprint, treeSize, rootHash, timeS, signature, raftIndex, effect };
    point.cosignature = cosignature;
    this.#of(originFingerprint).lastOwn = cosignature;
    this.#options.comparison.onOwn(cosignature);
    return cosignature;
  }

  /** Time never goes back for an origin, whatever the clock does. */
  #timeFor(certification: OriginCertification): number {
    const nowS = Math.floor(this.#options.clock.wallMs() / 1000);
    certification.lastTimeS = Math.max(nowS, certification.lastTimeS);
    return certification.lastTimeS;
  }

  /** A cosignature more is in hand: the head is certified if that is enough, and if anybody waits for it. */
  #weigh(origin: OriginState, certification: OriginCertification, treeSize: number): void {
    const point = certification.points.get(treeSize);
    if (point === undefined || this.#withholds(origin, treeSize) || !this.#isCosigned(certification, point)) return;
    const isNews = treeSize > certification.cosignedSize;
    certification.noteCosigned(treeSize);
    if (certification.isAwaited(treeSize)) this.#complete(origin, certification, point);
    if (isNews) this.#options.onCosigned();
  }

  /** Makes a certificate of that size at least, of what is in hand: the newest that is possible. */
  #certify(originFingerprint: OriginFingerprint, treeSize: number): void {
    const certification = this.#of(originFingerprint);
    const origin = this.#options.state.origins.get(bytesToHex(originFingerprint));
    if (origin === undefined || this.#isClosed || treeSize > certification.cosignedSize) return;
    for (const point of [...certification.points.values()].reverse()) {
      if (point.treeSize < treeSize || treeSize <= certification.coveredSize) return;
      const mayBe = this.#isCosigned(certification, point) && !this.#withholds(origin, point.treeSize);
      if (mayBe) this.#complete(origin, certification, point);
    }
  }

  /** Whether enough distinct active nodes say that they have signed this node's own root. */
  #isCosigned(certification: OriginCertification, point: OwnPoint): boolean {
    const root = judgingRoot(this.#options.state, point.originFingerprint, point.treeSize);
    return this.#inHand(root, certification, point).length >= root.quorum;
  }

  /** This node's cosignature, which is good, and those of peers, which have to be verified. */
  #inHand(root: TrustRoot, certification: OriginCertification, point: OwnPoint): readonly Cosignature[] {
    const { nodeId: self, comparison } = this.#options;
    const inHand: Cosignature[] = [];
    if (point.cosignature !== null && isActive(root, self)) inHand.push({ nodeId: self, ...point.cosignature });
    for (const [nodeId, { rootHash, timeS, signature }] of certification.offers.get(point.treeSize) ?? []) {
      const counts = isActive(root, nodeId) && !comparison.isNamed(root, nodeId);
      if (counts && equalBytes(rootHash, point.rootHash)) inHand.push({ nodeId, timeS, signature });
    }
    return inHand;
  }

  /** A certificate, if enough distinct active nodes have signed this node's own root. No more are verified. */
  #complete(origin: OriginState, certification: OriginCertification, point: OwnPoint): void {
    const { originFingerprint, treeSize, rootHash } = point;
    const root = judgingRoot(this.#options.state, originFingerprint, treeSize);
    const cosignatures: Cosignature[] = [];
    for (const cosignature of this.#inHand(root, certification, point)) {
      if (cosignatures.length >= root.quorum) break;
      const { nodeId } = cosignature;
      if (nodeId === this.#options.nodeId || this.isGood(root, point, cosignature)) cosignatures.push(cosignature);
      else {
        certification.offers.get(treeSize)?.delete(nodeId);
        this.#options.onRefused?.(nodeId);
      }
    }
    if (cosignatures.length >= root.quorum) {
      this.#hold(origin, certification, this.#asHeld(origin, { originFingerprint, treeSize, rootHash, cosignatures }));
      return;
    }
    certification.recountCosigned((each) => this.#isCosigned(certification, each));
    this.#options.onUncovered();
  }

  /** Whether a peer's cosignature of this node's own head verifies. */
  isGood(root: TrustRoot, point: OwnPoint, cosignature: Cosignature): boolean {
    return isGoodCosignature(root, point.originFingerprint, point, cosignature, this.#options.crypto);
  }

  #hold(origin: OriginState, certification: OriginCertification, held: HeldCertificate): void {
    if (held.treeSize <= certification.coveredSize) return;
    certification.hold(held);
    certification.answerWaiters((treeSize) => this.#withholds(origin, treeSize));
    this.#options.onCertificate(held);
  }

  #asHeld({ originFingerprint }: OriginState, certificate: Certificate): HeldCertificate {
    const { state, crypto, logSignerOf } = this.#options;
    const root = judgingRoot(state, originFingerprint, certificate.treeSize);
    const raftIndex = this.#of(originFingerprint).points.get(certificate.treeSize)?.raftIndex ?? 0;
    return heldCertificate(root, certificate, logSignerOf(originFingerprint), crypto.sha256, raftIndex);
  }

  /** Neither lost nor stopped: a certificate of such an origin may exist that contradicts this tree. */
  #isOpen({ originFingerprint, status }: OriginState): boolean {
    return status !== "lost" && !this.#options.comparison.isStopped(originFingerprint);
  }

  /** Null: the key is not here, or the origin is not signed any more. */
  #cosignerOf({ originFingerprint, treeSize }: OwnPoint): Signer | null {
    if (this.#options.state.origins.get(bytesToHex(originFingerprint))?.status === "lost") return null;
    return this.#options.cosignerUnder(judgingRoot(this.#options.state, originFingerprint, treeSize));
  }

  #withholds({ originFingerprint }: OriginState, treeSize: number): boolean {
    return this.#options.comparison.withholds(originFingerprint, treeSize);
  }

  /** Every origin of the state: one for each node that the cluster ever had. */
  #all(): readonly (readonly [OriginState, OriginCertification])[] {
    return [...this.#options.state.origins].map(([key, origin]) => [origin, this.#of(origin.originFingerprint, key)]);
  }

  #of(origin: OriginFingerprint, key = bytesToHex(origin)): OriginCertification {
    const known = this.#origins.get(key);
    if (known !== undefined) return known;
    const lastTimeS = this.#options.promises.headOf(origin)?.timeS ?? 0;
    const created = new OriginCertification(lastTimeS);
    this.#origins.set(key, created);
    return created;
  }
}
