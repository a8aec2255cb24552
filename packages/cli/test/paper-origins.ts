import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  LEAF_KIND,
  ZERO_32,
  anchorIdOf,
  appendToFrontier,
  bytesToHex,
  concatBytes,
  emptyFrontier,
  encodeLeaf,
  frontierRoot,
  hexToBytes,
  interiorHash,
  toAnchorId,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import type { LeafSource, ReadableHead } from "../src/monitor/origin-leaves.ts";
import type { LeafContent } from "./paper-cluster.ts";

const { sha256 } = nodeCrypto;
const STARTED_MS = 1_790_000_000_000;

/** The logs of several origins with one row of sequences, unsigned: what is read here was verified before. */
export class PaperOrigins implements LeafSource {
  readonly fingerprints: readonly string[];
  readonly asked: string[] = [];
  /** What is shown of a path instead. */
  readonly instead = new Map<string, Uint8Array>();
  readonly #leaves: Uint8Array[][];
  readonly #byId = new Map<string, Uint8Array>();
  #sequence = 0;

  constructor(count: number) {
    this.fingerprints = Array.from({ length: count }, (_, at) => String(at + 1).repeat(64));
    this.#leaves = this.fingerprints.map(() => []);
    for (let at = 0; at < count; at++)
      this.append(at, { kind: LEAF_KIND.genesis, clusterId: ZERO_32, rootThk: ZERO_32 });
  }

  /** @returns its anchor id */
  append(origin: number, content: LeafContent): string {
    const leaves = this.#leavesOf(origin);
    const parent = leaves.at(-1);
    const leaf = encodeLeaf({
      ...content,
      originFingerprint: toOriginFingerprint(hexToBytes(this.fingerprints[origin] ?? "", 32)),
      depth: leaves.length,
      parentAnchorId: parent === undefined ? toAnchorId(ZERO_32) : anchorIdOf(parent, sha256),
      sequence: this.#sequence++,
      acceptedMs: STARTED_MS,
    });
    leaves.push(leaf);
    const anchorId = bytesToHex(anchorIdOf(leaf, sha256));
    this.#byId.set(anchorId, leaf);
    return anchorId;
  }

  /** A sequence that no certified leaf has: its origin was given up. */
  skipSequence(): void {
    this.#sequence += 1;
  }

  head(origin: number, treeSize = this.#leavesOf(origin).length): ReadableHead {
    let frontier = emptyFrontier();
    for (const leaf of this.#leavesOf(origin).slice(0, treeSize)) {
      frontier = appendToFrontier(frontier, anchorIdOf(leaf, sha256), sha256);
    }
    const rootHash = bytesToHex(frontierRoot(frontier, sha256));
    return { originFingerprint: this.fingerprints[origin] ?? "", treeSize, rootHash };
  }

  heads(): readonly ReadableHead[] {
    return this.fingerprints.map((_, at) => this.head(at));
  }

  bytes(originFingerprint: string, path: string): Promise<Uint8Array> {
    this.asked.push(path);
    const origin = this.fingerprints.indexOf(originFingerprint);
    const [, level = "", number = "", width = "256"] = /^tile\/(\w+)\/([\dx/]+)(?:\.p\/(\d+))?$/u.exec(path) ?? [];
    const first = Number(number.replaceAll(/[x/]/gu, "")) * 256;
    const places = Array.from({ length: Number(width) }, (_, at) => first + at);
    const shown =
      level === "entries"
        ? places.map((at) => framed(this.#leavesOf(origin)[at] ?? new Uint8Array(0)))
        : places.map((at) => this.#hashAt(origin, 8 * Number(level), at));
    return Promise.resolve(this.instead.get(path) ?? concatBytes(...shown));
  }

  leaf(anchorId: string): Promise<Uint8Array> {
    this.asked.push(anchorId);
    return Promise.resolve(this.instead.get(anchorId) ?? this.#byId.get(anchorId) ?? new Uint8Array(0));
  }

  #leavesOf(origin: number): Uint8Array[] {
    return this.#leaves[origin] ?? [];
  }

  #hashAt(origin: number, level: number, index: number): Uint8Array {
    const leaf = this.#leavesOf(origin)[index];
    if (level === 0 && leaf !== undefined) return anchorIdOf(leaf, sha256);
    const half = (at: number): Uint8Array => this.#hashAt(origin, level - 1, 2 * index + at);
    return interiorHash(half(0), half(1), sha256);
  }
}

function framed(leaf: Uint8Array): Uint8Array {
  return concatBytes(Uint8Array.of(leaf.length >> 8, leaf.length & 255), leaf);
}
