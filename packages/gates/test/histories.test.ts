import { describe, expect, test } from "@jest/globals";
import { worthOf } from "../src/gates/histories.ts";

describe("a history", () => {
  const good = { verdict: "linearizable", operations: 10_000, operationsMeanwhile: 100 } as const;

  test("is counted if it was judged, with enough before and under the faults", () => {
    expect(worthOf(good)).toEqual({ isProof: true, as: "linearizable" });
    expect(worthOf({ ...good, verdict: "not linearizable" })).toEqual({ isProof: true, as: "not linearizable" });
  });

  test.each([
    [{ verdict: "undecided" }, "undecided"],
    [{ verdict: "invalid" }, "invalid"],
    [{ operations: 9999 }, "too short"],
    [{ operationsMeanwhile: 99 }, "too little under the faults"],
  ] as const)("is left out with %j", (changes, as) => {
    expect(worthOf({ ...good, ...changes })).toEqual({ isProof: false, as });
  });
});
