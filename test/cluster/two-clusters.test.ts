import { createHash } from "node:crypto";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parseCheckpoint, parseNote, parseProof } from "@event-anchoring/protocol";
import type { ClusterFile } from "@event-anchoring/dev-cluster";
import { until } from "@event-anchoring/testkit";
import { type Supervisor, anchorctlIn, clusterFileIn, killStarted, running, startIn } from "./started.ts";

const HOME = mkdtempSync(join(tmpdir(), "anchoring-two-"));
// As root, Postgres runs under another account, which must be able to pass through.
chmodSync(HOME, 0o755);
const NORTH = join(HOME, "north");
const SOUTH = join(HOME, "south");
const LETTER = join(HOME, "letter.txt");
const BUNDLE = join(HOME, "letter.bundle.json");
const KEPT = join(HOME, "kept");

afterAll(() => {
  killStarted();
  rmSync(HOME, { recursive: true, force: true });
});

/** @returns standard output */
function mustRun(...args: readonly string[]): string {
  const { status, stdout, stderr } = anchorctlIn(HOME, ...args);
  if (status !== 0) throw new Error(`anchorctl ${args.join(" ")}: ${status} ${stdout}${stderr}`);
  return stdout;
}

/** Databases and promises of the stopped north, as a backup of the whole machine has them: out of it, or back. */
function copyStorage(direction: "out" | "back"): void {
  const { postgres_dir: databases, nodes } = clusterFileIn(NORTH);
  const places = [
    [databases, join(KEPT, "postgres")],
    ...nodes.map(({ id }) => [join(NORTH, "nodes", id, "promise/promise.bin"), join(KEPT, id)]),
  ] as const;
  mkdirSync(KEPT, { recursive: true });
  for (const place of places) {
    const [from = "", to = ""] = direction === "out" ? place : place.toReversed();
    rmSync(to, { recursive: true, force: true });
    const { status, stderr } = spawnSync("cp", ["-a", from, to], { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
  }
}

// What docs/operating/witness.md has typed to let two clusters witness each other.

/** Writes the list of a cluster's logs. @returns its path */
function listLogs(folder: string): string {
  const path = `${folder}-logs.txt`;
  const logs = mustRun("policy", "--cluster", folder).matchAll(/^log (.*)$/gmu);
  writeFileSync(path, ["logs/v0", ...[...logs].map(([, vkey]) => `vkey ${vkey}`), ""].join("\n"));
  return path;
}

/** The next trust root of a cluster lists the nodes of another one. */
function listWitnesses(folder: string, other: ClusterFile): void {
  const proposal = join(HOME, "next");
  const added = other.nodes.flatMap(({ id, witness }) => [
    "--add-witness",
    `other-${id} ${witness?.vkey} ${witness?.url}`,
  ]);
  const proposed = mustRun("root", "propose", "--cluster", folder, "--out", proposal, "--json", ...added);
  const { root_thk: rootThk } = JSON.parse(proposed) as { readonly root_thk: string };
  const key = join(folder, "root-keys/root-1.seed");
  mustRun("root", "sign", proposal, "--cluster", folder, "--key", key, "--expect", rootThk);
  mustRun("root", "submit", proposal, "--cluster", folder);
}

/** A metric of all nodes together. */
async function metric(file: ClusterFile, name: string): Promise<number> {
  const texts = await Promise.all(file.nodes.map(async ({ metrics_url: url }) => (await fetch(url)).text()));
  const values = texts.flatMap((text) => text.split("\n").filter((line) => line.startsWith(`${name} `)));
  return values.reduce((sum, line) => sum + Number(line.slice(name.length)), 0);
}

const anchor = (folder: string, ...args: readonly string[]): string => mustRun("anchor", "--cluster", folder, ...args);

describe("two clusters of one node each", () => {
  let north: Supervisor;
  let south: Supervisor;
  let letterId: string;

  beforeAll(async () => {
    writeFileSync(LETTER, "Dear auditor,\n");
    north = startIn(NORTH, "--nodes", "1", "--name", "north.localhost", "--port", "7331");
    await running(north, NORTH);
  }, 90_000);

  test("the second has a witness for the log of the first", async () => {
    const options = ["--nodes", "1", "--name", "south.localhost", "--port", "7341"];
    south = startIn(SOUTH, ...options, "--witness-logs", listLogs(NORTH));
    const file = await running(south, SOUTH);
    const { api_url: apiUrl = "", witness = null } = file.nodes[0] ?? {};
    expect(witness).toEqual({
      vkey: expect.stringMatching(/^south\.localhost\/witness\/n1\+/u),
      url: `${apiUrl}/witness`,
    });
    expect(south.output()).toContain(`${witness?.vkey} ${witness?.url}`);
    const unlisted = anchorctlIn(HOME, "anchor", LETTER, "--witnessed", "--cluster", NORTH);
    expect(unlisted.stderr).toContain("lists no witness");
    listWitnesses(NORTH, file);
    const anchored = anchor(NORTH, LETTER, "--witnessed", "--json");
    expect(mustRun("verify", LETTER, "--witnessed", "--cluster", NORTH)).toContain("witnessed by other-n1 at");
    letterId = (JSON.parse(anchored) as { readonly anchor_id: string }).anchor_id;
    mustRun("bundle", letterId, "--witnessed", "--out", BUNDLE, "--cluster", NORTH);
    const bundle = mustRun("verify", BUNDLE, "--witnessed", "--cluster", NORTH);
    expect(bundle).toContain("1 trees, each signed by 1 witnesses or more");
    rmSync(BUNDLE);
  }, 90_000);

  test("the first is a witness for the second in turn, and forgets nothing when it is killed", async () => {
    north.child.kill("SIGINT");
    expect(await north.ended).toBe(0);
    copyStorage("out");
    north = startIn(NORTH, "--witness-logs", listLogs(SOUTH));
    const file = await running(north, NORTH);
    for (let leaf = 0; leaf < 3; leaf++) anchor(NORTH, LETTER, "--witnessed");
    listWitnesses(SOUTH, file);
    const proof = join(HOME, "south.tlog-proof");
    anchor(SOUTH, LETTER, "--witnessed", "--out", proof);
    const verified = mustRun("verify", LETTER, "--witnessed", "--cluster", SOUTH, "--proof", proof);
    expect(verified).toContain("witnessed by other-n1");
    const { origin, treeSize } = parseCheckpoint(parseNote(parseProof(readFileSync(proof, "utf8")).checkpoint).text);
    const [node] = file.nodes;
    const pid = node?.pids.control_plane ?? 0;
    const url = node?.witness?.url ?? "";
    const newest = `${url}/${createHash("sha256").update(origin).digest("hex")}/checkpoint`;
    const cosigned = await (await fetch(newest)).text();
    process.kill(pid, "SIGKILL");
    await until("another process has its place", () => clusterFileIn(NORTH).nodes[0]?.pids.control_plane !== pid);
    const stale = await until("it answers again", async () => {
      const answer = await fetch(`${url}/add-checkpoint`, { method: "POST", body: `old 0\n\n${cosigned}` });
      // Nor is it asked more often than a witness answers one address.
      return answer.status === 503 || answer.status === 429 ? null : answer;
    });
    const size = await stale.text();
    expect([stale.status, Number(size) >= treeSize]).toEqual([409, true]);
  }, 90_000);

  test("one that is set back as a whole is refused by its witness, and says so", async () => {
    north.child.kill("SIGINT");
    expect(await north.ended).toBe(0);
    copyStorage("back");
    north = startIn(NORTH);
    const file = await running(north, NORTH);
    const southFile = clusterFileIn(SOUTH);
    const conflict = 'anchoring_as_witness_requests_total{outcome="size_differs"}';
    const conflicts = await metric(southFile, conflict);
    // What it has forgotten no node of it remembers: it certifies other leaves in their place.
    anchor(NORTH, LETTER);
    await until("the witness has answered 409", async () => (await metric(southFile, conflict)) > conflicts);
    const more = Array.from({ length: 8 }, (_, at) => join(HOME, `more-${at}.txt`));
    for (const path of more) writeFileSync(path, path);
    anchor(NORTH, ...more);
    const seen = 'anchoring_witness_failures_total{witness="other-n1",failure="other_history"}';
    await until("the first says that its witness has seen another history", async () => (await metric(file, seen)) > 0);
    const wanting = ["--witnessed", "--timeout", "6", "--out", BUNDLE, "--cluster", NORTH];
    const { status, stderr } = anchorctlIn(HOME, "bundle", letterId, ...wanting);
    expect([status, existsSync(BUNDLE)]).toEqual([4, false]);
    expect(stderr).toContain("was witnessed in time");
    north.child.kill("SIGINT");
    south.child.kill("SIGINT");
    expect(await Promise.all([north.ended, south.ended])).toEqual([0, 0]);
  }, 120_000);
});
