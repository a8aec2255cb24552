import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { anchorIdOf, bytesToHex, concatBytes } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { verifyReceipt, verifyTrustRoot } from "@event-anchoring/sdk";
import { anchorctl } from "../src/index.ts";
import { FileServer } from "./file-server.ts";
import { PaperCluster } from "./paper-cluster.ts";
import { publicFile } from "./public-file.ts";
import { runAnchorctl } from "./run-anchorctl.ts";
import type { Run } from "./run-anchorctl.ts";

let home: string;
let out: string;
let cluster: PaperCluster;
let node: FileServer;
/** What the node answers instead. */
let instead: Map<string, Uint8Array | string | null>;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "anchorctl-export-"));
  out = join(home, "public");
  cluster = await PaperCluster.start();
  instead = new Map();
  node = await FileServer.start(shown);
  writeFileSync(join(home, "trust-root.txt"), cluster.ceremony.document);
  grow(4);
});

afterEach(() => {
  cluster.stop();
  node.stop();
  rmSync(home, { recursive: true, force: true });
});

let written = 0;

function grow(count: number): void {
  for (let at = 0; at < count; at++) cluster.appendEvent(nodeCrypto.sha256(new TextEncoder().encode(`${written++}`)));
}

/** What a public log shows that an export reads. */
function shown(path: string): Uint8Array | string | null {
  const given = instead.get(path);
  if (given !== undefined) return given;
  return publicFile(cluster, path);
}

function bundleOf(leaves: readonly Uint8Array[]): Uint8Array {
  return concatBytes(...leaves.flatMap((leaf) => [Uint8Array.of(leaf.length >> 8, leaf.length & 255), leaf]));
}

const trust = (): readonly string[] => ["--trust-root", join(home, "trust-root.txt")];
const run = (...args: readonly string[]): Promise<Run> =>
  runAnchorctl(home, ["export", out, "--api-url", node.url, "--timeout", "2", ...trust(), ...args]);
const origin = (path: string): string => join(out, "v1/origins", cluster.origin, path);
const sizeIn = (): string | undefined => readFileSync(origin("checkpoint"), "utf8").split("\n")[1];
const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => statSync(join(folder, path)).isFile())
    .toSorted();

const monitor = (url: string): Promise<Run> =>
  runAnchorctl(home, ["monitor", "--state", join(home, "seen.json"), "--api-url", url, "--timeout", "5", ...trust()]);

