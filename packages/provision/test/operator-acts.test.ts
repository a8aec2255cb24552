import { describe, expect, test } from "@jest/globals";
import type { OperatorResult } from "@event-anchoring/control-contract";
import { usedCounterText } from "@event-anchoring/ledger";
import { withNextCounter } from "../src/operator-acts.ts";

const HOUR_MS = 60 * 60_000;
const APPLIED: OperatorResult = { outcome: "applied", finality: "certified" };

/** A cluster whose newest act of the operator has this counter. @returns the counters that came */
async function sentTo(
  newest: number,
): Promise<{ readonly counters: readonly number[]; readonly result: OperatorResult }> {
  const counters: number[] = [];
  const result = await withNextCounter(async (counter) => {
    counters.push(counter);
    if (counter > newest) return APPLIED;
    const detail = usedCounterText({ operator: "alice", counter: newest });
    return { outcome: "rejected", code: "operator_counter_used", detail };
  });
  return { counters, result };
}

describe("the counter of an operator's act", () => {
  test("is this clock's, and never the same twice", async () => {
    const first = await sentTo(0);
    const second = await sentTo(0);
    expect([first.result, first.counters.length]).toEqual([APPLIED, 1]);
    expect(second.counters[0]).toBeGreaterThan(first.counters[0] ?? Number.MAX_SAFE_INTEGER);
  });

  test("does not follow one that no clock explains: a node may lie, and a counter is used up for good", async () => {
    const absurd = Date.now() + 1000 * HOUR_MS;
    const { counters, result } = await sentTo(absurd);
    expect(counters).toHaveLength(1);
    expect(result).toMatchObject({ outcome: "rejected", code: "operator_counter_used" });
  });

  test("follows the one that the cluster knows if the operator's clock once ran ahead", async () => {
    const ahead = Date.now() + HOUR_MS;
    const { counters, result } = await sentTo(ahead);
    expect([counters.at(-1), counters.length, result]).toEqual([ahead + 1, 2, APPLIED]);
    // And goes on from there.
    expect((await sentTo(ahead)).counters).toEqual([ahead + 2]);
  });

  test("is not tried for ever", async () => {
    const counters: number[] = [];
    const result = await withNextCounter(async (counter) => {
      counters.push(counter);
      const detail = usedCounterText({ operator: "alice", counter: counter + 1 });
      return { outcome: "rejected", code: "operator_counter_used", detail };
    });
    expect([counters.length, result.outcome]).toEqual([2, "rejected"]);
  });
});
