import { describe, expect, test } from "@jest/globals";
import type { Entry } from "raft-ts";
import { PayloadCache } from "../src/raft/payload-cache.ts";

const MIB = 1024 * 1024;
const entry = (index: number, term = 1, bytes = MIB): Entry => ({
  index,
  term,
  type: "normal",
  payload: new Uint8Array(bytes),
});

/** Indexes that are held, of those up to `last`. */
function held(cache: PayloadCache, last: number, term = 1): readonly number[] {
  return Array.from({ length: last }, (_, at) => at + 1).filter((index) => cache.get({ index, term }) !== null);
}

describe("the bytes of log entries", () => {
  test("stay until they are durable and applied, then the oldest go where there is no room", () => {
    const cache = new PayloadCache();
    for (let index = 1; index <= 20; index++) cache.put([entry(index)]);
    expect(held(cache, 20)).toHaveLength(20);
    cache.noteApplied(2);
    cache.noteDurable(20);
    expect(held(cache, 20)).toHaveLength(20);
    cache.noteApplied(3);
    expect(held(cache, 20)).toEqual([4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);
    cache.noteApplied(20);
    expect(held(cache, 20)).toEqual([5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);
  });

  test("a suffix that is replaced is gone, also where it begins before the oldest that is held", () => {
    const cache = new PayloadCache();
    cache.put([entry(11), entry(12), entry(13)]);
    cache.put([entry(12, 2)]);
    expect([held(cache, 13), held(cache, 13, 2)]).toEqual([[11], [12]]);
    cache.put(Array.from({ length: 20 }, (_, at) => entry(at + 5, 3)));
    expect(held(cache, 24, 1)).toEqual([]);
    cache.noteDurable(24);
    cache.noteApplied(24);
    expect(held(cache, 24, 3)).toEqual([9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24]);
  });

  test("are dropped up to an index on request, and those that follow in their turn", () => {
    const cache = new PayloadCache();
    for (let index = 1; index <= 16; index++) cache.put([entry(index)]);
    cache.noteDurable(16);
    cache.noteApplied(16);
    cache.forget(3);
    expect(held(cache, 16)[0]).toBe(4);
    for (let index = 17; index <= 20; index++) cache.put([entry(index)]);
    cache.noteDurable(20);
    cache.noteApplied(20);
    expect(held(cache, 20)).toEqual([5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);
  });
});
