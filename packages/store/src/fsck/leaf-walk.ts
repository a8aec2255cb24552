/** Leaf by leaf, in the order of sequences: places, hashes and trees, from the leaves alone. */
import { TileAccumulator } from "@event-anchoring/ledger";
import type { CompletedTile } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
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
  SignedTrustRoot,
  TrustRootChain,
  TrustRootLeaf,
} from "@event-anchoring/protocol";
import type { Findings, RowName } from "./findings.ts";

const { sha256 } = nodeCrypto;

/** One origin, as its leaves so far make it. */
export interface WalkedOrigin {
  readonly originFingerprint: OriginFingerprint;
  readonly tiles: TileAccumulator;
  readonly positions: { readonly leafIndex: number; readonly version: number }[];
  frontier: Frontier;
  lastAnchorId: Uint8Array;
  /** Version of the trust root that judges the tree as it is; 0 before the first leaf. */
  judgedBy: number;
  certifiedSize: number;
  /** A leaf was not in its place: from there on nothing can be said of the tree. */
  isBroken: boolean;
}

/** A leaf that could be read, and what it makes. */
export interface WalkedLeaf {
  readonly leaf: Leaf;
  /** Of its bytes. */
  readonly anchorId: AnchorId;
  /** null: no trust root lists its origin. */
  readonly origin: WalkedOrigin | null;
  /** Tiles that it completes; none of a broken tree. */
  readonly tiles: readonly CompletedTile[];
}

/** What a table says beside the bytes of a leaf. */
export interface StatedPlace {
  readonly originFingerprint: OriginFingerprint | null;
  readonly anchorId: Uint8Array;
}

export function anchorRow(sequence: number): RowName {
  return { table: "state.anchors", key: `sequence ${sequence}`, at: sequence };
}

/** @returns null if the bytes are no leaf */
function leafOf(bytes: Uint8Array): Leaf | string {
  try {
    return decodeLeaf(bytes);
  } catch (error) {
    if (error instanceof DecodeError) return error.message;
    throw error;
  }
}

/**
 * Places one leaf after the other. What is carried from one to the next never changes again, so that a walk may be
 * interrupted for as long as one likes.
 */
export class LeafWalk {
  readonly #findings: Findings;
  #chain: TrustRootChain | null;
  readonly #origins = new Map<string, WalkedOrigin>();
  /** Sequences of the leaves that announce the versions of the trust root, by version − 1. */
  readonly announcedAt: number[] = [];
  /** Origins that a version has yet to be announced in, in their order. */
  #toAnnounce: OriginFingerprint[] = [];
  #nextSequence = 0;
  #lastAcceptedMs = 0;

  constructor(findings: Findings, chain: TrustRootChain | null) {
    this.#findings = findings;
    this.#chain = chain;
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

  /** A longer one than before. */
  setChain(chain: TrustRootChain | null): void {
    this.#chain = chain;
  }

  origins(): readonly WalkedOrigin[] {
    return [...this.#origins.values()];
  }

  origin(originFingerprint: Uint8Array): WalkedOrigin | null {
    const key = bytesToHex(originFingerprint);
    const known = this.#origins.get(key);
    if (known !== undefined) return known;
    const listed = this.#chain?.newest.trustRoot.origins.find((each) =>
      equalBytes(each.originFingerprint, originFingerprint),
    );
    if (listed === undefined) return null;
    const origin: WalkedOrigin = {
      originFingerprint: listed.originFingerprint,
      tiles: new TileAccumulator(0, [], sha256),
      positions: [],
      frontier: emptyFrontier(),
      lastAnchorId: ZERO_32,
      judgedBy: 0,
      certifiedSize: 0,
      isBroken: false,
    };
    this.#origins.set(key, origin);
    return origin;
  }

  /** Which version of the trust root has this number. */
  version(version: number): SignedTrustRoot | null {
    return this.#chain?.versions[version - 1] ?? null;
  }

  /** The leaf of the next sequence is not there. */
  skip(): void {
    this.#nextSequence += 1;
    // It was of some origin, and nobody knows of which.
    for (const origin of this.#origins.values()) origin.isBroken = true;
  }

  /**
   * The leaf of the next sequence.
   * @param stated what its bytes must hash to; if they do not, all that comes later stands on this; null: unknown
   * @returns null if the bytes are no leaf, or another one
   */
  place(bytes: Uint8Array, stated: StatedPlace | null): WalkedLeaf | null {
    const name = anchorRow(this.#nextSequence);
    const leaf = leafOf(bytes);
    this.#findings.checked.leaves += 1;
    if (typeof leaf === "string") {
      this.#findings.add(name, "leaf", `what cannot be decoded (${leaf})`, "a leaf");
      this.#goOnWith(stated);
      return null;
    }
    const anchorId = anchorIdOf(bytes, sha256);
    if (stated !== null && !equalBytes(anchorId, stated.anchorId)) {
      const [is, shouldBe] = [anchorId, stated.anchorId].map(bytesToHex);
      this.#findings.add(name, "leaf", `bytes that hash to ${is}`, `bytes that hash to ${shouldBe}`);
      this.#goOnWith(stated);
      return null;
    }
    const origin = this.origin(leaf.originFingerprint);
    if (origin === null) {
      this.#findings.add(
        name,
        "leaf",
        `of origin ${bytesToHex(leaf.originFingerprint)}`,
        "of an origin that is listed",
      );
    } else this.#judgePlace(leaf, origin, name);
    if (leaf.sequence !== this.#nextSequence) {
      this.#findings.add(name, "leaf", `of sequence ${leaf.sequence}`, `of sequence ${this.#nextSequence}`);
    }
    if (leaf.acceptedMs < this.#lastAcceptedMs) {
      this.#findings.add(
        name,
        "leaf",
        `accepted at ${leaf.acceptedMs}`,
        `accepted at ${this.#lastAcceptedMs} or later`,
      );
    }
    this.#lastAcceptedMs = Math.max(this.#lastAcceptedMs, leaf.acceptedMs);
    this.#nextSequence += 1;
    const tiles = origin === null || origin.isBroken ? [] : this.#append(origin, anchorId);
    return { leaf, anchorId, origin, tiles };
  }

  #goOnWith(stated: StatedPlace | null): void {
    const originFingerprint = stated?.originFingerprint ?? null;
    const origin = originFingerprint === null ? null : this.origin(originFingerprint);
    if (stated === null || origin === null) {
      this.skip();
      return;
    }
    this.#nextSequence += 1;
    if (!origin.isBroken) this.#append(origin, stated.anchorId);
  }

