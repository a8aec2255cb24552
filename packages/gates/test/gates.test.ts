import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import {
  type Batch,
  type BatchLine,
  GATES,
  type Gate,
  ResultsError,
  appendResult,
  leastRun,
  nextSeed,
  readResults,
  runBatch,
  sourcesHash,
  tableOf,
  withTable,
} from "@event-anchoring/gates";

const CHECKOUT = fileURLToPath(new URL("../../..", import.meta.url));

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "anchoring-gates-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function gate(name: string, run: (batch: Batch) => Promise<void> = async () => {}): Gate {
  return {
    name,
    counts: "things",
    fails: "a bad one",
    toReach: 100,
    firstStop: 10,
    sources: [],
    missing: () => null,
    run,
  };
}

function line(over: Partial<BatchLine>): BatchLine {
  return {
    gate: "a",
    at: "2026-11-23T15:00:00.000Z",
    commit: "0123456",
    sources: "one",
    from: 1,
    to: 4,
    count: 4,
    figures: { acknowledged: 40 },
    failures: [],
    seconds: 60,
    ...over,
  };
}

describe("a batch", () => {
  const plan = { from: 5, jobs: 2, isOver: () => false, forMs: 1000, say: () => {}, commit: "0123456", sources: "one" };
  const clock = { now: () => "2026-11-23T15:00:00.000Z", monotonicMs: () => 1000 };

  test("counts what it has finished, with its seeds, figures and failures", async () => {
    const broken = gate("a", async ({ from, note, fail }) => {
      note(1, from, { acknowledged: 1.4 });
      note(1, from + 1, { acknowledged: 1.4 });
      fail({ seed: "6", what: "nothingIsLost: one is" });
    });
    expect(await runBatch({ gate: broken, ...plan, ...clock })).toEqual(
      line({
        from: 5,
        to: 6,
        count: 2,
        figures: { acknowledged: 3 },
        failures: [{ seed: "6", what: "nothingIsLost: one is" }],
        seconds: 0,
      }),
    );
  });

  test("that ends with an error counts what it has finished, and the error is a failure of the next seed", async () => {
    const ending = gate("a", async ({ from, note }) => {
      note(1, from);
      throw new Error("the cluster does not recover");
    });
    expect(await runBatch({ gate: ending, ...plan, ...clock })).toMatchObject({
      to: 6,
      count: 1,
      failures: [{ seed: "6", what: "the gate ended: Error: the cluster does not recover" }],
    });
  });

  test("that finished nothing is no line", async () => {
    expect(await runBatch({ gate: gate("a"), ...plan, ...clock })).toBeNull();
  });
});

describe("the file of results", () => {
  test("keeps every line in order", () => {
    const path = join(folder, "results.jsonl");
    expect(readResults(path)).toEqual([]);
    const mended = { mended: { gate: "a", seed: "6", commit: "0123456" } };
    appendResult(path, line({}));
    appendResult(path, mended);
    expect(readResults(path)).toEqual([line({}), mended]);
  });

  test.each([
    ["half a line", `${JSON.stringify(line({})).slice(0, -5)}\n`],
    ["a count that is a text", `${JSON.stringify({ ...line({}), count: "4" })}\n`],
    ["a member too many", `${JSON.stringify({ ...line({}), more: 1 })}\n`],
    ["no end of the line", JSON.stringify(line({}))],
  ])("is refused with %s", (_what, text) => {
    const path = join(folder, "results.jsonl");
    writeFileSync(path, text);
    expect(() => readResults(path)).toThrow(ResultsError);
  });

  test("of this repository can be read, and names known gates", () => {
    const lines = readResults(join(CHECKOUT, "test/gates/results.jsonl"));
    const names = new Set(lines.flatMap((each) => ("gate" in each ? [each.gate] : [each.mended.gate])));
    expect(GATES.map(({ name }) => name)).toEqual(expect.arrayContaining([...names]));
  });
});

describe("what runs next", () => {
  test("is what is furthest from its first stop, and then from what a release needs", () => {
    const [a, b] = [gate("a"), gate("b")];
    const counted =
      (counts: Readonly<Record<string, number>>) =>
      ({ name }: Gate): number =>
        counts[name] ?? 0;
    expect(leastRun([a, b], counted({ a: 9, b: 8 }))).toBe(b);
    expect(leastRun([a, b], counted({ a: 9, b: 50 }))).toBe(a);
    expect(leastRun([a, b], counted({ a: 60, b: 50 }))).toBe(b);
    expect(leastRun([], counted({}))).toBeNull();
  });

  test("begins with the first seed that this code has not seen", () => {
    const lines = [line({ to: 4 }), line({ from: 5, to: 9 }), line({ sources: "two", to: 30 })];
    expect([nextSeed(lines, "a", "one"), nextSeed(lines, "a", "three"), nextSeed(lines, "b", "one")]).toEqual([
      10, 1, 1,
    ]);
  });
});

describe("the hash of sources", () => {
  const hashOf = (code: string, name = "a.ts"): string => {
    mkdirSync(join(folder, "src/test"), { recursive: true });
    writeFileSync(join(folder, "src", name), code);
    return sourcesHash(folder, ["src"]);
  };

  test("stays for other comments, layout and tests, and changes with the code", () => {
    const first = hashOf("/** One. */\nexport const limit = 1;\n");
    expect(first).toMatch(/^[0-9a-f]{16}$/);
    expect(hashOf("// Two.\nexport const limit =\n  1; // three\n")).toBe(first);
    expect(hashOf("export const limit = 5;", "test/a.ts")).toBe(first);
    expect(hashOf("export const limit = 2;\n")).not.toBe(first);
  });

  test("can be made for every gate", () => {
    expect(GATES.map(({ sources }) => sourcesHash(CHECKOUT, sources))).toEqual(
      GATES.map(() => expect.stringMatching(/^[0-9a-f]{16}$/)),
    );
  });
});

describe("the table", () => {
  test("has the newest code's count, what was ever run, and every failure with what mended it", () => {
    const failed = line({ failures: [{ seed: "3", what: "a | b" }] });
    const lines = [failed, { mended: { gate: "a", seed: "3", commit: "89abcde" } }, line({ sources: "two", count: 7 })];
    const table = tableOf([gate("a"), gate("b")], lines);
    expect(table).toContain("| a | things | `0123456` | 7 | 10 | 100 | 0 | 11 | 1 | 0.0 h |");
    expect(table).toContain("| b | things | – | 0 | 10 | 100 | 0 | 0 | 0 | 0.0 h |");
    expect(table).toContain("- `a` on that code: acknowledged 40.");
    expect(table).toContain("| a | 3 | `0123456` | a \\| b | `89abcde` |");
    expect(tableOf([gate("a")], [...lines, failed])).toContain("| a | 3 | `0123456` | a \\| b | not yet |");
    expect(tableOf([{ ...gate("a"), means: { acknowledged: null } }], [line({})])).toContain("acknowledged 10.0 each.");
    const judged = line({ figures: { percent: 909, judged: 9 } });
    expect(tableOf([{ ...gate("a"), means: { percent: "judged" } }], [judged])).toContain("percent 101.0 each.");
    expect(tableOf([gate("a")], [])).toContain("No batch has been run.");
  });

  test("in docs/testing.md is what the file of results says", () => {
    const page = readFileSync(join(CHECKOUT, "docs/testing.md"), "utf8");
    const lines = readResults(join(CHECKOUT, "test/gates/results.jsonl"));
    expect(withTable(page, tableOf(GATES, lines))).toBe(page);
  });
});
