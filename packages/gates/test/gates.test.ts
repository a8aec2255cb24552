import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import {
  type Batch,
  type BatchLine,
  EarlierSources,
  GATES,
  GateRests,
  type Gate,
  type MendedLine,
  ResultsError,
  appendResult,
  leastRun,
  nextSeed,
  readResults,
  rehash,
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
    judge: "judge",
    node: "v24.0.0",
    jobs: 2,
    ...over,
  };
}

describe("a batch", () => {
  const plan = {
    from: 5,
    jobs: 2,
    isOver: () => false,
    forMs: 1000,
    say: () => {},
    commit: "0123456",
    sources: () => "one",
    judge: "judge",
    node: "v24.0.0",
  };
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

  test("names files by their place in the repository", async () => {
    const what = `at ask (file://${CHECKOUT}packages/a.js:1:2), ${CHECKOUT}packages/b.js`;
    const failing = gate("a", async ({ fail }) => fail({ seed: "5", what }));
    expect(await runBatch({ gate: failing, ...plan, ...clock })).toMatchObject({
      failures: [{ seed: "5", what: "at ask (packages/a.js:1:2), packages/b.js" }],
    });
    expect(readFileSync(join(CHECKOUT, "test/gates/results.jsonl"), "utf8")).not.toContain("file://");
  });

  test("during which the sources change counts for no code", async () => {
    let sources = "one";
    const changing = gate("a", async ({ from, note }) => {
      note(1, from);
      sources = "two";
    });
    const changed = await runBatch({ gate: changing, ...plan, ...clock, sources: () => sources });
    expect(changed).toMatchObject({ count: 1, sources: "changed" });
    expect(["one", "two"].map((hash) => nextSeed(changed === null ? [] : [changed], "a", hash))).toEqual([1, 1]);
  });

  test("that finished nothing and failed is a line", async () => {
    const failing = gate("a", async ({ fail }) => fail({ seed: "5", what: "no node starts" }));
    expect(await runBatch({ gate: failing, ...plan, ...clock })).toMatchObject({
      from: 5,
      to: 5,
      count: 0,
      failures: [{ seed: "5", what: "no node starts" }],
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
    const { judge, node, jobs, ...old } = line({});
    expect([judge, node, jobs]).toEqual(["judge", "v24.0.0", 2]);
    appendResult(path, old);
    appendResult(path, line({}));
    appendResult(path, mended);
    const rehashed = { rehashed: { gate: "a", commit: "0123456", was: "one", is: "two" } };
    appendResult(path, rehashed);
    expect(readResults(path)).toEqual([old, line({}), mended, rehashed]);
  });

  test.each([
    ["half a line", `${JSON.stringify(line({})).slice(0, -5)}\n`],
    ["a count that is a text", `${JSON.stringify({ ...line({}), count: "4" })}\n`],
    ["a member too many", `${JSON.stringify({ ...line({}), more: 1 })}\n`],
    ["a hash of no commit", `${JSON.stringify({ rehashed: { gate: "a", was: "one", is: "two" } })}\n`],
    ["no end of the line", JSON.stringify(line({}))],
  ])("is refused with %s", (_what, text) => {
    const path = join(folder, "results.jsonl");
    writeFileSync(path, text);
    expect(() => readResults(path)).toThrow(ResultsError);
  });

  test("of this repository can be read, and names known gates", () => {
    const lines = readResults(join(CHECKOUT, "test/gates/results.jsonl"));
    const names = new Set(lines.map((each) => ("gate" in each ? each : Object.values(each)[0]).gate));
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

  test("is another gate for a while, if a batch has counted nothing", () => {
    const [a, b, c] = [gate("a"), gate("b"), gate("c")];
    const rests = new GateRests([a, b, c]);
    rests.note(a, 0);
    expect(rests.ready()).toEqual([b, c]);
    rests.note(b, 5);
    expect(rests.ready()).toEqual([b, c]);
    rests.note(b, 5);
    expect(rests.ready()).toEqual([a, b, c]);
    for (const each of [a, b, c]) rests.note(each, 0);
    expect(rests.ready()).toEqual([a]);
    const alone = new GateRests([a]);
    alone.note(a, 0);
    expect(alone.ready()).toEqual([a]);
  });

  test("begins with the first seed that this code has not seen", () => {
    const lines = [line({ to: 4 }), line({ from: 5, to: 9 }), line({ sources: "two", to: 30 })];
    expect([nextSeed(lines, "a", "one"), nextSeed(lines, "a", "three"), nextSeed(lines, "b", "one")]).toEqual([
      10, 1, 1,
    ]);
  });
});

describe("a gate whose list of sources has grown", () => {
  const wider = (): string => "wide";

  test("counts again what ran at commits that have, by that list, the code as it is", () => {
    const lines = [
      line({ to: 4, count: 4 }),
      line({ from: 5, to: 9, count: 5 }),
      line({ commit: "7777777", to: 90, count: 90 }),
      line({ commit: "0123456+", to: 800, count: 800 }),
      line({ sources: "changed", to: 7000, count: 7000 }),
      line({ gate: "b", to: 60_000, count: 60_000 }),
    ];
    const noted = rehash([gate("a")], lines, wider, (commit) => (commit === "7777777" ? "other" : "wide"));
    expect(noted).toEqual([{ rehashed: { gate: "a", commit: "0123456", was: "one", is: "wide" } }]);
    expect(nextSeed(lines, "a", "wide")).toBe(1);
    const all = [...lines, ...noted];
    expect([nextSeed(all, "a", "wide"), nextSeed(all, "b", "wide")]).toEqual([10, 1]);
    expect(tableOf([gate("a")], all, wider)).toContain("| a | things | 9 | `0123456` | 0 | 10 |");
    expect(rehash([gate("a")], all, wider, () => "wide")).toEqual([
      { rehashed: { gate: "a", commit: "7777777", was: "one", is: "wide" } },
    ]);
  });

  test("reads what a commit has, and not what is in the folder", () => {
    const git = (...args: readonly string[]): string =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@localhost", ...args], {
        cwd: folder,
        encoding: "utf8",
        stdio: "pipe",
      }).trim();
    const write = (limit: number): void => writeFileSync(join(folder, "src/a.ts"), `export const limit = ${limit};\n`);
    mkdirSync(join(folder, "src"));
    git("init", "--quiet");
    write(1);
    const before = sourcesHash(folder, ["src"]);
    git("add", "src");
    git("commit", "--quiet", "--message", "one");
    write(2);
    const earlier = new EarlierSources(folder);
    const commit = git("rev-parse", "--short", "HEAD");
    const hashes = [["src"], ["src", "migrations"]].map((sources) => earlier.hashAt(commit, sources));
    expect([...hashes, earlier.hashAt("fffffff", ["src"])]).toEqual([before, null, null]);
    expect(earlier.missing).toEqual(["fffffff"]);
    earlier.end();
    expect(sourcesHash(folder, ["src"])).not.toBe(before);
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

  test("takes views and scripts, too", () => {
    const first = hashOf("export const limit = 1;\n");
    const withView = hashOf("export const View = () => <p>valid</p>;\n", "view.tsx");
    expect(withView).not.toBe(first);
    expect(hashOf("// One.\nexport const View = () => <p>valid</p>;\n", "view.tsx")).toBe(withView);
    expect(hashOf("export const View = () => <p>invalid</p>;\n", "view.tsx")).not.toBe(withView);
    expect(hashOf("console.log(1);\n", "a.js")).not.toBe(withView);
  });

  test("changes with a schema and a vector, also of a listed folder that is called test", () => {
    mkdirSync(join(folder, "test/vectors"), { recursive: true });
    const hashes = ["1", "2"].flatMap((value) =>
      ["a.json", "a.sql", "a.c", "a.go"].map((name) => {
        writeFileSync(join(folder, "test/vectors", name), value);
        return sourcesHash(folder, ["test/vectors"]);
      }),
    );
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  test("can be made for every gate", () => {
    expect(GATES.map(({ sources }) => sourcesHash(CHECKOUT, sources))).toEqual(
      GATES.map(() => expect.stringMatching(/^[0-9a-f]{16}$/)),
    );
  });
});

describe("the table", () => {
  const hashOf = (): string => "two";

  test("has what was run on the code as it is, what was ever run, and every failure with what mended it", () => {
    const failed = line({ failures: [{ seed: "3", what: "a | b" }] });
    const mended = { mended: { gate: "a", seed: "3", commit: "89abcde" } };
    const lines = [failed, mended, line({ sources: "two", count: 17, commit: "2222222" })];
    const table = tableOf([gate("a"), gate("b")], lines, hashOf);
    expect(table).toContain("| a | things | 17 | `2222222` | 0 | 10 | reached | 100 | 21 | 1 | 0.0 h |");
    expect(table).toContain("| b | things | 0 |  | 0 | 10 |  | 100 | 0 | 0 | 0.0 h |");
    expect(table).toContain("- `a` on that code: acknowledged 40.");
    expect(table).toContain("| a | 3 | `0123456` | a \\| b | `89abcde` |");
    expect(tableOf([gate("a")], [...lines, failed], hashOf)).toContain("| a | 3 | `0123456` | a \\| b | not yet |");
    expect(tableOf([gate("a")], [], hashOf)).toContain("No batch has been run.");
  });

  test("says nothing of other code, and divides what is no sum", () => {
    expect(tableOf([gate("a")], [line({ count: 40 })], hashOf)).toContain("| a | things | 0 |  | 0 | 10 |  |");
    const means = (by: Readonly<Record<string, string | null>>, over: Partial<BatchLine> = {}): string =>
      tableOf([{ ...gate("a"), means: by }], [line({ sources: "two", ...over })], hashOf);
    expect(means({ acknowledged: null })).toContain("acknowledged 10.0 each.");
    expect(means({ percent: "judged" }, { figures: { percent: 909, judged: 9 } })).toContain("percent 101.0 each.");
  });

  test("counts what was covered, and does not list it", () => {
    const figures = { "covered: a and b": 3, "covered: a and c": 1, linearizable: 4 };
    const table = tableOf([gate("a")], [line({ sources: "two", figures })], hashOf);
    expect(table).toContain("- `a` on that code: kinds covered 2; linearizable 4.");
  });

  test("calls nothing reached with a failure that nobody has mended", () => {
    const failed = line({ sources: "two", count: 17, failures: [{ seed: "3", what: "a" }] });
    const mended = { mended: { gate: "a", seed: "3", commit: "89abcde", in: "judge" } } as const;
    expect(tableOf([gate("a")], [failed], hashOf)).not.toContain("reached");
    const table = tableOf([gate("a")], [failed, mended], hashOf);
    expect(table).toContain("| 1 | 10 | reached |");
    expect(table).toContain("`89abcde`, in what runs and judges");
  });

  test("has one row for many failures of a batch that one commit has mended, and the beginning of what is long", () => {
    const failed = line({
      failures: [1, 2, 3, 4, 5, 6, 7].map((seed) => ({ seed: `${seed}`, what: "x".repeat(500) })),
    });
    const mended = (...seeds: readonly number[]): readonly MendedLine[] =>
      seeds.map((seed) => ({ mended: { gate: "a", seed: `${seed}`, commit: "89abcde" } }));
    const rowsAfter = (lines: readonly MendedLine[]): readonly string[] =>
      tableOf([gate("a")], [failed, ...lines], hashOf).match(/(?<=^\| a \| )\d.*? (?=\| `0123456`)/gmu) ?? [];
    const each = ["1 ", "2 ", "3 ", "4 ", "5 ", "6 ", "7 "];
    expect(rowsAfter([])).toEqual(each);
    expect(rowsAfter(mended(1, 2, 3, 4))).toEqual(each);
    expect(rowsAfter(mended(1, 2, 4, 5, 6))).toEqual(["1 and 4 more of that batch ", "3 ", "7 "]);
    expect(tableOf([gate("a")], [failed], hashOf)).toContain(`| \`0123456\` | ${"x".repeat(400)}… | not yet |`);
  });

  // After a change of sources: npm run gates -- --table
  test("in docs/testing.md is what the file of results says of the code as it is", () => {
    const page = readFileSync(join(CHECKOUT, "docs/testing.md"), "utf8");
    const lines = readResults(join(CHECKOUT, "test/gates/results.jsonl"));
    expect(
      withTable(
        page,
        tableOf(GATES, lines, ({ sources }) => sourcesHash(CHECKOUT, sources)),
      ),
    ).toBe(page);
  });
});
