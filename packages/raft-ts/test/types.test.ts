import { expect, test } from "@jest/globals";
import type { EntryId, RaftIndex, Term } from "../src/index.ts";

test("an index and a term are numbers that the compiler keeps apart", () => {
  const index: RaftIndex = 7;
  const term: Term = 2;
  const next: RaftIndex = index + 1;
  // @ts-expect-error: a term is no index
  const wrong: EntryId = { index: term, term };
  // @ts-expect-error: an index is no term
  const alsoWrong: EntryId = { index, term: index };
  expect([next, wrong, alsoWrong]).toEqual([8, { index: 2, term: 2 }, { index: 7, term: 7 }]);
});
