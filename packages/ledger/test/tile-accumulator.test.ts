import { describe, expect, test } from "@jest/globals";
import { RecentTree, emptyFrontier, subtreeHashInTile } from "@event-anchoring/protocol";
import { TileAccumulator, openTileWidth, tileLevelsAt } from "../src/index.ts";
import type { CompletedTile } from "../src/index.ts";
import { hash, sha256 } from "../../../test/worlds/cluster.ts";

const LEAVES = Array.from({ length: 70_000 }, (_, at) => hash(`leaf ${at}`));

function appendAll(tiles: TileAccumulator, leaves: readonly Uint8Array[]): CompletedTile[] {
  return leaves.flatMap((leaf) => tiles.append(leaf));
}

describe("tiles", () => {
  const tiles = new TileAccumulator(0, [], sha256);
  const completed = appendAll(tiles, LEAVES);

  test("are those of C2SP tlog-tiles: every hash is that of its subtree", () => {
    const tree = new RecentTree(emptyFrontier(), sha256);
    for (const leaf of LEAVES) tree.append(leaf);
    expect(completed).toHaveLength(Math.floor(LEAVES.length / 256) + 1);
    for (const { level, index, root, hashes } of completed) {
      expect(root).toEqual(tree.subtree((level + 1) * 8, index));
      expect(subtreeHashInTile(hashes, 0, 256, sha256)).toEqual(root);
      expect(hashes.slice(32, 64)).toEqual(tree.subtree(level * 8, index * 256 + 1));
    }
    expect(completed.filter(({ level }) => level === 1)).toMatchObject([{ index: 0 }]);
  });

  test("open tiles are as wide as the size says", () => {
    const open = tiles.openTiles();
    expect(open.map(({ length }) => length)).toEqual([70_000 % 256, Math.floor(70_000 / 256) % 256, 1]);
    expect(tileLevelsAt(70_000)).toBe(3);
    expect([0, 1, 2, 3].map((level) => openTileWidth(level, 70_000))).toEqual([112, 17, 1, 0]);
  });

  test.each([0, 1, 255, 256, 257, 65_535, 65_536, 65_700])("go on from stored parts at size %d", (size) => {
    const whole = new TileAccumulator(0, [], sha256);
    appendAll(whole, LEAVES.slice(0, size));
    const restored = new TileAccumulator(size, whole.openTiles(), sha256);
    const more = LEAVES.slice(size, size + 600);
    expect(appendAll(restored, more)).toEqual(appendAll(whole, more));
    expect(restored.openTiles()).toEqual(whole.openTiles());
  });

  test("a fork leaves its source alone, and reads the roots of its tiles from a tree that has them", () => {
    let hashed = 0;
    const counting = (bytes: Uint8Array): Uint8Array => {
      hashed++;
      return sha256(bytes);
    };
    const source = new TileAccumulator(0, [], counting);
    const fork = source.fork();
    const tree = new RecentTree(emptyFrontier(), sha256).grow();
    const done = LEAVES.slice(0, 1000).flatMap((leaf) => {
      tree.append(leaf);
      return fork.append(leaf, tree);
    });
    expect(source.treeSize).toBe(0);
    expect(hashed).toBe(0);
    expect(done).toEqual(appendAll(source, LEAVES.slice(0, 1000)));
    expect(source.openTiles()).toEqual(fork.openTiles());
  });

  test.each<[string, number, Uint8Array[][]]>([
    ["missing", 3, []],
    ["too few", 3, [LEAVES.slice(0, 2)]],
    ["too many", 3, [LEAVES.slice(0, 4)]],
    ["on a level that is empty", 3, [LEAVES.slice(0, 3), LEAVES.slice(0, 1)]],
    ["missing above", 256, [[]]],
  ])("stored hashes that are %s are refused", (_, size, open) => {
    expect(() => new TileAccumulator(size, open, sha256)).toThrow(RangeError);
  });
});
