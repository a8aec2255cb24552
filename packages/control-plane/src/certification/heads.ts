import type { HeadLine } from "@event-anchoring/control-contract";
import { type OriginFingerprint, bytesToHex, equalBytes } from "@event-anchoring/protocol";

/** Sizes remembered of an origin, with the lines of all nodes over them. */
const HEADS_MAX = 256;
/** And of all origins: some 5 KB each. A cluster has an origin for each node that it ever had. */
const HEADS_IN_ALL_MAX = 1024;
/** A key that signed two roots is named already. */
const ROOTS_OF_A_NODE_MAX = 2;

/** The exchange over a size whose roots differ. */
export interface Dispute {
  readonly sinceMs: number;
  /** Whether writes up to this size wait for its end; false if the differing node was already known to differ. */
  readonly withholds: boolean;
  /** The newest smaller size that is not contradicted: writes up to it do not wait. */
  readonly floor: number;
}

/** One size of an origin: this node's root, and who signed what over it. */
export class Head {
  readonly originFingerprint: OriginFingerprint;
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
  /** By node. A line over this node's own root is verified only when another line contradicts it. */
  readonly #lines = new Map<string, { readonly line: HeadLine; isGood: boolean }[]>();
  dispute: Dispute | null = null;
  /** A node has signed another root of this size. */
  isContradicted = false;

  constructor(originFingerprint: OriginFingerprint, treeSize: number, rootHash: Uint8Array) {
    this.originFingerprint = originFingerprint;
    this.treeSize = treeSize;
    this.rootHash = rootHash;
  }

  isOwnRoot({ rootHash }: HeadLine): boolean {
    return equalBytes(rootHash, this.rootHash);
  }

  /** Whether it must be verified before it is added: it contradicts this node, or its own signer. */
  contradicts(line: HeadLine): boolean {
    const known = this.#lines.get(line.nodeId) ?? [];
    return !this.isOwnRoot(line) || known.some((other) => !equalBytes(other.line.rootHash, line.rootHash));
  }

  /** Whether a verified line of that node over that root is held. */
  hasGood(line: HeadLine): boolean {
    const known = this.#lines.get(line.nodeId) ?? [];
    return known.some((other) => other.isGood && equalBytes(other.line.rootHash, line.rootHash));
  }

  add(line: HeadLine, isGood: boolean): void {
    const known = this.#lines.get(line.nodeId) ?? [];
    const others = known.filter((other) => !equalBytes(other.line.rootHash, line.rootHash));
    if (others.filter((other) => other.isGood).length >= ROOTS_OF_A_NODE_MAX) return;
    this.#lines.set(line.nodeId, [...others, { line, isGood }]);
  }

  /** Every line that verifies with its signer's key; the others are dropped. */
  goodLines(verify: (line: HeadLine) => boolean): readonly HeadLine[] {
    for (const [nodeId, lines] of this.#lines) {
      for (const held of lines) held.isGood ||= verify(held.line);
      this.#lines.set(
        nodeId,
        lines.filter(({ isGood }) => isGood),
      );
    }
    return [...this.#lines.values()].flatMap((lines) => lines.map(({ line }) => line));
  }
}

/** The newest heads of all origins. */
export class Heads {
  /** By origin. Each map holds at least one head, and its heads in the order in which they were added. */
  readonly #origins = new Map<string, Map<number, Head>>();
  /** The same heads, of all origins, in that order. */
  readonly #inOrder = new Set<Head>();

  find(origin: OriginFingerprint, treeSize: number): Head | undefined {
    return this.#origins.get(bytesToHex(origin))?.get(treeSize);
  }

  add(head: Head): Head {
    const key = bytesToHex(head.originFingerprint);
    const heads = this.#origins.get(key) ?? new Map<number, Head>();
    this.#origins.set(key, heads.set(head.treeSize, head));
    this.#inOrder.add(head);
    for (const old of heads.values()) {
      if (heads.size <= HEADS_MAX) break;
      this.#forget(old);
    }
    for (const old of this.#inOrder) {
      if (this.#inOrder.size <= HEADS_IN_ALL_MAX) break;
      this.#forget(old);
    }
    return head;
  }

  /** Not while its roots are in dispute. */
  #forget(head: Head): void {
    if (head.dispute !== null) return;
    const key = bytesToHex(head.originFingerprint);
    const heads = this.#origins.get(key);
    heads?.delete(head.treeSize);
    if (heads?.size === 0) this.#origins.delete(key);
    this.#inOrder.delete(head);
  }

  /** The newest smaller size that is not contradicted; 0: none is known. */
  floorBelow(head: Head): number {
    let floor = 0;
    for (const { treeSize, isContradicted } of this.#headsOf(head.originFingerprint)) {
      if (treeSize < head.treeSize && !isContradicted) floor = Math.max(floor, treeSize);
    }
    return floor;
  }

  /** Every head that is remembered: the newest of each origin first, then the one before it of each, and so on. */
  *newestFirst(): Iterable<Head> {
    const origins = [...this.#origins.values()].map((heads) =>
      [...heads.values()].sort((left, right) => right.treeSize - left.treeSize),
    );
    for (let age = 0; age < HEADS_MAX; age++) {
      for (const heads of origins) {
        const head = heads[age];
        if (head !== undefined) yield head;
      }
    }
  }

  #headsOf(origin: OriginFingerprint): readonly Head[] {
    return [...(this.#origins.get(bytesToHex(origin))?.values() ?? [])];
  }
}
