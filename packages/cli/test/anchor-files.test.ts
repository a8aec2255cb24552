import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { bytesToHex } from "@event-anchoring/protocol";
import { anchorctl } from "../src/index.ts";
import { PaperCluster } from "./paper-cluster.ts";
import { runAnchorctl } from "./run-anchorctl.ts";
import type { Run } from "./run-anchorctl.ts";

let home: string;
let cluster: PaperCluster;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "anchorctl-files-"));
  cluster = await PaperCluster.start();
  writeFileSync(join(home, "trust-root.txt"), cluster.ceremony.document);
  writeFileSync(join(home, "root-thk.txt"), bytesToHex(cluster.ceremony.rootThk));
  mkdirSync(join(home, "logs", "old"), { recursive: true });
  for (const name of ["a", "b", "c"]) writeFileSync(join(home, "logs", `${name}.log`), name);
  writeFileSync(join(home, "logs", "old", "d.log"), "d");
});

afterEach(() => {
  cluster.stop();
  rmSync(home, { recursive: true, force: true });
});

const BATCH = "POST /v1/event-anchors/batch";
const flags = (): readonly string[] => [
  "--api-url",
  cluster.apiUrl,
  "--trust-root",
  join(home, "trust-root.txt"),
  "--json",
];

const anchor = (...args: readonly string[]): Promise<Run> =>
  runAnchorctl(home, ["anchor", ...args, ...flags()], { ANCHORCTL_API_KEY: "ank_test" });

const batches = (): readonly (readonly Readonly<Record<string, string>>[])[] =>
  cluster.asked
    .filter(({ line }) => line === BATCH)
    .map(({ body }) => body["events"] as readonly Readonly<Record<string, string>>[]);

const linesOf = (): readonly Readonly<Record<string, unknown>>[] =>
  readFileSync(join(home, "anchorctl-report.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);

describe("anchorctl anchor of many files", () => {
  test("takes a pattern, verifies every receipt, and reports each file", async () => {
    // How far it is stands on stderr, if it takes longer than a second.
    const { exitCode, stdout } = await anchor("logs/**/*.log");
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ files: 4, anchored: 4, refused: 0, receipts_verified: true });
    expect(linesOf().map(({ file }) => file)).toEqual([
      undefined,
      "logs/a.log",
      "logs/b.log",
      "logs/c.log",
      "logs/old/d.log",
    ]);
    const verified = await runAnchorctl(home, [
      "verify",
      join(home, "logs/old/d.log"),
      "--trust-root",
      join(home, "trust-root.txt"),
    ]);
    expect(verified.exitCode).toBe(0);
  });

  test("goes on where it stopped, and anchors nothing twice", async () => {
    await anchor("logs/a.log", "logs/b.log");
    expect(JSON.parse((await anchor("logs/*.log")).stdout)).toMatchObject({ files: 3, anchored: 1, skipped: 2 });
    expect(batches().map((events) => events.length)).toEqual([2, 1]);
    writeFileSync(join(home, "logs/a.log"), "another");
    expect(JSON.parse((await anchor("logs/*.log")).stdout)).toMatchObject({ anchored: 1, skipped: 2 });
  });

  test("asks with the same ids after an outcome that is unknown, and after half a line", async () => {
    const busy = { status: 503, body: { code: "no_leader", detail: "" }, headers: { "retry-after": "120" } };
    cluster.once.set(BATCH, busy);
    const first = await anchor("logs/*.log", "--timeout", "60");
    expect([first.exitCode, JSON.parse(first.stdout)]).toEqual([
      4,
      expect.objectContaining({ failure: "unavailable" }),
    ]);
    appendFileSync(join(home, "anchorctl-report.jsonl"), '{"file":"logs/a.l');
    expect((await anchor("logs/*.log")).exitCode).toBe(0);
    const [unknown, known] = batches();
    expect(known).toEqual(unknown);
  });

  test("honours Retry-After", async () => {
    const busy = { status: 429, body: { code: "rate_limited", detail: "" }, headers: { "retry-after": "1" } };
    cluster.once.set(BATCH, busy);
    const startedAt = performance.now();
    expect((await anchor("logs/*.log")).exitCode).toBe(0);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(1000);
  });

  test("reports what cannot be read, and goes on", async () => {
    const { exitCode, stdout } = await anchor("logs/a.log", "logs/nobody.log");
    expect([exitCode, JSON.parse(stdout)]).toEqual([2, expect.objectContaining({ anchored: 1, unreadable: 1 })]);
    expect(linesOf()).toContainEqual(expect.objectContaining({ file: "logs/nobody.log", code: "cannot_read" }));
  });

  test("stops at a receipt that does not verify", async () => {
    const other = await PaperCluster.start();
    other.appendEvent(new Uint8Array(32));
    const result = { status: 201, anchor: { anchor_id: "ab".repeat(32) }, receipt: other.receipt(1), replayed: false };
    other.stop();
    cluster.once.set(BATCH, { status: 200, body: { results: [result, result] } });
    const { exitCode } = await anchor("logs/a.log", "logs/b.log");
    expect([exitCode, existsSync(join(home, "logs/a.log.tlog-proof"))]).toEqual([1, false]);
  });

  test.each([
    ["a pattern that matches nothing", ["logs/*.gz"], "no_match"],
    ["no files", [], "no_files"],
    ["an event id for several", ["logs/a.log", "logs/b.log", "--event-id", "x"], "single_file_only"],
    ["standard input where there is none", ["--stdin"], "no_stdin"],
    ["a report that is none", ["logs/a.log", "--report", "trust-root.txt"], "report_malformed"],
  ])("refuses %s", async (_title, args, failure) => {
    const { exitCode, stdout } = await anchor(...args);
    expect([exitCode, JSON.parse(stdout)]).toEqual([2, expect.objectContaining({ failure })]);
  });

  test("reads paths from standard input, in batches of a thousand", async () => {
    const names = Array.from({ length: 1001 }, (_, at) => `many-${at}`);
    for (const name of names) writeFileSync(join(home, name), name);
    let stdout = "";
    const nothing = { isTTY: false, write: () => undefined };
    const busy = { status: 503, body: { code: "no_leader", detail: "" }, headers: { "retry-after": "120" } };
    cluster.once.set(BATCH, busy);
    const exitCode = await anchorctl(["anchor", "--stdin", "--timeout", "60", ...flags()], {
      stdout: { isTTY: false, write: (text: string) => (stdout += text) },
      stderr: nothing,
      stdin: Readable.from([`${names.join("\n")}\n`]),
      workingDir: home,
      environment: { ANCHORCTL_API_KEY: "ank_test" },
    });
    expect([exitCode, JSON.parse(stdout)]).toEqual([4, expect.objectContaining({ failure: "unavailable" })]);
    expect(batches().map((events) => events.length)).toEqual([1000]);
  }, 120_000);
});
