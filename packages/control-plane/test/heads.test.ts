import { expect, test } from "@jest/globals";
import { toOriginFingerprint } from "@event-anchoring/protocol";
import { Head, Heads } from "../src/certification/heads.ts";

const [BUSY, QUIET] = [origin(1), origin(2)];

function origin(byte: number) {
  return toOriginFingerprint(new Uint8Array(32).fill(byte));
}

function head(of: ReturnType<typeof origin>, treeSize: number): Head {
  return new Head(of, treeSize, new Uint8Array(32));
}

test("the newest 256 sizes of an origin are remembered", () => {
  const heads = new Heads();
  for (let size = 1; size <= 300; size++) heads.add(head(BUSY, size));
  expect(heads.find(BUSY, 44)).toBeUndefined();
  expect(heads.find(BUSY, 45)).toBeDefined();
  expect([...heads.newestFirst()]).toHaveLength(256);
});

test("an origin that grows no more gives its place to others, but for what is in dispute", () => {
  const heads = new Heads();
  for (let size = 1; size <= 10; size++) heads.add(head(QUIET, size));
  const disputed = heads.find(QUIET, 7);
  if (disputed !== undefined) disputed.dispute = { sinceMs: 0, withholds: true, floor: 6 };
  for (let each = 3; each < 7; each++) for (let size = 1; size <= 254; size++) heads.add(head(origin(each), size));
  expect(heads.find(QUIET, 2)).toBeUndefined();
  expect(heads.find(QUIET, 3)).toBeDefined();
  for (let size = 1; size <= 200; size++) heads.add(head(origin(7), size));
  const kept = [...heads.newestFirst()];
  expect(kept).toHaveLength(1024);
  expect(kept.filter(({ originFingerprint }) => originFingerprint === QUIET)).toEqual([disputed]);
  expect(heads.floorBelow(head(QUIET, 7))).toBe(0);
});

test("an origin of which nothing is remembered begins anew", () => {
  const heads = new Heads();
  heads.add(head(QUIET, 1));
  for (let each = 3; each < 8; each++) for (let size = 1; size <= 256; size++) heads.add(head(origin(each), size));
  expect(heads.find(QUIET, 1)).toBeUndefined();
  heads.add(head(QUIET, 1));
  expect(heads.find(QUIET, 1)).toBeDefined();
  expect([...heads.newestFirst()]).toHaveLength(1024);
});
