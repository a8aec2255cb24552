import { describe, expect, test } from "@jest/globals";
import {
  EMPTY_ROOT,
  RecentTree,
  anchorIdOf,
  appendToFrontier,
  bytesToHex,
  concatBytes,
  emptyFrontier,
  entriesPath,
  equalBytes,
  frontierRoot,
  hexToBytes,
  interiorHash,
  proveConsistency,
  proveInclusion,
  subtreeHashInTile,
  subtreesForConsistency,
  subtreesForInclusion,
  tileOf,
  tilePath,
  tileWidthAt,
  verifyConsistency,
  verifyInclusion,
} from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { CRYPTOS, loadVectors } from "./vectors.ts";

const { sha256 } = nodeCrypto;

interface Inclusion {
  readonly name: string;
  readonly index: number;
  readonly size: number;
  readonly leaf_hash: string;
  readonly root_hash: string;
  readonly path: readonly string[];
}
interface Consistency {
  readonly name: string;
  readonly old_size: number;
  readonly size: number;
  readonly old_root: string;
  readonly root: string;
  readonly path: readonly string[];
}
const vectors = loadVectors("merkle.json") as {
  leaves: string[];
  roots: string[];
  inclusion: { good: Inclusion[]; bad: Inclusion[] };
  consistency: { good: Consistency[]; bad: Consistency[] };
};

function included({ index, size, leaf_hash, root_hash, path }: Inclusion): boolean {
  const [leafHash, rootHash] = [hexToBytes(leaf_hash), hexToBytes(root_hash)];
  return verifyInclusion({ leafHash, index, size, path: path.map((hash) => hexToBytes(hash)), rootHash }, sha256);
}

function consistent({ old_size, size, old_root, root, path }: Consistency): boolean {
  const [oldRoot, newRoot] = [hexToBytes(old_root), hexToBytes(root)];
  const hashes = path.map((hash) => hexToBytes(hash));
  return verifyConsistency({ oldSize: old_size, oldRoot, size, root: newRoot, path: hashes }, sha256);
}

/** RFC 6962 section 2.1, word for word: the reference that everything else is held against. */
function treeHash(leafHashes: readonly Uint8Array[]): Uint8Array {
  const [first] = leafHashes;
  if (first === undefined) return EMPTY_ROOT;
  if (leafHashes.length === 1) return first;
  let split = 1;
  while (split * 2 < leafHashes.length) split *= 2;
  return interiorHash(treeHash(leafHashes.slice(0, split)), treeHash(leafHashes.slice(split)), sha256);
}

const SIZE_MAX = 70;
const leafHashes = Array.from({ length: SIZE_MAX }, (_, index) => anchorIdOf(Uint8Array.of(index), sha256));
const roots = Array.from({ length: SIZE_MAX + 1 }, (_, size) => treeHash(leafHashes.slice(0, size)));

function rootAt(size: number): Uint8Array {
  return roots[size] ?? new Uint8Array(0);
}

const subtreeHashes = new Map<string, Uint8Array>();

function hashAt(level: number, index: number): Uint8Array {
  const name = `${level}/${index}`;
  const subtree = leafHashes.slice(index * 2 ** level, (index + 1) * 2 ** level);
  if (subtree.length !== 2 ** level) throw new RangeError(`(${level}, ${index}) is not complete`);
  const hash = subtreeHashes.get(name) ?? treeHash(subtree);
  subtreeHashes.set(name, hash);
  return hash;
}

