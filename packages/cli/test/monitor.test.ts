import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { bytesToHex } from "@event-anchoring/protocol";
import { anchorctl } from "../src/index.ts";
import { PaperCluster } from "./paper-cluster.ts";
import { runAnchorctl } from "./run-anchorctl.ts";
import type { Run } from "./run-anchorctl.ts";

let home: string;
let cluster: PaperCluster;
let state: string;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "anchorctl-monitor-"));
  state = join(home, "seen", "monitor.json");
  cluster = await PaperCluster.start();
  writeFileSync(join(home, "trust-root.txt"), cluster.ceremony.document);
  for (let byte = 1; byte <= 4; byte++) cluster.appendEvent(new Uint8Array(32).fill(byte));
});

afterEach(() => {
  cluster.stop();
  rmSync(home, { recursive: true, force: true });
});

const KEY = { ANCHORCTL_API_KEY: "ank_test" };
const flags = (): readonly string[] => ["--api-url", cluster.apiUrl, "--trust-root", join(home, "trust-root.txt")];
const monitor = (...args: readonly string[]): Promise<Run> =>
  runAnchorctl(home, ["monitor", "--state", state, ...flags(), ...args], KEY);

describe("anchorctl monitor", () => {
  test("keeps the head of every origin, and asks for the proof that the next one continues it", async () => {
    expect((await monitor()).exitCode).toBe(0);
    expect(readFileSync(state, "utf8")).toContain(cluster.origin);
    cluster.appendEvent(new Uint8Array(32).fill(5));
    const { exitCode, stdout } = await monitor("--json");
    expect([exitCode, JSON.parse(stdout)]).toEqual([
      0,
      expect.objectContaining({
        consistent: true,
        origins: [{ origin_fingerprint: cluster.origin, tree_size: 6, grown_by: 1 }],
        trust_root_version: 1,
        alarms: [],
      }),
    ]);
    expect(cluster.asked.some(({ line }) => line.endsWith("&from_size=5"))).toBe(true);
    expect((await monitor()).stdout).toContain("as before");
  });

  test.each([
    ["a tree that lost a leaf", () => cluster.leaves.pop(), "rollback"],
    [
      "two trees of one size",
      () => {
        cluster.leaves.pop();
        cluster.appendEvent(new Uint8Array(32).fill(9));
      },
      "split_view",
    ],
    [
      "a longer tree with another past",
      () => {
        cluster.leaves.splice(3);
        for (let byte = 20; byte < 25; byte++) cluster.appendEvent(new Uint8Array(32).fill(byte));
      },
      "inconsistent",
    ],
    [
      "a checkpoint that no quorum has signed",
      () => {
        const signed = cluster.checkpoint.bind(cluster);
        cluster.checkpoint = (size) => signed(size).replace(/^— paper\.test\/node\/n2.*\n/mu, "");
        cluster.appendEvent(new Uint8Array(32).fill(6));
      },
      "checkpoint_invalid",
    ],
  ])("raises at %s, keeps what it has seen, and the evidence", async (_title, betray, code) => {
    await monitor();
    const before = readFileSync(state, "utf8");
    betray();
    const { exitCode, stdout } = await monitor("--json");
    expect([exitCode, JSON.parse(stdout)]).toEqual([
      1,
      expect.objectContaining({ consistent: false, alarms: [expect.objectContaining({ code })] }),
    ]);
    expect(readFileSync(state, "utf8")).toBe(before);
    expect(readFileSync(`${state}.alarm`, "utf8")).toContain(`${cluster.origin}\n5\n`);
  });

  test("holds the nodes against one another: a second one that shows another tree", async () => {
    await monitor();
    const query = `/v1/event-anchors/latest?origin_fingerprint=${cluster.origin}&from_size=5`;
    const first = await fetch(cluster.apiUrl + query);
    const truth = { status: first.status, body: (await first.json()) as object };
    cluster.leaves.pop();
    cluster.appendEvent(new Uint8Array(32).fill(9));
    cluster.once.set(`GET ${query}`, truth);
    const { exitCode, stdout } = await monitor("--api-url", cluster.apiUrl);
    expect([exitCode, stdout]).toEqual([1, expect.stringContaining("split view")]);
  });

  test("a second cluster of the same name and user has a state of its own", async () => {
    const second = await PaperCluster.start();
    try {
      second.appendEvent(new Uint8Array(32).fill(7));
      writeFileSync(join(home, "second.txt"), second.ceremony.document);
      const environment = { ...KEY, HOME: home };
      const watch = (url: string, root: string): Promise<Run> =>
        runAnchorctl(home, ["monitor", "--api-url", url, "--trust-root", join(home, root)], environment);
      for (const seen of ["is remembered", "continues the one seen"]) {
        expect(await watch(cluster.apiUrl, "trust-root.txt")).toMatchObject({
          exitCode: 0,
          stdout: expect.stringContaining(seen),
        });
        expect(await watch(second.apiUrl, "second.txt")).toMatchObject({
          exitCode: 0,
          stdout: expect.stringContaining(seen),
        });
      }
      const states = [cluster, second].map(({ ceremony }) => `${bytesToHex(ceremony.clusterId)}.json`);
      expect(readdirSync(join(home, ".local", "state", "anchorctl", "monitor")).toSorted()).toEqual(states.toSorted());
      // What the first has shown is not forgotten for it.
      cluster.leaves.pop();
      expect((await watch(cluster.apiUrl, "trust-root.txt")).stdout).toContain("rollback");
    } finally {
      second.stop();
    }
  });

  test("a state of another cluster is refused, and is no alarm", async () => {
    await monitor();
    const before = readFileSync(state, "utf8");
    const second = await PaperCluster.start();
    try {
      writeFileSync(join(home, "second.txt"), second.ceremony.document);
      const args = ["--state", state, "--api-url", second.apiUrl, "--trust-root", join(home, "second.txt"), "--json"];
      const run = await runAnchorctl(home, ["monitor", ...args], KEY);
      expect([run.exitCode, JSON.parse(run.stdout)]).toEqual([
        2,
        expect.objectContaining({ failure: "state_of_another_cluster" }),
      ]);
      expect(readFileSync(state, "utf8")).toBe(before);
    } finally {
      second.stop();
    }
  });

  test.each([
    ["a state that is none", () => writeFileSync(state, "{}"), 2, "state_malformed"],
    ["half a state", () => writeFileSync(state, readFileSync(state, "utf8").slice(0, 80)), 2, "state_malformed"],
    ["a trust root of another cluster", () => writeFileSync(join(home, "trust-root.txt"), "x"), 1, "note_unsigned"],
  ])("refuses %s", async (_title, damage, exitCode, failure) => {
    await monitor();
    damage();
    const run = await monitor("--json");
    expect([run.exitCode, JSON.parse(run.stdout)]).toEqual([exitCode, expect.objectContaining({ failure })]);
  });

  test("says that a node could not be asked", async () => {
    const { exitCode, stdout } = await monitor("--api-url", "http://127.0.0.1:9", "--timeout", "1");
    expect([exitCode, stdout]).toEqual([4, expect.stringContaining("connection refused")]);
    expect(existsSync(state)).toBe(true);
  });

  test("watches until it is stopped", async () => {
    const stop = new AbortController();
    let looks = 0;
    const exitCode = await anchorctl(["monitor", "--state", state, "--interval", "1s", "--json", ...flags()], {
      stdout: {
        isTTY: false,
        write: () => {
          looks += 1;
          if (looks === 2) stop.abort();
        },
      },
      stderr: { isTTY: false, write: () => undefined },
      workingDir: home,
      environment: KEY,
      signal: stop.signal,
    });
    expect([exitCode, looks]).toEqual([0, 2]);
  });
});

