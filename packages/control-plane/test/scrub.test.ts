import { describe, expect, test } from "@jest/globals";
import { type Difference, type ScrubStep, StoreError } from "@event-anchoring/store";
import { Registry } from "prom-client";
import { isBusyFor } from "../src/scrub/is-busy.ts";
import { Scrub } from "../src/scrub/scrub.ts";
import { scrubMetrics } from "../src/metrics/scrub-metrics.ts";
import { StepClock, quietLogger, settle } from "./doubles.ts";

const DIFFERENCE: Difference = { table: "state.tiles", key: "level 0", column: "root", is: "aa", shouldBe: "bb" };
const FULL: ScrubStep = { rows: 100, isPassDone: false, difference: null };

interface Setup {
  readonly rowsPerSecond?: number;
  readonly steps?: (asked: number) => ScrubStep | Error;
  readonly isBusy?: () => boolean;
  /** No step ever ends. */
  readonly hangs?: boolean;
}

/** A scrub of tables that say what a test wants. */
function scrubOf({ rowsPerSecond = 25, steps = () => FULL, isBusy = () => false, hangs = false }: Setup) {
  const clock = new StepClock();
  const seen = { opened: 0, closed: 0, asked: [] as number[], found: [] as string[], logged: [] as string[] };
  const note = (event: string): void => {
    seen.logged.push(event);
  };
  const scrub = new Scrub({
    clock,
    logger: { ...quietLogger, info: note, warn: note, error: note },
    rowsPerSecond,
    isBusy,
    onDifference: (detail) => seen.found.push(detail),
    openWalk: () => {
      seen.opened += 1;
      return Promise.resolve({
        step: (rowsMax: number) => {
          seen.asked.push(rowsMax);
          if (hangs) return new Promise<ScrubStep>(() => {});
          const step = steps(seen.asked.length);
          return step instanceof Error ? Promise.reject(step) : Promise.resolve(step);
        },
        close: () => {
          seen.closed += 1;
          return Promise.resolve();
        },
      });
    },
  });
  scrub.start();
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second++) {
      clock.advance(1000);
      await settle();
    }
  };
  return { scrub, clock, seen, pass };
}

describe("a scrub", () => {
  test("looks at as many rows a second as it is told, and no more", async () => {
    const { scrub, pass, seen } = scrubOf({ rowsPerSecond: 25 });
    await pass(400);
    expect(scrub.counts.rows).toBeGreaterThan(9_500);
    expect(scrub.counts.rows).toBeLessThanOrEqual(10_000);
    expect(new Set(seen.asked)).toEqual(new Set([100]));
  });

  test("makes no step larger than others can wait for, however fast it is to be", async () => {
    const { pass, seen } = scrubOf({ rowsPerSecond: 100_000 });
    await pass(3);
    expect(Math.max(...seen.asked)).toBe(200);
  });

  test("does nothing at 0", async () => {
    const { clock, pass, seen } = scrubOf({ rowsPerSecond: 0 });
    await pass(100);
    expect([seen.opened, clock.timerCount]).toEqual([0, 0]);
  });

  test("waits while the node has better to do, and goes on then", async () => {
    let isBusy = true;
    const { pass, seen } = scrubOf({ isBusy: () => isBusy });
    await pass(60);
    expect(seen.asked).toEqual([]);
    isBusy = false;
    await pass(2);
    expect(seen.asked).toHaveLength(1);
  });

  test("counts passes, and begins again after each", async () => {
    const { scrub, clock, pass, seen } = scrubOf({ steps: (asked) => ({ ...FULL, isPassDone: asked % 2 === 0 }) });
    await pass(40);
    expect(scrub.counts.passes).toBeGreaterThan(1);
    expect(scrub.counts.lastPassMs).toBeGreaterThan(clock.wall - 40_000);
    expect([seen.opened, seen.closed]).toEqual([1, 0]);
    expect(seen.logged).toContain("scrub_passed");
  });

  test("tells the first difference with its place, and looks no further", async () => {
    const { scrub, pass, seen } = scrubOf({
      steps: (asked) => ({ ...FULL, difference: asked > 1 ? DIFFERENCE : null }),
    });
    await pass(60);
    expect(seen.found).toEqual(["state.tiles, level 0, root: is aa, should be bb"]);
    expect(seen.logged).toEqual(["scrub_difference"]);
    expect([seen.asked.length, scrub.counts.differences, scrub.counts.passes]).toEqual([2, 1, 0]);
  });

  test.each([
    ["the database is gone", new StoreError("unavailable", "no connection"), "scrub_interrupted"],
    ["it is at fault itself", new TypeError("undefined is no function"), "scrub_failed"],
  ])("begins a pass anew, on another connection, when %s", async (_, error, event) => {
    const { scrub, pass, seen } = scrubOf({ steps: (asked) => (asked === 2 ? error : FULL) });
    await pass(30);
    expect([seen.opened, seen.closed, scrub.counts.interruptions]).toEqual([2, 1, 1]);
    expect(seen.logged).toEqual([event]);
    expect(seen.found).toEqual([]);
  });

  test("closes its connection when it is stopped, and takes no further turn", async () => {
    const { scrub, pass, seen } = scrubOf({});
    await pass(2);
    await scrub.stop();
    const { length } = seen.asked;
    await pass(60);
    expect([seen.closed, seen.asked.length]).toEqual([1, length]);
  });

  test("does not keep a process from ending while a statement takes long", async () => {
    const { scrub, clock, pass } = scrubOf({ hangs: true });
    await pass(2);
    const stopped = scrub.stop();
    clock.advance(2000);
    await expect(stopped).resolves.toBeUndefined();
  });

  test("is scraped", async () => {
    const { scrub, pass } = scrubOf({ steps: (asked) => ({ ...FULL, isPassDone: asked === 3 }) });
    await pass(30);
    const registry = new Registry();
    scrubMetrics(scrub, registry);
    await registry.metrics();
    const text = await registry.metrics();
    expect(text).toContain(`anchoring_scrub_rows_checked_total ${scrub.counts.rows}\n`);
    expect(text).toContain("anchoring_scrub_passes_total 1\n");
    expect(text).toContain("anchoring_scrub_differences_total 0\n");
    expect(text).toContain("anchoring_scrub_rows_per_second 25\n");
  });
});

describe("a node is busy", () => {
  const sessionOf = (commitIndex: number, writtenIndex: number, commands: number) => ({
    consensus: {
      view: () => ({
        role: "leader" as const,
        term: 1,
        leader: "a",
        commitIndex,
        appliedIndex: commitIndex,
        lastIndex: commitIndex,
      }),
      tables: { writtenIndex },
    },
    writes: { queue: { depth: { commands, bytes: 0 } } },
  });

  test.each([
    ["that has no session", null, true],
    ["whose tables lag", sessionOf(1000, 900, 0), true],
    ["whose queue is long", sessionOf(10, 10, 5000), true],
    ["that serves", sessionOf(1000, 990, 20), false],
  ])("%s", (_, session, expected) => {
    expect(isBusyFor(session)).toBe(expected);
  });
});