  #append(origin: WalkedOrigin, anchorId: Uint8Array): readonly CompletedTile[] {
    origin.frontier = appendToFrontier(origin.frontier, anchorId, sha256);
    origin.lastAnchorId = anchorId;
    return origin.tiles.append(anchorId);
  }

  #judgePlace(leaf: Leaf, origin: WalkedOrigin, name: RowName): void {
    if (!origin.isBroken && leaf.depth !== origin.frontier.size) {
      origin.isBroken = true;
      this.#findings.add(name, "leaf", `of depth ${leaf.depth}`, `of depth ${origin.frontier.size}`);
    }
    if (!origin.isBroken && !equalBytes(leaf.parentAnchorId, origin.lastAnchorId)) {
      const [is, shouldBe] = [leaf.parentAnchorId, origin.lastAnchorId].map(bytesToHex);
      this.#findings.add(name, "leaf", `a leaf after ${is}`, `one after ${shouldBe}`);
    }
    if (leaf.kind === LEAF_KIND.genesis || leaf.kind === LEAF_KIND.trustRoot) this.#announce(leaf, origin, name);
    else this.#judgeOpen(leaf, origin, name);
  }

  /** A version is announced in every origin that is not lost, in their order, and by nothing else in between. */
  #announce(leaf: GenesisLeaf | TrustRootLeaf, origin: WalkedOrigin, name: RowName): void {
    const root = this.#chain?.versions.find(({ rootThk }) => equalBytes(rootThk, leaf.rootThk));
    if (root === undefined) {
      this.#findings.add(name, "leaf", `names trust root ${bytesToHex(leaf.rootThk)}`, "one that is in the chain");
      return;
    }
    const { version, clusterId, origins } = root.trustRoot;
    if (this.#toAnnounce.length === 0) {
      if (version !== this.announcedAt.length + 1) {
        const next = this.announcedAt.length + 1;
        this.#findings.add(name, "leaf", `announces trust root ${version}`, `announces trust root ${next}`);
      }
      this.announcedAt[version - 1] = leaf.sequence;
      this.#toAnnounce = origins.filter(({ status }) => status !== "lost").map((each) => each.originFingerprint);
    }
    const due = this.#toAnnounce.shift();
    const isInTurn = due !== undefined && equalBytes(due, origin.originFingerprint);
    if (!isInTurn) {
      this.#findings.add(name, "leaf", `trust root ${version} in another origin`, bytesToHex(due ?? ZERO_32));
    }
    const saysSo = leaf.kind === LEAF_KIND.genesis ? equalBytes(leaf.clusterId, clusterId) : leaf.version === version;
    if (!saysSo) this.#findings.add(name, "leaf", "of another cluster or version", `of version ${version}`);
    origin.judgedBy = version;
    origin.positions.push({ leafIndex: leaf.depth, version });
  }

  #judgeOpen(leaf: Leaf, origin: WalkedOrigin, name: RowName): void {
    const missing = this.#toAnnounce.shift();
    if (missing !== undefined) {
      this.#toAnnounce = [];
      this.#findings.add(name, "leaf", `of kind ${leaf.kind}`, `a trust root in origin ${bytesToHex(missing)}`);
    }
    const root = this.version(this.announcedAt.length);
    const status = root?.trustRoot.origins.find((each) =>
      equalBytes(each.originFingerprint, origin.originFingerprint),
    )?.status;
    const isOpen = status === "active" || (status === "closed" && leaf.kind === LEAF_KIND.revocation);
    if (origin.judgedBy > 0 && isOpen) return;
    this.#findings.add(name, "leaf", `in an origin that is ${status ?? "not begun"}`, "in one that takes it");
  }

  /** The root of a tree as it is now; null if nothing can be said of it. */
  rootOf(origin: WalkedOrigin): Uint8Array | null {
    return origin.isBroken ? null : frontierRoot(origin.frontier, sha256);
  }
}
