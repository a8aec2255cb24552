/** Leaf by leaf, in the order of sequences: places, hashes and trees, from the leaves and the trust roots alone. */
import {
  DecodeError,
  LEAF_KIND,
  ZERO_32,
  anchorIdOf,
  appendToFrontier,
  bytesToHex,
  decodeLeaf,
  emptyFrontier,
  equalBytes,
  frontierRoot,
} from "@event-anchoring/protocol";
import type {
  AnchorId,
  Frontier,
  GenesisLeaf,
  Leaf,
  OriginFingerprint,
  Sha256,
  SignedTrustRoot,
  TrustRootChain,
  TrustRootLeaf,
} from "@event-anchoring/protocol";
import type { TrustRootPosition } from "../state/state.ts";
import { TileAccumulator } from "../state/tile-accumulator.ts";
import type { CompletedTile } from "../state/tile-accumulator.ts";

/** A difference between a leaf and the one that must come next. */
export interface LeafFault {
  /** The sequence where the leaf was found. */
  readonly sequence: number;
  readonly is: string;
  readonly shouldBe: string;
}

/** One origin, derived from its leaves so far. */
export interface WalkedOrigin {
  readonly originFingerprint: OriginFingerprint;
  readonly frontier: Frontier;
  /** Which trust roots judge the tree, from which leaf on. */
  readonly positions: readonly TrustRootPosition[];
  /** A leaf was not in its place: from there on the tree is unknown. */
  readonly isBroken: boolean;
}

interface GrowingOrigin extends WalkedOrigin {
  readonly positions: TrustRootPosition[];
  readonly tiles: TileAccumulator;
  frontier: Frontier;
  lastAnchorId: Uint8Array;
  isBroken: boolean;
}

/** A readable leaf, and what follows from it. */
export interface WalkedLeaf {
  readonly leaf: Leaf;
  /** Hash of the bytes of the leaf. */
  readonly anchorId: AnchorId;
  /** null: no trust root lists its origin. */
  readonly origin: WalkedOrigin | null;
  /** Tiles that it completes; none of a broken tree. */
  readonly tiles: readonly CompletedTile[];
  /** The trust root that judges its origin from this leaf on; null: the leaf announces none. */
  readonly announces: SignedTrustRoot | null;
}

/** What a table states beside the bytes of a leaf. */
export interface StatedPlace {
  readonly originFingerprint: OriginFingerprint | null;
  readonly anchorId: Uint8Array;
}

/** Version of the trust root that judges the tree as it is; 0 before the first leaf. */
export function judgingVersion({ positions }: WalkedOrigin): number {
  return positions.at(-1)?.version ?? 0;
}

/** @returns the leaf, or why the bytes are not one */
function leafOf(bytes: Uint8Array): Leaf | string {
  try {
    return decodeLeaf(bytes);
  } catch (error) {
    if (error instanceof DecodeError) return error.message;
    throw error;
  }
}

/**
 * Places one leaf after the other. The state carried from one to the next never changes again, so a walk can be
 * interrupted for any time.
 *
 * `decide` places the leaves that it makes with code of its own, on purpose: this walk is the check of its ledger, in a
 * snapshot, a backup and fsck.
 */
export class LeafWalk {
  readonly #sha256: Sha256;
  readonly #onFault: (fault: LeafFault) => void;
  #chain: TrustRootChain | null = null;
  readonly #origins = new Map<string, GrowingOrigin>();
  /** Sequences of the leaves that announce the versions of the trust root, by version − 1. */
  readonly announcedAt: number[] = [];
  /** The version that is being announced, and the origins that it has yet to be announced in, in their order. */
  #announcing = 0;
  #toAnnounce: OriginFingerprint[] = [];
  #nextSequence = 0;
  #lastAcceptedMs = 0;

  /** @param onFault may throw, which ends the walk for good; if it returns, the walk continues as far as possible */
  constructor(sha256: Sha256, onFault: (fault: LeafFault) => void) {
    this.#sha256 = sha256;
    this.#onFault = onFault;
  }

  get nextSequence(): number {
    return this.#nextSequence;
  }

  get lastAcceptedMs(): number {
    return this.#lastAcceptedMs;
  }

