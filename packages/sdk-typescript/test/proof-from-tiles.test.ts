import { describe, expect, test } from "@jest/globals";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { concatBytes, interiorHash, verifyConsistency } from "@event-anchoring/protocol";
import { proofFromTiles } from "../src/index.ts";

// Growth of a log that is read without a key: the proof is made in the page, from the tiles of C2SP tlog-tiles.

const { sha256 } = nodeCrypto;
const ABSENT = new Uint8Array(0);
const SIZE_MAX = 66_000;
const LEAF_HASHES = Array.from({ length: SIZE_MAX }, (_, at) => sha256(new TextEncoder().encode(`${at}`)));

/** Roots of the perfect subtrees, level by level. */
function levelsOf(hashes: readonly Uint8Array[]): (readonly Uint8Array[])[] {
  const levels = [hashes];
  for (let below = hashes; below.length > 1;) {
    const pairs = Math.floor(below.length / 2);
    below = Array.from({ length: pairs }, (_, at) =>
      interiorHash(below[at * 2] ?? ABSENT, below[at * 2 + 1] ?? ABSENT, sha256),
    );
    levels.push(below);
  }
  return levels;
}

const LEVELS = levelsOf(LEAF_HASHES);

/** From the largest perfect subtree on the left to the smallest on the right. */
function rootOf(size: number): Uint8Array {
  const parts: Uint8Array[] = [];
  for (let start = 0, level = LEVELS.length; level >= 0; level--) {
    if (start + 2 ** level > size) continue;
    parts.push(LEVELS[level]?.[start / 2 ** level] ?? ABSENT);
    start += 2 ** level;
  }
  return parts.reduceRight((right, left) => interiorHash(left, right, sha256));
}

/** What a node answers, and how often it was asked. */
function tilesOf(size: number) {
  const asked: string[] = [];
  const fetchTile = (path: string): Promise<Uint8Array> => {
    asked.push(path);
    const [, level = "", index = "", width = "256"] = /^tile\/(\d)\/([x\d/]+?)(?:\.p\/(\d+))?$/u.exec(path) ?? [];
    const first = Number(index.replaceAll(/[x/]/gu, "")) * 256;
    const hashes = LEVELS[Number(level) * 8]?.slice(0, Math.floor(size / 256 ** Number(level))) ?? [];
    return Promise.resolve(concatBytes(...hashes.slice(first, first + Number(width))));
  };
  return { asked, fetchTile };
}

describe("a proof from tiles", () => {
  test.each([
    [1, 2],
    [3, 7],
    [255, 256],
    [256, 300],
    [257, 600],
    [600, 1025],
    [4096, 65_536],
    [65_535, 65_537],
    [65_000, 66_000],
  ])("shows that %s leaves are the beginning of %s", async (oldSize, size) => {
    const { asked, fetchTile } = tilesOf(size);
    const path = await proofFromTiles(oldSize, size, fetchTile);
    const claim = { oldSize, oldRoot: rootOf(oldSize), size, root: rootOf(size), path };
    expect(verifyConsistency(claim, sha256)).toBe(true);
    expect(new Set(asked).size).toBe(asked.length);
    expect(asked.length).toBeLessThanOrEqual(8);
  });

  test("the full tile takes the place of a partial one that is gone", async () => {
    const { asked, fetchTile } = tilesOf(600);
    const onlyFull = (path: string): Promise<Uint8Array | null> =>
      path.includes(".p/") ? Promise.resolve(null) : fetchTile(path);
    // By now the log has 600 leaves, of which the head of 300 is the beginning.
    const path = await proofFromTiles(257, 300, (tile) =>
      tile.startsWith("tile/0/") ? onlyFull(tile) : fetchTile(tile),
    );
    const claim = { oldSize: 257, oldRoot: rootOf(257), size: 300, root: rootOf(300), path };
    expect(verifyConsistency(claim, sha256)).toBe(true);
    expect(asked).toContain("tile/0/001");
  });

  test("a tile that is nowhere is no answer, and a full one is asked for once", async () => {
    const asked: string[] = [];
    const nowhere = (path: string): Promise<null> => {
      asked.push(path);
      return Promise.resolve(null);
    };
    await expect(proofFromTiles(5, 9, nowhere)).rejects.toMatchObject({ code: "answer_malformed" });
    expect(asked).toEqual(["tile/0/000.p/9", "tile/0/000"]);
    asked.length = 0;
    await expect(proofFromTiles(5, 256, nowhere)).rejects.toMatchObject({ code: "answer_malformed" });
    expect(asked).toEqual(["tile/0/000"]);
  });

  test("a tile that is too short is no answer, and one that is wrong proves nothing", async () => {
    const short = proofFromTiles(5, 9, () => Promise.resolve(new Uint8Array(32)));
    await expect(short).rejects.toMatchObject({ code: "answer_malformed" });
    const path = await proofFromTiles(5, 9, () => Promise.resolve(new Uint8Array(9 * 32)));
    const claim = { oldSize: 5, oldRoot: rootOf(5), size: 9, root: rootOf(9), path };
    expect(verifyConsistency(claim, sha256)).toBe(false);
  });
});
