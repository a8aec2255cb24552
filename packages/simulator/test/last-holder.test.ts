import { describe, expect, test } from "@jest/globals";
import { lastHolder } from "../src/lives/last-holder.ts";

/** A member whose log has entries after the one and up to the other. */
function member(name: string, begin: number, end: number): Parameters<typeof lastHolder>[0][number] {
  const entry = { index: end, term: 1, type: "normal", payload: new Uint8Array(0) } as const;
  const rows = end === begin ? [] : [{ entry, commitHint: end, isCorrupt: false }];
  return { name, database: { compacted: { index: begin, term: 1 }, rows } };
}

const LOST = [member("a", 0, 12), member("c", 0, 35)];

describe("of five nodes, of which two are lost", () => {
  test("one is left alone with the state, if the logs of both others end before its own begins", () => {
    expect(lastHolder([member("b", 0, 10), member("d", 33, 40), member("e", 5, 32)], LOST)?.name).toBe("d");
  });

  test("none is, if another log reaches the beginning of it: that node gets the rest", () => {
    expect(lastHolder([member("b", 0, 10), member("d", 33, 40), member("e", 5, 33)], LOST)).toBeNull();
  });

  test("none is, if another one has cut its log as far", () => {
    expect(lastHolder([member("b", 0, 10), member("d", 33, 40), member("e", 33, 33)], LOST)).toBeNull();
  });

  test("none is excused that cut what no other node had", () => {
    const serving = [member("b", 0, 10), member("d", 33, 40), member("e", 5, 32)];
    expect(lastHolder(serving, [member("a", 0, 12), member("c", 0, 32)])).toBeNull();
  });
});

test("of four nodes that are left, and of two, none is alone for good", () => {
  const [b, d, e, a] = [member("b", 0, 10), member("d", 33, 40), member("e", 5, 32), member("a", 0, 1)];
  const lost = [member("c", 0, 35)];
  expect(lastHolder([a, b, d, e], lost)).toBeNull();
  expect(lastHolder([b, d], lost)).toBeNull();
});
