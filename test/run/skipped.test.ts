import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "@jest/globals";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "anchoring-skips-"));
afterAll(() => rmSync(folder, { recursive: true }));

const LIST = `
# a comment
test/a.test.ts: with Go :: test -n "$GO_IS_HERE" && echo a | grep a :: takes Go
test/b.test.ts: :: never :: takes luck
sdk-rust: left out :: test -n "$CARGO_IS_HERE" :: takes cargo
`;

interface Case {
  readonly list?: string;
  /** Jest's tests, all in test/a.test.ts: the outermost title of each. */
  readonly titles?: readonly string[];
  readonly others?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

function run({ list = LIST, titles = [], others = [], environment = {} }: Case): { status: number; said: string } {
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const assertionResults = [
    ...titles.map((title) => ({ status: "pending", ancestorTitles: [title, "deeper"], title: "one" })),
    { status: "passed", ancestorTitles: ["that ran"], title: "one" },
    { status: "failed", ancestorTitles: ["that failed"], title: "one" },
  ];
  const summary = { testResults: [{ name: join(ROOT, "test/a.test.ts"), assertionResults }] };
  const files = [
    write("list", list),
    write("others", others.map((line) => `${line}\n`).join("")),
    write("nothing.json", JSON.stringify({ testResults: [] })),
    write("summary.json", JSON.stringify(summary)),
  ];
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, "test/run/skipped.js"), ...files], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"] ?? "", ...environment },
  });
  return { status: status ?? -1, said: stdout + stderr };
}

describe("what a run has skipped", () => {
  test("is nothing, if nothing was", () => {
    expect(run({})).toEqual({ status: 0, said: "nothing was skipped\n" });
  });

  test("is excused where the machine lacks what it takes, and said with the reason", () => {
    const others = ["sdk-rust: left out, cargo is not installed", "test/b.test.ts: anything"];
    const { status, said } = run({ titles: ["with Go", "with Go"], others });
    expect(status).toBe(0);
    expect(said).toContain("skipped, test/a.test.ts: with Go (2 tests): takes Go\n");
    expect(said).toContain("skipped, sdk-rust: left out, cargo is not installed: takes cargo\n");
    expect(said).toContain("skipped, test/b.test.ts: anything: takes luck\n");
  });

  test.each<[string, Case]>([
    ["a suite", { titles: ["with Go"], environment: { GO_IS_HERE: "1" } }],
    ["an SDK", { others: ["sdk-rust: left out, nobody knows why"], environment: { CARGO_IS_HERE: "1" } }],
  ])("is not excused where it could have run: %s", (_title, skipped) => {
    const { status, said } = run(skipped);
    expect([status, said]).toEqual([1, expect.stringMatching(/^NOT EXCUSED, .* it could run/u)]);
  });

  test.each<[string, Case]>([
    ["a suite", { titles: ["with Rust"] }],
    ["an SDK", { others: ["sdk-go: left out"] }],
  ])("is not excused where the list does not name it: %s", (_title, skipped) => {
    const { status, said } = run(skipped);
    expect([status, said]).toEqual([1, expect.stringContaining("it is not on the list")]);
  });

  test("is not judged by a list that gives no reason", () => {
    expect(run({ list: "test/a.test.ts: :: never" }).status).toBe(1);
    expect(run({ list: "test/a.test.ts: :: never :: " }).status).toBe(1);
  });
});
