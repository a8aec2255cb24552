import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "@jest/globals";
import { readClusterFile } from "@event-anchoring/dev-cluster";
import type { ClusterFile } from "@event-anchoring/dev-cluster";
import { SqlSession, until } from "@event-anchoring/testkit";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const START = join(ROOT, "packages/dev-cluster/bin/start.js");
const ANCHORCTL = join(ROOT, "packages/cli/bin/anchorctl.js");
/** A folder of its own, one level above the cluster's, so that `.anchoring` is found by those who look for it. */
const HOME = mkdtempSync(join(tmpdir(), "anchoring-start-"));
// As root, Postgres runs under another account, which must be able to pass through.
chmodSync(HOME, 0o755);
const FOLDER = join(HOME, ".anchoring");
const started: ChildProcess[] = [];

afterAll(() => {
  for (const child of started) child.kill("SIGKILL");
  rmSync(HOME, { recursive: true, force: true });
});

interface Supervisor {
  readonly child: ChildProcess;
  output(): string;
  /** The exit code. */
  readonly ended: Promise<number | null>;
}

const start = (...args: readonly string[]): Supervisor => startIn(FOLDER, ...args);

function startIn(folder: string, ...args: readonly string[]): Supervisor {
  const child = spawn(process.execPath, [START, "--data", folder, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  started.push(child);
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
  const ended = new Promise<number | null>((resolve) => {
    child.once("exit", (code) => resolve(code));
  });
  return { child, output: () => output, ended };
}

async function running(supervisor: Supervisor, folder = FOLDER): Promise<ClusterFile> {
  await until(
    "the cluster is running",
    () => {
      if (supervisor.child.exitCode !== null) throw new Error(`the start ended:\n${supervisor.output()}`);
      return supervisor.output().includes("The cluster is running.");
    },
    60_000,
  );
  return clusterFile(folder);
}

function clusterFile(folder = FOLDER): ClusterFile {
  const file = readClusterFile(join(folder, "cluster.json"));
  if (file === null) throw new Error("there is no cluster.json");
  return file;
}

function pidsOf(file: ClusterFile): readonly number[] {
  return file.nodes.flatMap(({ pids }) => [pids.api, pids.control_plane, pids.postgres]).filter((pid) => pid !== null);
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    // ESRCH is the answer that was asked for.
    return false;
  }
}

function anchorctl(...args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [ANCHORCTL, ...args], { cwd: HOME, encoding: "utf8" });
}

/** @returns standard output */
function mustRun(...args: readonly string[]): string {
  const { status, stdout, stderr } = anchorctl(...args);
  if (status !== 0) throw new Error(`anchorctl ${args.join(" ")}: ${status} ${stdout}${stderr}`);
  return stdout;
}

const KEPT = join(HOME, "kept");

