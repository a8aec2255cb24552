import { beforeAll, describe, expect, test } from "@jest/globals";
import { liveDay } from "../src/day/live-day.ts";
import type { DayResult } from "../src/day/live-day.ts";

// A short day on a real cluster, with one thing that clients were told and that is not so: it is found, and no other.

const TIMEOUT_MS = 600_000;
/** Long enough for a turn. */
const DAY_MS = 180_000;
const WARM_ANSWERS = 200;
/** A record that was acknowledged at its end, and that no node holds. */
const MISSING = "ab".repeat(32);

let result: DayResult;
let acknowledged = 0;
let minutes = 0;

beforeAll(async () => {
  const startedMs = performance.now();
  result = await liveDay({
    seed: 1,
    forMs: DAY_MS,
    warmAnswers: WARM_ANSWERS,
    isOver: () => performance.now() > startedMs + DAY_MS,
    onMinute: () => (minutes += 1),
    say: (line) => void process.stdout.write(`${line}\n`),
    beforeAudit: ({ anchored, attempted }) => {
      acknowledged = anchored.length;
      const last = anchored.findLast(({ kind }) => kind === "event");
      if (last === undefined) throw new Error("no event was acknowledged");
      attempted.add(`event ${MISSING}`);
      const { sequence, depth } = last;
      anchored.push({ ...last, content: MISSING, anchorId: MISSING, sequence: sequence + 1e6, depth: depth + 1e6 });
    },
  });
}, TIMEOUT_MS);

describe("a short day", () => {
  test("has clients, turns of an operator, and an audit that misses what no node holds", () => {
    expect(result.broken.filter((line) => !line.includes(MISSING))).toEqual([]);
    expect(result.broken).toContainEqual(expect.stringMatching(new RegExp(`^lost: event ${MISSING}, acknowledged as`)));
    expect(acknowledged).toBeGreaterThan(100);
    expect(result).toMatchObject({ anchored: acknowledged + 1, turns: { "rolling restarts": 1 } });
    expect(result.heads).toBeGreaterThan(10);
    expect(minutes).toBeGreaterThan(0);
  });

  test("is too short to be judged", () => {
    expect(result.judged).toBeNull();
  });
});
