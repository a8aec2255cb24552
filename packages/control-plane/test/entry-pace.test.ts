import { describe, expect, test } from "@jest/globals";
import { EntryPace } from "../src/proposals/entry-pace.ts";

const NOW = 1000;

/** What waits since now. */
const waiting = (commands: number, bytes = commands * 100) => ({ commands, bytes, oldestMs: NOW });

/** Entries take this long. */
function paceOf(entryMs: number): EntryPace {
  const pace = new EntryPace();
  for (let entry = 0; entry < 100; entry++) pace.onSettled(NOW, { commands: 1, sinceMs: NOW - entryMs }, 0);
  return pace;
}

describe("with nothing under way", () => {
  test("a first entry is due at once", () => {
    expect(new EntryPace().dueMs(waiting(1), undefined)).toBe(NOW);
  });

  test("a client that is alone waits for nobody", () => {
    expect(paceOf(8).dueMs(waiting(1), undefined)).toBe(NOW);
  });

  test("what waits waits for those who were answered: for as long as an entry takes, 12 ms at most", () => {
    for (const [entryMs, waitMs] of [
      [8, 8],
      [100, 12],
    ] as const) {
      const pace = paceOf(entryMs);
      pace.onSettled(NOW, { commands: 32, sinceMs: NOW - entryMs }, 32);
      expect(pace.dueMs(waiting(60), undefined)).toBeCloseTo(NOW + waitMs, 3);
      expect(pace.dueMs(waiting(61), undefined)).toBe(NOW);
    }
  });

  test("what does not come back is soon not waited for", () => {
    const pace = paceOf(8);
    pace.onSettled(NOW, { commands: 64, sinceMs: NOW - 8 }, 0);
    let entries = 0;
    while (pace.dueMs(waiting(1), undefined) > NOW && entries < 100) {
      pace.onSettled(NOW, { commands: 1, sinceMs: NOW - 8 }, 0);
      entries += 1;
    }
    expect(entries).toBe(19);
  });

  test("128 KiB wait for nothing", () => {
    const pace = paceOf(8);
    pace.onSettled(NOW, { commands: 1000, sinceMs: NOW - 8 }, 0);
    expect(pace.dueMs(waiting(1, 128 * 1024 - 1), undefined)).toBeGreaterThan(NOW);
    expect(pace.dueMs(waiting(1, 128 * 1024), undefined)).toBe(NOW);
  });
});

describe("with an entry under way", () => {
  const underWay = { commands: 10, sinceMs: NOW - 2 };

  test("a second one is due when its oldest command has waited for as long as an entry takes, 3 to 40 ms", () => {
    for (const [entryMs, waitMs] of [
      [0, 3],
      [10, 10],
      [100, 40],
    ] as const) {
      expect(paceOf(entryMs).dueMs(waiting(9), underWay)).toBeCloseTo(NOW + waitMs, 3);
    }
  });

  test("with as many commands it is due when the first has taken 20 ms: then links are waited for", () => {
    expect(paceOf(100).dueMs(waiting(10), underWay)).toBe(NOW + 18);
    expect(paceOf(10).dueMs(waiting(10), underWay)).toBeCloseTo(NOW + 10, 3);
  });

  test("with 128 KiB it is due at once", () => {
    expect(paceOf(100).dueMs(waiting(1, 128 * 1024), underWay)).toBe(NOW);
  });
});