describe("RFC 6962 vectors", () => {
  test("known roots of the classic leaves", () => {
    expect(vectors.roots[1]).toBe("6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
    expect(vectors.roots[2]).toBe("fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125");
    expect(vectors.roots[3]).toBe("aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77");
    expect(vectors.roots[8]).toBe("5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328");
    expect(vectors.roots[0]).toBe(bytesToHex(sha256(new Uint8Array(0))));
  });

  test.each(CRYPTOS)("the frontier reaches every root with %s", (_, crypto) => {
    let frontier = emptyFrontier();
    const reached = [bytesToHex(frontierRoot(frontier, crypto.sha256))];
    for (const leaf of vectors.leaves) {
      frontier = appendToFrontier(frontier, anchorIdOf(hexToBytes(leaf), crypto.sha256), crypto.sha256);
      reached.push(bytesToHex(frontierRoot(frontier, crypto.sha256)));
    }
    expect(reached).toEqual(vectors.roots);
  });

  test.each(vectors.inclusion.good)("includes $name", (proof) => {
    expect(included(proof)).toBe(true);
  });

  test.each(vectors.inclusion.bad)("refuses $name", (proof) => {
    expect(included(proof)).toBe(false);
  });

  test.each(vectors.consistency.good)("is consistent, $name", (proof) => {
    expect(consistent(proof)).toBe(true);
  });

  test.each(vectors.consistency.bad)("refuses $name", (proof) => {
    expect(consistent(proof)).toBe(false);
  });
});

describe("proofs of every tree up to 70 leaves", () => {
  test("every inclusion proof verifies, at its own index only", () => {
    const wrong: string[] = [];
    for (let size = 1; size <= SIZE_MAX; size++) {
      for (let index = 0; index < size; index++) {
        const path = proveInclusion(index, size, hashAt, sha256);
        const claim = { leafHash: hashAt(0, index), index, size, path, rootHash: rootAt(size) };
        if (!verifyInclusion(claim, sha256)) wrong.push(`leaf ${index} of ${size} is refused`);
        const moved = { ...claim, index: (index + 1) % size };
        if (size > 1 && verifyInclusion(moved, sha256)) wrong.push(`leaf ${index} of ${size} passes as the next`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test("every consistency proof verifies, and not from another root", () => {
    const wrong: string[] = [];
    for (let size = 1; size <= SIZE_MAX; size++) {
      for (let oldSize = 1; oldSize <= size; oldSize++) {
        const path = proveConsistency(oldSize, size, hashAt, sha256);
        const claim = { oldSize, oldRoot: rootAt(oldSize), size, root: rootAt(size), path };
        if (!verifyConsistency(claim, sha256)) wrong.push(`${oldSize} to ${size} is refused`);
        const forged = { ...claim, oldRoot: rootAt(oldSize - 1) };
        if (verifyConsistency(forged, sha256)) wrong.push(`${oldSize} to ${size} passes from another root`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test("what a store must load is complete in the tree and is all that is asked for", () => {
    for (let size = 1; size <= SIZE_MAX; size++) {
      for (let index = 0; index < size; index++) {
        const asked: { level: number; index: number }[] = [];
        const askedFor = (level: number, at: number): Uint8Array => {
          asked.push({ level, index: at });
          return hashAt(level, at);
        };
        proveInclusion(index, size, askedFor, sha256);
        expect(asked).toEqual(subtreesForInclusion(index, size));
      }
      for (const { level, index } of subtreesForConsistency(1, size)) expect(hashAt(level, index)).toHaveLength(32);
    }
  });

  test.each([
    [0, 0],
    [1, 1],
    [-1, 2],
    [0.5, 2],
    [0, 2 ** 53],
  ])("refuses to prove leaf %d of %d", (index, size) => {
    expect(() => proveInclusion(index, size, hashAt, sha256)).toThrow(RangeError);
  });

  test.each([
    [0, 2],
    [3, 2],
    [-1, 2],
    [1.5, 2],
  ])("refuses to prove consistency of %d and %d", (oldSize, size) => {
    expect(() => proveConsistency(oldSize, size, hashAt, sha256)).toThrow(RangeError);
  });

  test("sizes beyond 32 bits keep their arithmetic", () => {
    const size = Number.MAX_SAFE_INTEGER;
    const path = subtreesForInclusion(size - 1, size);
    expect(path).toHaveLength(52);
    expect(path[51]).toEqual({ level: 52, index: 0 });
    expect(tileOf(0, 2 ** 52)).toEqual({ tileLevel: 0, tileIndex: 2 ** 44, start: 0, end: 1 });
  });
});

describe("RecentTree", () => {
  function frontierOf(size: number): ReturnType<typeof emptyFrontier> {
    return leafHashes
      .slice(0, size)
      .reduce((frontier, hash) => appendToFrontier(frontier, hash, sha256), emptyFrontier());
  }

  test.each([0, 1, 2, 3, 7, 8, 13, 32, 33])("grows from base %d with every root, frontier and path right", (base) => {
    const tree = new RecentTree(frontierOf(base), sha256);
    for (const hash of leafHashes.slice(base)) tree.append(hash);
    expect([tree.base, tree.size]).toEqual([base, SIZE_MAX]);
    for (let size = base; size <= SIZE_MAX; size++) {
      expect(equalBytes(tree.rootAt(size), rootAt(size))).toBe(true);
      expect(tree.frontierAt(size)).toEqual(frontierOf(size));
      const indexes = Array.from({ length: size - base }, (_, offset) => base + offset);
      const expected = indexes.map((index) => proveInclusion(index, size, hashAt, sha256).map(bytesToHex));
      expect(indexes.map((index) => tree.prove(index, size).map(bytesToHex))).toEqual(expected);
    }
  });

  test("forgets, goes on growing, and still proves what is above its base", () => {
    const tree = new RecentTree(emptyFrontier(), sha256);
    leafHashes.forEach((hash, index) => {
      tree.append(hash);
      if (index % 7 === 6) tree.forgetBefore(index - 3);
      tree.forgetBefore(0);
      for (let at = tree.base; at < tree.size; at++) {
        expect(tree.prove(at, tree.size)).toEqual(proveInclusion(at, tree.size, hashAt, sha256));
      }
      expect(tree.frontierAt(tree.base)).toEqual(frontierOf(tree.base));
    });
    expect(tree.base).toBe(66);
    expect(tree.subtree(0, 3)).toBeUndefined();
  });

  test("forgets many leaves at once and frees them", () => {
    const tree = new RecentTree(emptyFrontier(), sha256);
    for (let index = 0; index < 5000; index++) tree.append(leafHashes[index % SIZE_MAX] ?? EMPTY_ROOT);
    const [root, path] = [tree.rootAt(5000), tree.prove(4999, 5000)];
    tree.forgetBefore(4990);
    expect(tree.subtree(0, 4000)).toBeUndefined();
    expect(tree.rootAt(5000)).toEqual(root);
    expect(tree.prove(4999, 5000)).toEqual(path);
  });

  test.each([0, 1, 5, 8, 13])("adopts what has grown on it at size %d, and is left alone until then", (base) => {
    const [tree, other] = [base, base].map((size) => new RecentTree(frontierOf(size), sha256)) as [
      RecentTree,
      RecentTree,
    ];
    for (const count of [3, 1, 8, 20]) {
      const growth = tree.grow();
      for (const hash of leafHashes.slice(tree.size, tree.size + count)) {
        growth.append(hash);
        other.append(hash);
      }
      expect([tree.size, growth.size]).toEqual([growth.base, growth.base + count]);
      tree.adopt(growth);
      expect(tree.rootAt(tree.size)).toEqual(other.rootAt(other.size));
      expect(() => tree.adopt(growth)).toThrow(RangeError);
    }
  });

  test("refuses sizes and leaves outside its range, and a frontier that is none", () => {
    const tree = new RecentTree(frontierOf(5), sha256);
    tree.append(hashAt(0, 5));
    expect(() => tree.rootAt(4)).toThrow(RangeError);
    expect(() => tree.rootAt(7)).toThrow(RangeError);
    expect(() => tree.prove(4, 6)).toThrow(RangeError);
    expect(() => tree.prove(6, 6)).toThrow(RangeError);
    expect(() => tree.prove(5, 7)).toThrow(RangeError);
    expect(() => tree.forgetBefore(7)).toThrow(RangeError);
    expect(() => new RecentTree({ size: 5, hashes: [EMPTY_ROOT] }, sha256)).toThrow(RangeError);
    expect(() => appendToFrontier({ size: 1, hashes: [] }, EMPTY_ROOT, sha256)).toThrow(RangeError);
  });
});

describe("tiles", () => {
  const tiles = loadVectors("tiles.json") as {
    positions: { level: number; index: number; tile_level: number; tile_index: number; start: number; end: number }[];
    paths: { level: number; index: number; width: number; tile: string; entries: string }[];
    bad_widths: number[];
  };

  test.each(tiles.positions)("subtree ($level, $index)", ({ level, index, tile_level, tile_index, start, end }) => {
    expect(tileOf(level, index)).toEqual({ tileLevel: tile_level, tileIndex: tile_index, start, end });
  });

  test.each(tiles.paths)("$tile", ({ level, index, width, tile, entries }) => {
    expect(tilePath(level, index, width)).toBe(tile);
    expect(entriesPath(index, width)).toBe(entries);
  });

  test.each(tiles.bad_widths)("refuses width %d", (width) => {
    expect(() => tilePath(0, 0, width)).toThrow(RangeError);
  });

  test("the example of the specification", () => {
    expect(tilePath(0, 1_234_067, 112)).toBe("tile/0/x001/x234/067.p/112");
  });

  test("subtrees are found in the tile that holds them", () => {
    const tile = concatBytes(...leafHashes);
    for (const [level, index] of [
      [0, 0],
      [0, 69],
      [1, 3],
      [3, 7],
      [6, 0],
    ] as const) {
      const { start, end } = tileOf(level, index);
      expect(subtreeHashInTile(tile, start, end, sha256)).toEqual(hashAt(level, index));
    }
    expect(() => subtreeHashInTile(tile, 64, 128, sha256)).toThrow(RangeError);
    expect(() => subtreeHashInTile(tile, 0, 3, sha256)).toThrow(RangeError);
    expect(() => subtreeHashInTile(tile, 4, 4, sha256)).toThrow(RangeError);
  });

  test("widths of partial tiles", () => {
    expect([0, 1, 255, 256, 300].map((size) => tileWidthAt(0, 0, size))).toEqual([0, 1, 255, 256, 256]);
    expect([256, 300, 512].map((size) => tileWidthAt(0, 1, size))).toEqual([0, 44, 256]);
    expect([255, 256, 70_000].map((size) => tileWidthAt(1, 0, size))).toEqual([0, 1, 256]);
  });
});