  get chain(): TrustRootChain | null {
    return this.#chain;
  }

  /** Replaces the chain by a longer one. */
  setChain(chain: TrustRootChain | null): void {
    this.#chain = chain;
  }

  origins(): readonly WalkedOrigin[] {
    return [...this.#origins.values()];
  }

  /** null: no trust root lists it. */
  origin(originFingerprint: Uint8Array): WalkedOrigin | null {
    return this.#origin(originFingerprint);
  }

  #origin(originFingerprint: Uint8Array): GrowingOrigin | null {
    const key = bytesToHex(originFingerprint);
    const known = this.#origins.get(key);
    if (known !== undefined) return known;
    const listed = this.#chain?.newest.trustRoot.origins.find((each) =>
      equalBytes(each.originFingerprint, originFingerprint),
    );
    if (listed === undefined) return null;
    const origin: GrowingOrigin = {
      originFingerprint: listed.originFingerprint,
      tiles: new TileAccumulator(0, [], this.#sha256),
      positions: [],
      frontier: emptyFrontier(),
      lastAnchorId: ZERO_32,
      isBroken: false,
    };
    this.#origins.set(key, origin);
    return origin;
  }

  /** The version of the trust root with this number. */
  version(version: number): SignedTrustRoot | null {
    return this.#chain?.versions[version - 1] ?? null;
  }

  /** The present root of a tree; null if it is unknown. */
  rootOf({ isBroken, frontier }: WalkedOrigin): Uint8Array | null {
    return isBroken ? null : frontierRoot(frontier, this.#sha256);
  }

  /** The leaf of the next sequence is missing. */
  skip(): void {
    this.#nextSequence += 1;
    // Nothing but the announcements that are due may come between them.
    this.#toAnnounce.shift();
    // It belonged to some origin, and it is not known to which.
    for (const origin of this.#origins.values()) origin.isBroken = true;
  }

  /**
   * The leaf of the next sequence.
   * @param stated what its bytes must hash to; if they do not, later leaves are placed on the stated hash; null:
   * unknown
   * @returns null if the bytes are not a leaf, or are another one
   */
  place(bytes: Uint8Array, stated: StatedPlace | null): WalkedLeaf | null {
    const leaf = leafOf(bytes);
    if (typeof leaf === "string") {
      this.#fault(`what cannot be decoded (${leaf})`, "a leaf");
      this.#goOnWith(stated);
      return null;
    }
    const anchorId = anchorIdOf(bytes, this.#sha256);
    if (stated !== null && !equalBytes(anchorId, stated.anchorId)) {
      const [is, shouldBe] = [anchorId, stated.anchorId].map(bytesToHex);
      this.#fault(`bytes that hash to ${is}`, `bytes that hash to ${shouldBe}`);
      this.#goOnWith(stated);
      return null;
    }
    const origin = this.#origin(leaf.originFingerprint);
    if (origin === null) {
      this.#fault(`of origin ${bytesToHex(leaf.originFingerprint)}`, "of an origin that is listed");
    }
    const announces = origin === null ? null : this.#judgePlace(leaf, origin);
    this.#judgeSequence(leaf);
    this.#lastAcceptedMs = Math.max(this.#lastAcceptedMs, leaf.acceptedMs);
    this.#nextSequence += 1;
    const tiles = origin === null || origin.isBroken ? [] : this.#append(origin, anchorId);
    return { leaf, anchorId, origin, tiles, announces };
  }

  /** No leaf follows: a version that has been announced in some origins has been announced in all. */
  end(): void {
    const [missing] = this.#toAnnounce;
    if (missing === undefined) return;
    this.#fault("missing: the leaves end", `trust root ${this.#announcing} in origin ${bytesToHex(missing)}`);
  }

  #fault(is: string, shouldBe: string): void {
    this.#onFault({ sequence: this.#nextSequence, is, shouldBe });
  }

  #goOnWith(stated: StatedPlace | null): void {
    const originFingerprint = stated?.originFingerprint ?? null;
    const origin = originFingerprint === null ? null : this.#origin(originFingerprint);
    if (stated === null || origin === null) {
      this.skip();
      return;
    }
    this.#nextSequence += 1;
    if (!origin.isBroken) this.#append(origin, stated.anchorId);
  }

  #append(origin: GrowingOrigin, anchorId: Uint8Array): readonly CompletedTile[] {
    origin.frontier = appendToFrontier(origin.frontier, anchorId, this.#sha256);
    origin.lastAnchorId = anchorId;
    return origin.tiles.append(anchorId);
  }

  #judgeSequence({ sequence, acceptedMs }: Leaf): void {
    if (sequence !== this.#nextSequence) this.#fault(`of sequence ${sequence}`, `of sequence ${this.#nextSequence}`);
    if (acceptedMs < this.#lastAcceptedMs) {
      this.#fault(`accepted at ${acceptedMs}`, `accepted at ${this.#lastAcceptedMs} or later`);
    }
  }

  #judgePlace(leaf: Leaf, origin: GrowingOrigin): SignedTrustRoot | null {
    if (!origin.isBroken && leaf.depth !== origin.frontier.size) {
      origin.isBroken = true;
      this.#fault(`of depth ${leaf.depth}`, `of depth ${origin.frontier.size}`);
    }
    if (!origin.isBroken && !equalBytes(leaf.parentAnchorId, origin.lastAnchorId)) {
      const [is, shouldBe] = [leaf.parentAnchorId, origin.lastAnchorId].map(bytesToHex);
      this.#fault(`a leaf after ${is}`, `one after ${shouldBe}`);
    }
    if (leaf.kind === LEAF_KIND.genesis || leaf.kind === LEAF_KIND.trustRoot) return this.#announce(leaf, origin);
    this.#judgeOpen(leaf, origin);
    return null;
  }

