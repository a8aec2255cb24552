import type { PeerCosignature } from "@event-anchoring/control-contract";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import type { CertifyPoint, HeldCertificate } from "./certifier.ts";

/** Cosignatures of one peer that wait for this node to reach their size; the oldest go first. */
const OFFERS_PER_PEER_MAX = 256;

/** A head of this node's own tree. */
export interface OwnPoint extends CertifyPoint {
  readonly originFingerprint: OriginFingerprint;
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
  readonly reachedMs: number;
  /** On its way to the promise file, or there. A node that may not sign a point now may be entitled to later. */
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

interface CosignedWaiter {
  readonly treeSize: number;
  readonly cosigned: () => void;
}

/** The certificates of one origin, and who waits for them. */
export class OriginCertification {
  held: HeldCertificate | null = null;
  /** The newest one that the log records; not newer than the held one. */
  recorded: HeldCertificate | null = null;
  /** Own heads above the held certificate, by size, ascending. */
  readonly points = new Map<number, OwnPoint>();
  /** Cosignatures of peers above the held certificate, by size and node; not verified before they are counted. */
  readonly offers = new Map<number, Map<string, PeerCosignature>>();
  readonly waiters = new Set<CoverageWaiter>();
  /** These have nothing verified. */
  readonly watchers = new Set<CosignedWaiter>();
  lastOwn: PeerCosignature | null = null;
  lastTimeS: number;
  /** The newest own head over which enough cosignatures are in hand, verified or not. */
  #cosignedSize = 0;

  constructor(lastTimeS: number) {
    this.lastTimeS = lastTimeS;
  }

  /** Size of the held certificate; 0 without one. */
  get coveredSize(): number {
    return this.held?.treeSize ?? 0;
  }

  get cosignedSize(): number {
    return Math.max(this.#cosignedSize, this.coveredSize);
  }

  /** The oldest own head over which too few cosignatures are in hand. */
  get oldest(): OwnPoint | undefined {
    for (const point of this.points.values()) if (point.treeSize > this.cosignedSize) return point;
    return undefined;
  }

  /** Whether anybody waits for a certificate of that size or a smaller one. */
  isAwaited(treeSize: number): boolean {
    for (const waiter of this.waiters) if (waiter.treeSize <= treeSize) return true;
    return false;
  }

  /** Enough cosignatures over an own head are in hand. */
  noteCosigned(treeSize: number): void {
    this.#cosignedSize = Math.max(this.#cosignedSize, treeSize);
    this.answerWatchers();
  }

  /** Some of them were bad: @param isCosigned whether enough are left over an own head */
  recountCosigned(isCosigned: (point: OwnPoint) => boolean): void {
    this.#cosignedSize = 0;
    for (const point of this.points.values()) if (isCosigned(point)) this.#cosignedSize = point.treeSize;
  }

  answerWatchers(): void {
    for (const watcher of this.watchers) {
      if (watcher.treeSize > this.cosignedSize) continue;
      this.watchers.delete(watcher);
      watcher.cosigned();
    }
  }

  /** A peer that runs ahead, or claims sizes that will never exist, takes no more room than its share. */
  offer(from: string, item: PeerCosignature): void {
    const offers = this.offers.get(item.treeSize) ?? new Map<string, PeerCosignature>();
    this.offers.set(item.treeSize, offers.set(from, item));
    const sizes = [...this.offers.keys()].filter((size) => this.offers.get(size)?.has(from));
    if (sizes.length <= OFFERS_PER_PEER_MAX) return;
    const smallest = sizes.reduce((least, size) => Math.min(least, size));
    this.offers.get(smallest)?.delete(from);
    if (this.offers.get(smallest)?.size === 0) this.offers.delete(smallest);
  }

  /** Drops own heads and offers up to that size. */
  hold(certificate: HeldCertificate): void {
    this.held = certificate;
    this.answerWatchers();
    for (const size of this.points.keys()) {
      if (size > certificate.treeSize) break;
      this.points.delete(size);
    }
    for (const size of this.offers.keys()) if (size <= certificate.treeSize) this.offers.delete(size);
  }

  /** The root keys have given the origin up: what the log records is its last certificate, here as on every node. */
  lose(): void {
    this.held = this.recorded;
    this.points.clear();
    this.offers.clear();
    this.lastOwn = null;
    this.#cosignedSize = 0;
  }

  /** Answers the waiters whose size the held certificate covers, except those from whom it is withheld. */
  answerWaiters(isWithheld: (treeSize: number) => boolean): void {
    const { held } = this;
    if (held === null) return;
    for (const waiter of this.waiters) {
      if (waiter.treeSize > held.treeSize || isWithheld(waiter.treeSize)) continue;
      this.waiters.delete(waiter);
      waiter.covered(held);
    }
  }
}
