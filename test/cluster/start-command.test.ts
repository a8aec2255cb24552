import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import type { ClusterFile } from "@event-anchoring/dev-cluster";
import { until } from "@event-anchoring/testkit";
import { SqlSession } from "@event-anchoring/testkit/postgres";
import { START, type Supervisor, anchorctlIn, clusterFileIn, killStarted, running, startIn } from "./started.ts";

/** A folder of its own, one level above the cluster's, so that `.anchoring` is found by those who look for it. */
const HOME = mkdtempSync(join(tmpdir(), "anchoring-start-"));
// As root, Postgres runs under another account, which must be able to pass through.
chmodSync(HOME, 0o755);
const FOLDER = join(HOME, ".anchoring");

afterAll(() => {
  killStarted();
  rmSync(HOME, { recursive: true, force: true });
});

const start = (...args: readonly string[]): Supervisor => startIn(FOLDER, ...args);
const clusterFile = (): ClusterFile => clusterFileIn(FOLDER);
const anchorctl = (...args: readonly string[]): ReturnType<typeof anchorctlIn> => anchorctlIn(HOME, ...args);

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

describe("npm start", () => {
  const letter = join(HOME, "letter.txt");
  let first: ClusterFile;
  let supervisor: Supervisor;

  test("brings up three nodes and says how to go on", async () => {
    supervisor = start();
    first = await running(supervisor, FOLDER);
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

  test("stops all of it on Ctrl-C", async () => {
    const pids = pidsOf(clusterFile());
    supervisor.child.kill("SIGINT");
    expect(await supervisor.ended).toBe(0);
    expect(pids.filter(lives)).toEqual([]);
    expect(clusterFile()).toMatchObject({ state: "stopped", api_key: first.api_key });
    expect(existsSync(join(FOLDER, "supervisor.json"))).toBe(false);
    expect(anchorctl("anchor", letter).status).toBe(4);
  }, 30_000);

  test("resumes the same cluster", async () => {
    supervisor = start();
    const again = await running(supervisor, FOLDER);
    const lasting = ({ api_key, trust_root, nodes }: ClusterFile): object => ({
      api_key,
      trust_root,
      nodes: nodes.map(({ id, api_url, metrics_url, origin_fingerprint }) => {
        return { id, api_url, metrics_url, origin_fingerprint };
      }),
    });
    expect(lasting(again)).toEqual(lasting(first));
  }, 60_000);

  test("leaves no process behind when it is killed, and starts again after that", async () => {
    const pids = pidsOf(clusterFile());
    supervisor.child.kill("SIGKILL");
    await until("its processes have ended", () => !pids.some(lives), 15_000);
    supervisor = start();
    expect((await running(supervisor, FOLDER)).state).toBe("running");
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

  test("begins anew with --fresh", async () => {
    supervisor = start("--fresh");
    const fresh = await running(supervisor, FOLDER);
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