/** Databases and promises of a stopped cluster, as a backup of the whole machine has them: out of it, or back. */
function copyStorage(direction: "out" | "back"): void {
  const { postgres_dir: databases, nodes } = clusterFile();
  const places = [
    [databases, join(KEPT, "postgres")],
    ...nodes.map(({ id }) => [join(FOLDER, "nodes", id, "promise/promise.bin"), join(KEPT, id)]),
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

describe("npm start", () => {
  const letter = join(HOME, "letter.txt");
  /** A cluster of another organisation: one node. */
  const south = join(HOME, "south");
  let southern: Supervisor;
  let first: ClusterFile;
  let supervisor: Supervisor;
  const toFirstOrigin = (): readonly string[] => ["--origin", first.nodes[0]?.origin_fingerprint ?? ""];

  test("brings up three nodes and says how to go on", async () => {
    supervisor = start();
    first = await running(supervisor);
    expect(first.state).toBe("running");
    expect(first.nodes).toHaveLength(3);
    expect(pidsOf(first).filter(lives)).toHaveLength(9);
    for (const { api_url: apiUrl } of first.nodes) expect(supervisor.output()).toContain(apiUrl);
    expect(supervisor.output()).toContain(first.api_key);
    expect(supervisor.output()).toContain("npx --no anchorctl anchor");
    expect(statSync(join(FOLDER, "cluster.json")).mode & 0o777).toBe(0o600);
  }, 90_000);

  test("anchors a real file, and its receipt verifies offline until one byte is changed", () => {
    writeFileSync(letter, "to whom it may concern\n");
    const anchored = anchorctl("anchor", letter, "--json");
    expect([anchored.status, anchored.stderr]).toEqual([0, ""]);
    expect(JSON.parse(anchored.stdout)).toMatchObject({ replayed: false, receipt_verified: true });
    const proof = `${letter}.tlog-proof`;
    expect(anchorctl("verify", letter).status).toBe(0);
    const good = readFileSync(proof, "utf8");
    writeFileSync(proof, good.replace(/^index .*$/mu, "index 2"));
    expect(anchorctl("verify", letter).status).toBe(1);
    writeFileSync(proof, good);
    writeFileSync(letter, "to whom it may concern.");
    const changed = anchorctl("verify", letter);
    expect([changed.status, changed.stdout]).toEqual([1, expect.stringContaining("NOT VALID (content_differs)")]);
  });

  test("refuses a second supervisor of the same folder and names the first", async () => {
    const second = start();
    expect(await second.ended).toBe(3);
    expect(second.output()).toContain(`process ${supervisor.child.pid ?? ""}`);
    expect(pidsOf(clusterFile()).filter(lives)).toHaveLength(9);
  }, 30_000);

  test("beside another cluster, has it witness the log", async () => {
    const options = ["--nodes", "1", "--name", "south.localhost", "--port", "7341"];
    southern = startIn(south, ...options, "--witness-logs", listLogs(FOLDER));
    const file = await running(southern, south);
    const { api_url: apiUrl = "", witness = null } = file.nodes[0] ?? {};
    expect(witness).toEqual({
      vkey: expect.stringMatching(/^south\.localhost\/witness\/n1\+/u),
      url: `${apiUrl}/witness`,
    });
    expect(southern.output()).toContain(`${witness?.vkey} ${witness?.url}`);
    expect(anchorctl("anchor", letter, "--witnessed").stderr).toContain("lists no witness");
    listWitnesses(FOLDER, file);
    mustRun("anchor", letter, "--witnessed");
    expect(mustRun("verify", letter, "--witnessed")).toContain("witnessed by other-n1 at");
  }, 90_000);

  test("stops all of it on Ctrl-C", async () => {
    const pids = pidsOf(clusterFile());
    supervisor.child.kill("SIGINT");
    expect(await supervisor.ended).toBe(0);
    expect(pids.filter(lives)).toEqual([]);
    expect(clusterFile()).toMatchObject({ state: "stopped", api_key: first.api_key });
    expect(existsSync(join(FOLDER, "supervisor.json"))).toBe(false);
    expect(anchorctl("anchor", letter).status).toBe(4);
    copyStorage("out");
  }, 30_000);

  test("resumes the same cluster", async () => {
    supervisor = start("--witness-logs", listLogs(south));
    const again = await running(supervisor);
    const lasting = ({ api_key, trust_root, nodes }: ClusterFile): object => ({
      api_key,
      trust_root,
      nodes: nodes.map(({ id, api_url, metrics_url, origin_fingerprint }) => {
        return { id, api_url, metrics_url, origin_fingerprint };
      }),
    });
    expect(lasting(again)).toEqual(lasting(first));
  }, 60_000);

  test("is a witness of the other cluster in turn", async () => {
    for (let leaf = 0; leaf < 3; leaf++) mustRun("anchor", letter, "--witnessed", ...toFirstOrigin());
    listWitnesses(south, clusterFile());
    const proof = join(HOME, "south.tlog-proof");
    mustRun("anchor", letter, "--witnessed", "--cluster", south, "--out", proof);
    expect(mustRun("verify", letter, "--witnessed", "--cluster", south, "--proof", proof)).toContain(
      "witnessed by other-n",
    );
  }, 90_000);

  test("leaves no process behind when it is killed, and starts again after that", async () => {
    const pids = pidsOf(clusterFile());
    supervisor.child.kill("SIGKILL");
    await until("its processes have ended", () => !pids.some(lives), 15_000);
    supervisor = start();
    expect((await running(supervisor)).state).toBe("running");
  }, 90_000);

  test("refuses the cluster of another build, and says how to begin anew", async () => {
    const settings = readFileSync(join(FOLDER, "nodes/n2/control-plane.json"), "utf8");
    const { database_url: url } = JSON.parse(settings) as { readonly database_url: string };
    const session = await SqlSession.open(url);
    await session.rows("UPDATE state.migrations SET sha256 = sha256('of another build')");
    await session.close();
    supervisor.child.kill("SIGTERM");
    expect(await supervisor.ended).toBe(0);
    const refused = start();
    expect(await refused.ended).toBe(1);
    expect(refused.output()).toContain("n2 control_plane: halted, not started again: database_of_other_build");
    expect(refused.output()).toContain(`npm start -- --data ${FOLDER} --fresh`);
    expect(clusterFile()).toMatchObject({ state: "stopped", api_key: first.api_key });
  }, 90_000);

  test("set back to an earlier state, all of it, is refused by its witness, and says so", async () => {
    const file = clusterFile();
    const southFile = clusterFile(south);
    copyStorage("back");
    supervisor = start();
    await running(supervisor);
    const conflict = 'anchoring_as_witness_requests_total{outcome="size_differs"}';
    const conflicts = await metric(southFile, conflict);
    // What it has forgotten no node of it remembers: it certifies other leaves in their place.
    mustRun("anchor", letter, ...toFirstOrigin());
    await until("the witness has answered 409", async () => (await metric(southFile, conflict)) > conflicts);
    const more = Array.from({ length: 8 }, (_, at) => join(HOME, `more-${at}.txt`));
    for (const path of more) writeFileSync(path, path);
    mustRun("anchor", ...more, ...toFirstOrigin());
    const seen = 'anchoring_witness_failures_total{witness="other-n1",failure="other_history"}';
    await until(
      "the cluster says that its witness has seen another history",
      async () => (await metric(file, seen)) > 0,
    );
    supervisor.child.kill("SIGINT");
    southern.child.kill("SIGINT");
    expect(await Promise.all([supervisor.ended, southern.ended])).toEqual([0, 0]);
  }, 120_000);

  test("begins anew with --fresh", async () => {
    supervisor = start("--fresh");
    const fresh = await running(supervisor);
    expect(fresh.trust_root.root_thk).not.toBe(first.trust_root.root_thk);
    expect(fresh.api_key).not.toBe(first.api_key);
    supervisor.child.kill("SIGINT");
    expect(await supervisor.ended).toBe(0);
  }, 90_000);

  test("refuses wrong usage and a folder that holds other files", async () => {
    expect(await start("--nodes", "99").ended).toBe(2);
    expect(await start("--unheard-of").ended).toBe(2);
    expect(await start("--nodes", "5").ended).toBe(1);
    const other = spawnSync(process.execPath, [START, "--data", HOME], { encoding: "utf8" });
    expect([other.status, other.stderr]).toEqual([1, expect.stringContaining("holds other files")]);
    expect(existsSync(letter)).toBe(true);
  }, 60_000);
});
