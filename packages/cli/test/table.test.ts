import { describe, expect, test } from "@jest/globals";
import { alignColumns } from "../src/terminal/table.ts";

describe("alignColumns", () => {
  test.each([
    ["no rows", [], []],
    ["a row without cells", [[]], [""]],
    [
      "columns of different widths",
      [
        ["a", "bb"],
        ["ccc", "d"],
      ],
      ["a    bb", "ccc  d"],
    ],
    [
      "an empty last cell, without blanks behind the row",
      [
        ["a", ""],
        ["b", "long"],
      ],
      ["a", "b  long"],
    ],
    ["rows of different lengths", [["a"], ["bb", "c"]], ["a", "bb  c"]],
    [
      "colours, which take no room",
      [
        ["\u001b[32m✓\u001b[39m", "x"],
        ["yes", "y"],
      ],
      ["\u001b[32m✓\u001b[39m    x", "yes  y"],
    ],
  ])("aligns %s", (_title, rows, lines) => {
    expect(alignColumns(rows)).toEqual(lines);
  });
});
