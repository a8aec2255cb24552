import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { flipBack, flipBit } from "@event-anchoring/testkit/faults";

const BYTES = Buffer.alloc(20_000, 7);

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "anchoring-flips-"));
  path = join(folder, "file");
  writeFileSync(path, BYTES);
});

afterEach(() => rmSync(folder, { recursive: true }));

test("one bit is another one, and is given back", () => {
  const flipped = flipBit(path, 9000, 3);
  const other = Buffer.from(BYTES);
  other[9000] = 7 ^ 8;
  expect(readFileSync(path)).toEqual(other);
  expect(flipBack(flipped)).toBe(true);
  expect(readFileSync(path)).toEqual(BYTES);
});

test("a block that was written meanwhile stays as it is, and other blocks may have been written", () => {
  const flipped = flipBit(path, 9000, 3);
  const written = readFileSync(path);
  written[8192] = 0;
  writeFileSync(path, written);
  expect(flipBack(flipped)).toBe(false);
  expect(readFileSync(path)).toEqual(written);
  written[8192] = 7;
  written[0] = 1;
  writeFileSync(path, written);
  expect(flipBack(flipped)).toBe(true);
  expect(readFileSync(path)[9000]).toBe(7);
});

test("a byte that is not there is not altered", () => {
  expect(() => flipBit(path, BYTES.length, 0)).toThrow(RangeError);
});