describe("anchorctl export", () => {
  test("writes what a public log shows, and goes on where it ended", async () => {
    expect(await run("--json")).toMatchObject({ exitCode: 0 });
    const base = `v1/origins/${cluster.origin}`;
    expect(filesIn(out)).toEqual([
      "index.html",
      `${base}/checkpoint`,
      `${base}/tile/0/000.p/5`,
      `${base}/tile/entries/000.p/5`,
      "v1/trust-root",
    ]);
    grow(600);
    node.asked.length = 0;
    const { stdout } = await run("--json");
    expect(JSON.parse(stdout)).toMatchObject({
      origins: [{ origin_fingerprint: cluster.origin, tree_size: 605, grown_by: 600 }],
      trust_root_version: 1,
    });
    expect(filesIn(origin("tile"))).toEqual([
      "0/000",
      "0/001",
      "0/002.p/93",
      "1/000.p/2",
      "entries/000",
      "entries/001",
      "entries/002.p/93",
    ]);
    const ids = cluster.leaves.slice(256, 512).map((leaf) => anchorIdOf(leaf, nodeCrypto.sha256));
    expect(bytesToHex(readFileSync(origin("tile/0/001")))).toBe(bytesToHex(concatBytes(...ids)));
    grow(1);
    node.asked.length = 0;
    expect((await run()).stdout).toContain("606 leaves, 1 more");
    expect(node.asked.filter((path) => path.includes("/tile/"))).toEqual([`${base}/tile/entries/002.p/94`]);
    expect(existsSync(join(out, ".part"))).toBe(false);
  });

  test("is refused while another one writes to the folder, and not because one was killed", async () => {
    let isShown = (): void => undefined;
    const shownAt = new Promise<void>((resolve) => (isShown = resolve));
    const slow = await FileServer.start((path) => {
      isShown();
      return shown(path);
    });
    const stop = new AbortController();
    const silent = { isTTY: false, write: () => undefined };
    const io = { stdout: silent, stderr: silent, workingDir: home, environment: {}, signal: stop.signal };
    const first = anchorctl(["export", out, "--api-url", slow.url, "--interval", "1h", ...trust()], io);
    await shownAt;
    const { exitCode, stdout } = await run("--json");
    expect([exitCode, JSON.parse(stdout)]).toEqual([2, expect.objectContaining({ failure: "locked" })]);
    stop.abort();
    expect(await first).toBe(0);
    slow.stop();
    writeFileSync(join(out, `.lock-${process.pid}-${"0".repeat(16)}-${"0".repeat(8)}`), "");
    expect(await run()).toMatchObject({ exitCode: 0 });
    expect(readdirSync(out).filter((name) => name.startsWith(".lock"))).toEqual([]);
  });

  test("of files that a plain web server shows is watched by the monitor, without a key", async () => {
    await run();
    const files = await FileServer.start((path) => {
      const file = join(out, path);
      return existsSync(file) && statSync(file).isFile() ? readFileSync(file) : null;
    });
    try {
      expect(await monitor(files.url)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("first time") });
      grow(300);
      await run();
      expect(await monitor(files.url)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("300 more") });
      const earlier = cluster.checkpoint(200);
      grow(1);
      await run();
      await monitor(files.url);
      writeFileSync(origin("checkpoint"), earlier);
      expect(await monitor(files.url)).toMatchObject({ exitCode: 1, stdout: expect.stringContaining("rollback") });
    } finally {
      files.stop();
    }
  });

  test("of a log of its genesis leaf alone is nothing to watch yet, without a key as with one", async () => {
    cluster.leaves.splice(1);
    expect(await monitor(node.url)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("nothing to watch") });
    grow(4);
    expect((await monitor(node.url)).stdout).toContain("5 leaves, seen for the first time");
    cluster.leaves.splice(1);
    expect(await monitor(node.url)).toMatchObject({ exitCode: 1, stdout: expect.stringContaining("rollback") });
  });

  test("with receipts, each proved under the newest checkpoint", async () => {
    grow(20);
    await run("--receipts");
    const receiptOf = (at: number): string => {
      const id = bytesToHex(anchorIdOf(cluster.leaves[at] ?? new Uint8Array(0), nodeCrypto.sha256));
      return readFileSync(join(out, "v1/event-anchors", id, "receipt"), "utf8");
    };
    const { document, rootThk } = cluster.ceremony;
    const trustRoot = verifyTrustRoot({ documents: [document], pinnedRootThk: rootThk });
    expect([7, 24].map((at) => verifyReceipt(receiptOf(at), { trustRoot }).leaf.depth)).toEqual([7, 24]);
    expect(readdirSync(join(out, "v1/event-anchors"))).toHaveLength(25);
  });

  test("takes up what an interrupted run has fetched", async () => {
    grow(600);
    const last = `v1/origins/${cluster.origin}/tile/entries/002.p/93`;
    instead.set(last, null);
    expect((await run()).exitCode).not.toBe(0);
    expect(existsSync(origin("checkpoint"))).toBe(false);
    instead.clear();
    node.asked.length = 0;
    expect((await run()).exitCode).toBe(0);
    expect(node.asked.filter((path) => path.includes("/tile/"))).toEqual([last]);
    expect(sizeIn()).toBe("605");
  });

  test.each([
    ["a leaf that the checkpoint does not cover", () => instead.set(entries(9), bundleOf(forged(9))), "root_differs"],
    ["a log that has lost leaves", () => cluster.leaves.splice(3), "rollback"],
    ["a log with another past", () => cluster.leaves.splice(0, 9, ...forged(9)), "root_differs"],
    [
      "a bundle that is cut off",
      () => instead.set(entries(9), bundleOf(cluster.leaves).slice(0, 50)),
      "entries_malformed",
    ],
    ["a checkpoint without a quorum", () => instead.set(checkpointPath(), unsigned()), "quorum_not_met"],
    ["files that were altered", () => writeFileSync(origin("tile/0/000.p/5"), new Uint8Array(160)), "export_damaged"],
    ["files that are lost", () => rmSync(origin("tile"), { recursive: true }), "export_damaged"],
  ])("publishes nothing of %s", async (_, betray, code) => {
    await run();
    grow(4);
    betray();
    const { exitCode, stdout } = await run("--json");
    expect([exitCode, JSON.parse(stdout)]).toEqual([1, expect.objectContaining({ failure: code })]);
    expect(sizeIn()).toBe("5");
    expect(existsSync(origin("tile/entries/000.p/9"))).toBe(false);
  });

  test("needs a trust root, and passes over an origin that has no tree yet", async () => {
    expect((await runAnchorctl(home, ["export", out, "--api-url", node.url])).exitCode).toBe(2);
    instead.set(checkpointPath(), null);
    expect(await run("--json")).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('"origins":[]') });
  });
});

const entries = (width: number): string => `v1/origins/${cluster.origin}/tile/entries/000.p/${width}`;
const checkpointPath = (): string => `v1/origins/${cluster.origin}/checkpoint`;
const unsigned = (): string => cluster.checkpoint().replaceAll(/^— paper\.test\/node\/n2.*\n/gmu, "");

/** As many leaves, the last of which is another one. */
function forged(count: number): Uint8Array[] {
  const leaves = cluster.leaves.slice(0, count);
  const last = Uint8Array.from(leaves[2] ?? []);
  last[last.length - 1] = (last.at(-1) ?? 0) ^ 1;
  return [...leaves.slice(0, 2), last, ...leaves.slice(3)];
}
