import { describe, expect, test } from "@jest/globals";
import { LOG_ROW_BYTES, LogSizes } from "../src/raft/log-sizes.ts";

/** mulberry32: whole numbers below a bound. */
function seededNumbers(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

interface Sized {
  readonly index: number;
  readonly bytes: number;
}

/** The same by adding up a list. */
class SummedLog {
  rows: Sized[];
  applied: number;

  constructor(compactedTo: number, rows: readonly Sized[]) {
    this.rows = [...rows];
    this.applied = compactedTo;
  }

  get bytes(): number {
    return this.rows.reduce((sum, row) => sum + row.bytes + LOG_ROW_BYTES, 0);
  }

  cutFor(bytes: number): number {
    const applied = this.rows.filter(({ index }) => index <= this.applied);
    let held = applied.reduce((sum, row) => sum + row.bytes + LOG_ROW_BYTES, 0);
    let at = (this.rows[0]?.index ?? this.applied + 1) - 1;
    for (const row of applied) {
      if (held <= bytes) break;
      held -= row.bytes + LOG_ROW_BYTES;
      at = row.index;
    }
    return at;
  }
}

describe("the sizes of a log", () => {
  test.each([1, 2, 3])("are those that adding up its rows gives, in a long life: seed %d", (seed) => {
    const below = seededNumbers(seed);
    const start = below(5000);
    const loaded = Array.from({ length: below(4000) }, (_, at) => ({ index: start + 1 + at, bytes: below(3000) }));
    const summed = new SummedLog(start, loaded);
    const entries = loaded.map(({ index, bytes }) => ({ index, payloadBytes: bytes }));
    const sizes = new LogSizes({ compactedTo: start, applied: start, entries });
    for (let step = 0; step < 600; step++) {
      const last = summed.rows.at(-1)?.index ?? sizes.compactedTo;
      const first = last + 1 - below(Math.min(50, last - summed.applied + 1));
      const added = Array.from({ length: below(30) }, (_, at) => ({ index: first + at, bytes: below(9000) }));
      if (added.length > 0) summed.rows = [...summed.rows.filter(({ index }) => index < first), ...added];
      sizes.append(added.map(({ index, bytes }) => ({ index, payload: new Uint8Array(bytes) })));
      const end = summed.rows.at(-1)?.index ?? sizes.compactedTo;
      summed.applied = Math.max(summed.applied, end - below(200));
      sizes.onApplied(summed.applied);
      const bound = below(4_000_000);
      expect(sizes.cutFor(bound)).toBe(summed.cutFor(bound));
      if (below(4) === 0) {
        const upTo = sizes.cutFor(bound);
        sizes.forget(upTo);
        summed.rows = summed.rows.filter(({ index }) => index > upTo);
      }
      expect([sizes.bytes, sizes.entries]).toEqual([summed.bytes, summed.rows.length]);
    }
  });

  test("after a restart they are those of before", () => {
    const entries = Array.from({ length: 3000 }, (_, at) => ({ index: 11 + at, payloadBytes: at }));
    const before = new LogSizes({ compactedTo: 10, applied: 10, entries });
    before.onApplied(2500);
    before.forget(1200);
    const left = entries.filter(({ index }) => index > 1200);
    const after = new LogSizes({ compactedTo: 1200, applied: 2500, entries: left });
    for (const sizes of [before, after]) {
      expect([sizes.entries, sizes.compactedTo]).toEqual([1810, 1200]);
      expect(sizes.cutFor(1_000_000)).toBe(before.cutFor(1_000_000));
    }
    expect([after.bytes, after.appliedBytes]).toEqual([before.bytes, before.appliedBytes]);
  });

  test("an empty log has none, and nothing is cut", () => {
    const sizes = new LogSizes({ compactedTo: 0, applied: 0, entries: [] });
    expect([sizes.entries, sizes.bytes, sizes.cutFor(0)]).toEqual([0, 0, 0]);
  });

  test.each([
    ["after a gap", 14],
    ["in the place of what is applied", 11],
    ["in the place of what is gone", 3],
  ])("an entry %s is refused", (_, index) => {
    const entries = [11, 12].map((at) => ({ index: at, payloadBytes: 1 }));
    const sizes = new LogSizes({ compactedTo: 10, applied: 11, entries });
    expect(() => sizes.append([{ index, payload: new Uint8Array(1) }])).toThrow(RangeError);
  });
});