  /** A version is announced in every origin that is not lost, in their order, and by nothing else in between. */
  #announce(leaf: GenesisLeaf | TrustRootLeaf, origin: GrowingOrigin): SignedTrustRoot | null {
    const root = this.#chain?.versions.find(({ rootThk }) => equalBytes(rootThk, leaf.rootThk));
    if (root === undefined) {
      this.#fault(`names trust root ${bytesToHex(leaf.rootThk)}`, "one that is in the chain");
      return null;
    }
    const { version, clusterId, origins } = root.trustRoot;
    const isFirst = this.#toAnnounce.length === 0;
    const due = isFirst ? this.announcedAt.length + 1 : this.#announcing;
    if (version !== due) this.#fault(`announces trust root ${version}`, `announces trust root ${due}`);
    if (isFirst) {
      this.announcedAt[version - 1] = leaf.sequence;
      this.#announcing = version;
      this.#toAnnounce = origins.filter(({ status }) => status !== "lost").map((each) => each.originFingerprint);
    }
    const dueOrigin = this.#toAnnounce.shift();
    const isInTurn = dueOrigin !== undefined && equalBytes(dueOrigin, origin.originFingerprint);
    if (!isInTurn) this.#fault(`trust root ${version} in another origin`, bytesToHex(dueOrigin ?? ZERO_32));
    const saysSo = leaf.kind === LEAF_KIND.genesis ? equalBytes(leaf.clusterId, clusterId) : leaf.version === version;
    if (!saysSo) this.#fault("of another cluster or version", `of version ${version}`);
    origin.positions.push({ leafIndex: leaf.depth, version });
    return root;
  }

  #judgeOpen(leaf: Leaf, origin: GrowingOrigin): void {
    const missing = this.#toAnnounce.shift();
    if (missing !== undefined) {
      this.#toAnnounce = [];
      this.#fault(`of kind ${leaf.kind}`, `a trust root in origin ${bytesToHex(missing)}`);
    }
    const root = this.version(this.announcedAt.length);
    const status = root?.trustRoot.origins.find((each) =>
      equalBytes(each.originFingerprint, origin.originFingerprint),
    )?.status;
    const isOpen = status === "active" || (status === "closed" && leaf.kind === LEAF_KIND.revocation);
    if (origin.positions.length > 0 && isOpen) return;
    this.#fault(`in an origin that is ${status ?? "not begun"}`, "in one that takes it");
  }
}
