import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { runAnchorctl } from "./run-anchorctl.ts";
import type { Run } from "./run-anchorctl.ts";

let home: string;
let config: string;

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "anchorctl-check-"));
  config = join(home, "config.json");
});

afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

function check(settings: object, args: readonly string[], environment: Record<string, string> = {}): Promise<Run> {
  writeFileSync(config, JSON.stringify(settings), { mode: 0o600 });
  return runAnchorctl(home, args, { ANCHORCTL_CONFIG: config, ...environment });
}

const BOTH_ORDERS = [
  ["--check", "--json"],
  ["--json", "--check"],
] as const;

describe("anchorctl --check --json", () => {
  test.each(BOTH_ORDERS)("prints an empty list if nothing is wrong: %s %s", async (...args) => {
    const { exitCode, stdout, stderr } = await check({ api_urls: ["https://n1.example"] }, args);
    expect([exitCode, JSON.parse(stdout), stderr]).toEqual([0, { faults: [] }, ""]);
  });

  test.each(BOTH_ORDERS)("prints every fault in one object, and nothing else: %s %s", async (...args) => {
    const settings = { api_urls: ["ftp://n1"], origin_fingerprint: "x" };
    const { exitCode, stdout, stderr } = await check(settings, args, { ANCHORCTL_TIMEOT: "1" });
    const faults = [
      "environment: ANCHORCTL_TIMEOT: there is no such setting; did you mean ANCHORCTL_TIMEOUT?",
      `${config}: api_urls: a node's address begins with http:// or https://, not: ftp://n1`,
      `${config}: origin_fingerprint: an origin fingerprint has 64 hex digits, not: x`,
    ];
    expect([exitCode, stderr]).toEqual([2, ""]);
    expect(JSON.parse(stdout)).toEqual({ failure: "settings_invalid", detail: faults.join("; "), faults });
    const lines = (await check(settings, ["--check"], { ANCHORCTL_TIMEOT: "1" })).stderr;
    expect(lines).toBe(faults.map((fault) => `anchorctl: ${fault}\n`).join(""));
  });

  test("is the same of a monitor", async () => {
    const watch = ["monitor", "--json", "--check", "--api-url", "https://n1.example", "--listen", "nowhere"];
    const { exitCode, stdout, stderr } = await check({}, watch);
    expect([exitCode, stderr]).toEqual([2, ""]);
    expect(JSON.parse(stdout)).toMatchObject({
      failure: "settings_invalid",
      faults: expect.arrayContaining([expect.stringContaining("--listen")]),
    });
  });

  test.each([[["--json"]], [["--json", "status"]], [["--json", "monitor", "--check"]]])(
    "leaves no --json without a meaning: %s",
    async (args) => {
      const { exitCode, stderr } = await check({}, args);
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining("--json stands after the command's name")]);
    },
  );
});
