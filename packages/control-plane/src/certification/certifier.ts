import type { PeerCosignature } from "@event-anchoring/control-contract";
import {
  type Certificate,
  type Cosignature,
  type LedgerState,
  type OriginState,
  trustRootVersionAt,
  trustRootsOf,
} from "@event-anchoring/ledger";
import type { Signer } from "@event-anchoring/node-crypto";
import { type Crypto, type OriginFingerprint, type TrustRoot, bytesToHex, equalBytes } from "@event-anchoring/protocol";
import { certificateNote, certifiedAtS, isActive, isGoodCosignature, signHead } from "./certificates.ts";
import type { Clock, Logger } from "../environment.ts";
import type { SignedHead } from "../promises/promise-file.ts";

/** Cosignatures of one peer that wait for this node to reach their size, per origin; the oldest go first. */
const OFFERS_PER_PEER_MAX = 256;
/** Covered heads remembered per origin, to compare what peers say of them. */
const PASSED_POINTS_MAX = 256;

export interface HeldCertificate extends Certificate {
  readonly certifiedAtS: number;
  /** The whole signed note; made, and its log line signed, when it is first shown. */
  readonly checkpoint: () => string;
  readonly trustRootVersion: number;
  /** The log index at which this node reached the size; 0 if that was before this session. */
  readonly raftIndex: number;
}

/** Where an entry with the certify bit ended: what this node signs, if it signs. */
export interface CertifyPoint {
  readonly raftIndex: number;
  readonly raftTerm: number;
  /** The effect chain there; sent along, so that nodes that differ notice. */
  readonly effect: Uint8Array;
  /** The entry appended no leaf: a new leader asks for what is signed and uncovered to be said again. */
  readonly isEmpty: boolean;
}

export interface CertifierOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly crypto: Crypto;
  readonly state: LedgerState;
  readonly nodeId: string;
  /** The key that this trust root names; null: it is not here, and nothing that it judges is signed. */
  readonly cosignerUnder: (root: TrustRoot) => Signer | null;
  readonly logSignerOf: (origin: OriginFingerprint) => Signer;
  readonly promises: {
    headOf(origin: OriginFingerprint): SignedHead | null;
    promiseHeads(heads: readonly SignedHead[]): Promise<void>;
  };
  /** Whether this node is active in the trust root and a voter: only then does it sign. */
  readonly maySign: () => boolean;
  readonly broadcast: (items: readonly PeerCosignature[]) => void;
  /** To one peer, which has shown that it lacks them. */
  readonly sendTo: (nodeId: string, items: readonly PeerCosignature[]) => void;
  readonly onCertificate: (certificate: HeldCertificate) => void;
  /** A peer's signature that contradicts this node's own tree or effect chain. */
  readonly onContradiction: (from: string, detail: string) => void;
  /** A peer's cosignature that its key has not made. It is forgotten, and not verified again. */
  readonly onRefused?: (from: string) => void;
  /** The promise file holds another root for a size than this node's tree has: it forgot. */
  readonly onForgotten: (detail: string) => void;
  readonly onFailure: (error: unknown) => void;
}

interface OwnPoint extends CertifyPoint {
  readonly originFingerprint: OriginFingerprint;
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
  readonly reachedMs: number;
  /** On its way to the promise file, or there. A point where this node might not sign may become one where it may. */
  isToBeSigned: boolean;
  /** The time that was promised with it; 0 before. */
  timeS: number;
  /** Set once promised and signed. */
  cosignature: PeerCosignature | null;
}

interface CoverageWaiter {
  readonly treeSize: number;
  readonly covered: (certificate: HeldCertificate) => void;
}

interface OriginCertification {
  held: HeldCertificate | null;
  /** Own heads above the held certificate, by size, ascending. */
  readonly points: Map<number, OwnPoint>;
  /** The newest own heads that are covered: a peer that differs is noticed also when its signature was not needed. */
  readonly passed: Map<number, OwnPoint>;
  /** Cosignatures of peers above the held certificate, by size and node; not verified before they are counted. */
  readonly offers: Map<number, Map<string, PeerCosignature>>;
  readonly waiters: Set<CoverageWaiter>;
  lastOwn: PeerCosignature | null;
  /** The newest head that was promised and not signed, because a certificate came first. */
  unsigned: OwnPoint | null;
  /** The newest covered size that each peer still spoke of. */
  readonly lateSizes: Map<string, number>;
  lastTimeS: number;
}

