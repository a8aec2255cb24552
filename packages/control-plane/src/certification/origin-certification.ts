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
  lastOwn: PeerCosignature | null = null;
  /** The newest head that was promised and not signed, because a certificate came first. */
  unsigned: OwnPoint | null = null;
  /** The newest covered size for which each peer still sent a cosignature. */
  readonly lateSizes = new Map<string, number>();
  lastTimeS: number;

  constructor(lastTimeS: number) {
    this.lastTimeS = lastTimeS;
  }

  /** Size of the held certificate; 0 without one. */
  get coveredSize(): number {
    return this.held?.treeSize ?? 0;
  }

  /** The oldest own head that no certificate covers. */
  get oldest(): OwnPoint | undefined {
    return this.points.values().next().value;
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
    this.unsigned = null;
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