describe("anchorctl latest and receipt", () => {
  test("show the newest certified anchor, verified", async () => {
    const { exitCode, stdout, stderr } = await runAnchorctl(
      home,
      ["latest", ...flags(), "--origin", cluster.origin],
      KEY,
    );
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("2 good, 2 of 3 needed");
  });

  test("fetch a receipt as text, and renew it", async () => {
    const id = cluster.appendEvent(new Uint8Array(32).fill(7));
    const fetched = await runAnchorctl(home, ["receipt", id, ...flags()], KEY);
    expect([fetched.exitCode, fetched.stderr]).toEqual([0, ""]);
    expect(fetched.stdout).toMatch(/^c2sp\.org\/tlog-proof@v1\n/u);
    writeFileSync(join(home, "receipt"), fetched.stdout);
    cluster.appendEvent(new Uint8Array(32).fill(8));
    const renewed = await runAnchorctl(home, ["receipt", "--renew", join(home, "receipt"), ...flags()], KEY);
    expect([renewed.exitCode, renewed.stdout]).toEqual([0, expect.stringContaining("6 leaves before and 7 now")]);
    expect(readFileSync(join(home, "receipt"), "utf8")).toContain(`${cluster.origin}\n7\n`);
  });

  test("refuse a receipt of another anchor, and keep the old one", async () => {
    const id = cluster.appendEvent(new Uint8Array(32).fill(7));
    cluster.once.set(`GET /v1/event-anchors/${id}/receipt`, { status: 200, body: cluster.receipt(2) });
    const { exitCode, stdout } = await runAnchorctl(home, ["receipt", id, "--json", ...flags()], KEY);
    expect([exitCode, JSON.parse(stdout)]).toEqual([1, expect.objectContaining({ failure: "anchor_id_differs" })]);
  });
});
