import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { bytesToHex } from "@event-anchoring/protocol";
import { PaperCluster } from "./paper-cluster.ts";
import { runAnchorctl } from "./run-anchorctl.ts";

let home: string;
let cluster: PaperCluster;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "anchorctl-settings-"));
  cluster = await PaperCluster.start();
  mkdirSync(join(home, ".config", "anchorctl"), { recursive: true });
  writeFileSync(join(home, ".config", "anchorctl", "trust-root.txt"), cluster.ceremony.document);
  writeFileSync(join(home, ".config", "anchorctl", "root-thk.txt"), bytesToHex(cluster.ceremony.rootThk));
});

afterEach(() => {
  cluster.stop();
  rmSync(home, { recursive: true, force: true });
});

function config(value: object | string, mode = 0o600): void {
  const path = join(home, ".config", "anchorctl", "config.json");
  writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value));
  chmodSync(path, mode);
}

const NOWHERE = "http://127.0.0.1:9";

describe("settings", () => {
  test("come from the config file, its paths beside it", async () => {
    config({ api_urls: [cluster.apiUrl], api_key: "ank_file", trust_roots: ["trust-root.txt"], timeout_seconds: 5 });
    const { exitCode, stdout } = await runAnchorctl(home, ["latest", "--json", "--origin", cluster.origin], {
      HOME: home,
    });
    expect([exitCode, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ receipt_verified: true })]);
  });

  test("of the environment win over the file, and the command line over both", async () => {
    config({ api_urls: [NOWHERE], api_key: "ank_file", trust_roots: ["trust-root.txt"], timeout_seconds: 1 });
    const environment = { HOME: home, ANCHORCTL_ORIGIN: cluster.origin };
    expect((await runAnchorctl(home, ["latest"], environment)).exitCode).toBe(4);
    const withUrl = { ...environment, ANCHORCTL_API_URLS: `${NOWHERE},${cluster.apiUrl}`, ANCHORCTL_TIMEOUT: "5" };
    expect((await runAnchorctl(home, ["latest"], withUrl)).exitCode).toBe(0);
    const args = ["latest", "--api-url", NOWHERE, "--timeout", "1"];
    expect((await runAnchorctl(home, args, withUrl)).exitCode).toBe(4);
    const pinned = { ...withUrl, ANCHORCTL_ROOT_THK: "ab".repeat(32) };
    expect((await runAnchorctl(home, ["latest"], pinned)).exitCode).toBe(1);
  });

  test("need not be good for help", async () => {
    config("{");
    expect((await runAnchorctl(home, ["--help"], { HOME: home })).exitCode).toBe(0);
  });

  test.each([
    ["no JSON", "{", 0o600],
    ["an unknown field", { api_url: NOWHERE }, 0o600],
    ["an address that is no list", { api_urls: NOWHERE }, 0o600],
    ["a timeout that is text", { timeout_seconds: "5" }, 0o600],
    ["a key that others can read", { api_key: "ank_file" }, 0o644],
  ])("refuse %s", async (_title, value, mode) => {
    config(value, mode);
    const { exitCode, stdout } = await runAnchorctl(home, ["latest", "--json"], { HOME: home });
    expect([exitCode, JSON.parse(stdout)]).toEqual([2, expect.objectContaining({ failure: "config_invalid" })]);
    expect(stdout).not.toContain("ank_file");
  });

  test.each([
    [{ ANCHORCTL_CONFIG: "/nowhere/config.json" }, "cannot_read"],
    [{ ANCHORCTL_API_URLS: "ftp://x" }, "api_url_invalid"],
    [{ ANCHORCTL_API_URLS: NOWHERE }, "api_key_missing"],
    [{ ANCHORCTL_API_URLS: NOWHERE, ANCHORCTL_ORIGIN: "x" }, "origin_invalid"],
    [{ ANCHORCTL_API_URLS: NOWHERE, ANCHORCTL_API_KEY: "k", ANCHORCTL_TIMEOUT: "soon" }, "timeout_invalid"],
  ])("refuse the environment %j", async (environment, failure) => {
    const { exitCode, stdout } = await runAnchorctl(home, ["latest", "--json"], environment);
    expect([exitCode, JSON.parse(stdout)]).toEqual([2, expect.objectContaining({ failure })]);
  });
});

test("what cannot be understood is said to programs, too", async () => {
  const { exitCode, stdout } = await runAnchorctl(home, ["latest", "--unheard-of", "--json"]);
  expect([exitCode, JSON.parse(stdout)]).toEqual([2, { failure: "usage", detail: "unknown option '--unheard-of'" }]);
});

describe("anchorctl completion", () => {
  /** What bash offers after these words. */
  function offered(script: string, words: readonly string[]): readonly string[] {
    const quoted = words.map((word) => `'${word}'`).join(" ");
    const typed = `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}`;
    const probe = `${script}\n${typed}; _anchorctl; echo "\${COMPREPLY[@]}"`;
    return spawnSync("bash", ["-c", probe], { encoding: "utf8" }).stdout.trim().split(" ");
  }

  test("offers commands, those below them, and options", async () => {
    const { exitCode, stdout } = await runAnchorctl(home, ["completion", "bash"]);
    expect(exitCode).toBe(0);
    expect(offered(stdout, ["anchorctl", "pr"])).toEqual(["prepare"]);
    expect(offered(stdout, ["anchorctl", "prepare", ""])).toEqual(expect.arrayContaining(["claim", "grant", "event"]));
    expect(offered(stdout, ["anchorctl", "prepare", "grant", "--grantor"])).toEqual(["--grantor", "--grantor-claim"]);
    expect(offered(stdout, ["anchorctl", "keys", "rotate", "--ov"])).toEqual(["--overlap"]);
    expect(offered(stdout, ["anchorctl", "verify", "--bundle", "x", "--an"])).toEqual(["--anchor-id"]);
  });

  test.each(["zsh", "fish"])("names every command for %s", async (shell) => {
    const { exitCode, stdout } = await runAnchorctl(home, ["completion", shell]);
    expect(exitCode).toBe(0);
    for (const command of ["bundle", "monitor", "keygen", "revocation"]) expect(stdout).toContain(command);
  });

  test("refuses other shells", async () => {
    expect((await runAnchorctl(home, ["completion", "cmd"])).exitCode).toBe(2);
  });
});