/**
 * Turns certify points into quorum certificates.
 *
 * Invariants: a cosignature leaves only after the promise file holds its head; never for a smaller size than promised,
 * never for another root of a promised size. A certificate counts distinct active nodes whose signature over *this
 * node's own* root was verified here.
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

  /** The end of an entry with the certify bit, already advanced into the state. */
  onCertifyPoint(point: CertifyPoint): void {
    for (const origin of this.#options.state.origins.values()) {
      // Of a lost one somebody may hold a certificate that this tree does not lead to: it is signed no more.
      if (origin.status !== "lost") this.#reach(origin, point);
    }
    void this.#signWaiting();
  }

  /** Cosignatures from an authenticated peer; what they claim is not trusted before it is verified. */
  onCosignatures(from: string, items: readonly PeerCosignature[]): void {
    // The own signature must not count twice, whoever brings it: a clone, or a node that is set up as its own peer.
    if (from === this.#options.nodeId) return;
    for (const item of items) {
      const origin = this.#options.state.origins.get(bytesToHex(item.originFingerprint));
      if (origin === undefined) continue;
      const certification = this.#of(item.originFingerprint);
      const own = certification.points.get(item.treeSize) ?? certification.passed.get(item.treeSize);
      if (own !== undefined) this.#compare(from, item, own);
      if (item.treeSize <= (certification.held?.treeSize ?? 0)) {
        this.#onLate(origin, certification, from, item.treeSize);
        continue;
      }
      const offers = certification.offers.get(item.treeSize) ?? new Map<string, PeerCosignature>();
      certification.offers.set(item.treeSize, offers.set(from, item));
      this.#bound(certification, from);
      this.#complete(origin, certification, item.treeSize);
    }
  }

  /** A certificate that the log records, judged by `decide`; called before the state forgets what it covers. */
  onRecorded(certificate: Certificate): void {
    const origin = this.#options.state.origins.get(bytesToHex(certificate.originFingerprint));
    if (origin !== undefined) this.#hold(origin, this.#of(certificate.originFingerprint), certificate);
  }

  /** Calls `covered` with a certificate of at least that size; at once if one is held. Returns how to stop waiting. */
  whenCovered(
    origin: OriginFingerprint,
    treeSize: number,
    covered: (certificate: HeldCertificate) => void,
  ): () => void {
    const certification = this.#of(origin);
    if (certification.held !== null && certification.held.treeSize >= treeSize) {
      covered(certification.held);
      return () => {};
    }
    const waiter = { treeSize, covered };
    certification.waiters.add(waiter);
    return () => certification.waiters.delete(waiter);
  }

  /** The newest own cosignature per origin: for a peer that has connected, and after a change of leader. */
  newestOwn(): readonly PeerCosignature[] {
    return [...this.#origins.values()].flatMap(({ lastOwn }) => (lastOwn === null ? [] : [lastOwn]));
  }

  /**
   * Says again what is not certified after `afterMs`: the first telling may have been lost with a connection. A node
   * that was not entitled to sign when it passed the newest point, and is now, signs it.
   */
  resendUncovered(afterMs: number): void {
    const before = this.#options.clock.monotonicMs() - afterMs;
    const stale = [...this.#origins.values()].filter((certification) => {
      const oldest = certification.points.values().next().value;
      return oldest !== undefined && oldest.reachedMs <= before;
    });
    const items = stale.flatMap(({ lastOwn }) => (lastOwn === null ? [] : [lastOwn]));
    if (items.length > 0) this.#options.broadcast(items);
    for (const { points } of stale) {
      const newest = [...points.values()].at(-1);
      if (newest?.cosignature === null) this.#signLater(newest);
    }
    if (this.#toSign.length > 0) void this.#signWaiting();
  }

  /** Leaves that no held certificate covers, and for how long the oldest certify point has waited. */
  uncovered(): { readonly leaves: number; readonly oldestMs: number } {
    const now = this.#options.clock.monotonicMs();
    let leaves = 0;
    let oldestMs = 0;
    for (const origin of this.#options.state.origins.values()) {
      if (origin.status === "lost") continue;
      const certification = this.#of(origin.originFingerprint);
      leaves += origin.tree.size - (certification.held?.treeSize ?? 0);
      const oldest = certification.points.values().next().value;
      if (oldest !== undefined) oldestMs = Math.max(oldestMs, now - oldest.reachedMs);
    }
    return { leaves, oldestMs };
  }

  close(): void {
    this.#isClosed = true;
    this.#toSign = [];
    for (const certification of this.#origins.values()) certification.waiters.clear();
  }

  #reach(origin: OriginState, point: CertifyPoint): void {
    const { originFingerprint, tree } = origin;
    const certification = this.#of(originFingerprint);
    if (tree.size <= (certification.held?.treeSize ?? 0)) return;
    const known = certification.points.get(tree.size);
    if (known !== undefined) {
      if (known.cosignature === null) this.#signLater(known);
      else if (point.isEmpty) this.#options.broadcast([known.cosignature]);
      return;
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
    for (const [nodeId, offer] of certification.offers.get(own.treeSize) ?? []) this.#compare(nodeId, offer, own);
    this.#signLater(own);
    this.#complete(origin, certification, own.treeSize);
  }

  /** A larger size may have been promised since; then no smaller one is signed any more. */
  #isNewestPromise({ originFingerprint, treeSize }: OwnPoint): boolean {
    return this.#options.promises.headOf(originFingerprint)?.treeSize === treeSize;
  }

  #signLater(point: OwnPoint): void {
    if (point.isToBeSigned || !this.#maySign(point)) return;
    point.isToBeSigned = true;
    this.#toSign.push(point);
  }

  /**
   * A cosignature of a size that is covered here. The first one is merely late. A peer that says it again has no
   * certificate yet: ours got lost on the way, or was never made, and without it that peer may wait forever.
   */
  #onLate(origin: OriginState, certification: OriginCertification, from: string, treeSize: number): void {
    if (certification.lateSizes.get(from) !== treeSize) {
      certification.lateSizes.set(from, treeSize);
      return;
    }
    // Every second one is answered: two nodes that hold a certificate cannot keep each other talking.
    certification.lateSizes.delete(from);
    const { unsigned } = certification;
    const isMissing = (certification.lastOwn?.treeSize ?? 0) < treeSize;
    if (isMissing && unsigned !== null && unsigned.treeSize >= treeSize && this.#isNewestPromise(unsigned)) {
      this.#sign(origin, unsigned);
    }
    const { lastOwn } = certification;
    if (lastOwn !== null && lastOwn.treeSize >= treeSize) this.#options.sendTo(from, [lastOwn]);
  }

  #maySign(point: OwnPoint): boolean {
    if (!this.#options.maySign() || this.#cosignerOf(point) === null) return false;
    const promised = this.#options.promises.headOf(point.originFingerprint);
    if (promised === null || promised.treeSize < point.treeSize) return true;
    if (promised.treeSize > point.treeSize) return false;
    if (equalBytes(promised.rootHash, point.rootHash)) return true;
    this.#options.onForgotten(`root of size ${point.treeSize} is not the one that was signed`);
    return false;
  }

  /** Promises everything that waits in one write, then signs it in order. */
  async #signWaiting(): Promise<void> {
    if (this.#isSigning) return;
    this.#isSigning = true;
    try {
      while (this.#toSign.length > 0) {
        const points = this.#toSign;
        this.#toSign = [];
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

  #signAll(points: readonly OwnPoint[]): void {
    const signed: PeerCosignature[] = [];
    for (const point of points) {
      const origin = this.#options.state.origins.get(bytesToHex(point.originFingerprint));
      const certification = this.#of(point.originFingerprint);
      if (origin === undefined) continue;
      if (point.treeSize <= (certification.held?.treeSize ?? 0)) certification.unsigned = point;
      else {
        const cosignature = this.#sign(origin, point);
        if (cosignature !== null) signed.push(cosignature);
      }
    }
    if (signed.length > 0) this.#options.broadcast(signed);
    for (const { originFingerprint, treeSize } of signed) {
      const origin = this.#options.state.origins.get(bytesToHex(originFingerprint));
      if (origin !== undefined) this.#complete(origin, this.#of(originFingerprint), treeSize);
    }
  }

  /** Only what the promise file holds; null without the key for it. */
  #sign(origin: OriginState, point: OwnPoint): PeerCosignature | null {
    const { originFingerprint, treeSize, rootHash, timeS, raftIndex, effect } = point;
    const root = this.#judge(origin, treeSize);
    const cosigner = this.#options.cosignerUnder(root);
    if (cosigner === null) {
      point.isToBeSigned = false;
      return null;
    }
    const signature = signHead(root, originFingerprint, point, timeS, cosigner);
    const cosignature = { originFingerprint, treeSize, rootHash, timeS, signature, raftIndex, effect };
    point.cosignature = cosignature;
    this.#of(originFingerprint).lastOwn = cosignature;
    return cosignature;
  }

  /** Time never goes back for an origin, whatever the clock does. */
  #timeFor(certification: OriginCertification): number {
    const nowS = Math.floor(this.#options.clock.wallMs() / 1000);
    certification.lastTimeS = Math.max(nowS, certification.lastTimeS);
    return certification.lastTimeS;
  }

  /** A certificate, once enough distinct active nodes signed this node's own root. */
  #complete(origin: OriginState, certification: OriginCertification, treeSize: number): void {
    const point = certification.points.get(treeSize);
    if (point === undefined) return;
    const root = this.#judge(origin, treeSize);
    const cosignatures: Cosignature[] = [];
    const { nodeId: self } = this.#options;
    if (point.cosignature !== null && isActive(root, self)) cosignatures.push({ nodeId: self, ...point.cosignature });
    for (const [nodeId, offer] of certification.offers.get(treeSize) ?? []) {
      if (cosignatures.length >= root.quorum) break;
      if (!equalBytes(offer.rootHash, point.rootHash)) continue;
      const cosignature = { nodeId, timeS: offer.timeS, signature: offer.signature };
      if (isGoodCosignature(root, origin.originFingerprint, point, cosignature, this.#options.crypto)) {
        cosignatures.push(cosignature);
      } else {
        certification.offers.get(treeSize)?.delete(nodeId);
        this.#options.onRefused?.(nodeId);
      }
    }
    if (cosignatures.length < root.quorum) return;
    const { originFingerprint, rootHash } = point;
    this.#hold(origin, certification, { originFingerprint, treeSize, rootHash, cosignatures });
  }

  /** Once for each offer, when it and the own head are both known. */
  #compare(nodeId: string, offer: PeerCosignature, point: OwnPoint): void {
    if (!equalBytes(offer.rootHash, point.rootHash)) {
      this.#options.onContradiction(nodeId, `another root at size ${point.treeSize}`);
    } else if (offer.raftIndex === point.raftIndex && !equalBytes(offer.effect, point.effect)) {
      this.#options.onContradiction(nodeId, `another effect chain at log index ${point.raftIndex}`);
    }
  }

  #hold(origin: OriginState, certification: OriginCertification, certificate: Certificate): void {
    if (certificate.treeSize <= (certification.held?.treeSize ?? 0)) return;
    const root = this.#judge(origin, certificate.treeSize);
    const { sha256 } = this.#options.crypto;
    const logSigner = this.#options.logSignerOf(origin.originFingerprint);
    const cosignatures = [...certificate.cosignatures].sort((a, b) => (a.nodeId < b.nodeId ? -1 : 1));
    const ordered = { ...certificate, cosignatures };
    const held: HeldCertificate = {
      ...ordered,
      certifiedAtS: certifiedAtS(ordered, root.quorum),
      checkpoint: once(() => certificateNote(root, ordered, logSigner, sha256)),
      trustRootVersion: root.version,
      raftIndex: certification.points.get(certificate.treeSize)?.raftIndex ?? 0,
    };
    certification.held = held;
    this.#pass(certification, held.treeSize);
    for (const waiter of certification.waiters) {
      if (waiter.treeSize > held.treeSize) continue;
      certification.waiters.delete(waiter);
      waiter.covered(held);
    }
    this.#options.onCertificate(held);
  }

  /** Own heads and offers up to that size have served; the heads are kept a while, to compare late offers with. */
  #pass(certification: OriginCertification, treeSize: number): void {
    const { points, offers, passed } = certification;
    for (const [size, point] of points) {
      if (size > treeSize) break;
      points.delete(size);
      passed.set(size, point);
    }
    for (const size of offers.keys()) if (size <= treeSize) offers.delete(size);
    for (const size of passed.keys()) {
      if (passed.size <= PASSED_POINTS_MAX) break;
      passed.delete(size);
    }
  }

  /** A peer that runs ahead, or claims sizes that will never be, takes no more room than this. */
  #bound(certification: OriginCertification, from: string): void {
    const sizes = [...certification.offers.keys()].filter((size) => certification.offers.get(size)?.has(from));
    if (sizes.length <= OFFERS_PER_PEER_MAX) return;
    const smallest = sizes.reduce((least, size) => Math.min(least, size));
    certification.offers.get(smallest)?.delete(from);
    if (certification.offers.get(smallest)?.size === 0) certification.offers.delete(smallest);
  }

  #cosignerOf({ originFingerprint, treeSize }: OwnPoint): Signer | null {
    const origin = this.#options.state.origins.get(bytesToHex(originFingerprint));
    return origin === undefined ? null : this.#options.cosignerUnder(this.#judge(origin, treeSize));
  }

  /** The trust root that judges a checkpoint of this size. */
  #judge(origin: OriginState, treeSize: number): TrustRoot {
    const version = trustRootVersionAt(origin, treeSize);
    const signed = trustRootsOf(this.#options.state).find(({ trustRoot }) => trustRoot.version === version);
    if (signed === undefined) throw new Error(`no trust root judges size ${treeSize}`);
    return signed.trustRoot;
  }

  #of(origin: OriginFingerprint): OriginCertification {
    const key = bytesToHex(origin);
    const known = this.#origins.get(key);
    if (known !== undefined) return known;
    const lastTimeS = this.#options.promises.headOf(origin)?.timeS ?? 0;
    const created: OriginCertification = {
      held: null,
      points: new Map(),
      passed: new Map(),
      offers: new Map(),
      waiters: new Set(),
      lastOwn: null,
      unsigned: null,
      lateSizes: new Map(),
      lastTimeS,
    };
    this.#origins.set(key, created);
    return created;
  }
}

function once(make: () => string): () => string {
  let made: string | null = null;
  return () => (made ??= make());
}
