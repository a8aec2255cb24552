import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { EmbeddedPostgres, OWNER_ROLE, openPostgresInstallation, postgresUser } from "@event-anchoring/dev-cluster";
import { until } from "@event-anchoring/testkit";
import {
  ClusterLoad,
  differencesAt,
  headsAt,
  nodeFiles,
  receiptFailures,
  startTestCluster,
} from "@event-anchoring/testkit/cluster";
import type { NodeFiles, Stopped, TestCluster } from "@event-anchoring/testkit/cluster";

const CONTROL_PLANE = fileURLToPath(new URL("../../packages/control-plane/dist/main.js", import.meta.url));
const EXIT_FENCED = 78;
const WRITERS = 4;
/** The node that forgets. The load goes on through all of this file, over the other two. */
const NODE = "n3";

let setup: TestCluster;
let load: ClusterLoad;
let files: NodeFiles;
const clones: { stop(): Promise<void> }[] = [];

beforeAll(async () => {
  setup = await startTestCluster();
  files = nodeFiles(setup.cluster, NODE);
  load = ClusterLoad.start(setup, WRITERS);
}, 240_000);

afterAll(async () => {
  await load.abandon();
  await Promise.all(clones.map((clone) => clone.stop()));
  await setup.erase();
}, 240_000);

/** Whole and with its owners: a database folder belongs to the account of Postgres. */
function copy(from: string, to: string): void {
  const { status, stderr } = spawnSync("cp", ["-pR", from, to], { encoding: "utf8" });
  if (status !== 0) throw new Error(`${from} was not copied: ${stderr}`);
}

async function stopNode(): Promise<void> {
  await setup.cluster.node(NODE).stopProcesses();
  await setup.cluster.node(NODE).stopPostgres();
}

async function startNode(): Promise<void> {
  await setup.cluster.node(NODE).startPostgres();
  setup.cluster.node(NODE).startProcesses();
}

/** What the node that may not go on has left behind, once its supervisor has taken note of it. */
async function fenced(): Promise<Stopped> {
  const stopped = await until("the node says why it stopped", () => files.stopped());
  const notice = `${NODE} control_plane: fenced, not started again: ${stopped.check}`;
  await until("the supervisor says so", () => setup.notices.some((said) => said.startsWith(notice)));
  return stopped;
}

function nameOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "name" in error ? error.name : null;
}

/** What the node's api process says of itself; null while it is still starting. */
async function readiness(): Promise<[status: number, body: unknown] | null> {
  try {
    const response = await fetch(`${setup.entry(NODE).api_url}/readyz`, { signal: AbortSignal.timeout(5000) });
    return [response.status, await response.json()];
  } catch (error) {
    // The error may come from another realm than this test: its class is not ours.
    if (nameOf(error) === "TypeError") return null;
    throw error;
  }
}

/** The others go on; the node stays down and its api process says why it answers nothing. */
async function expectDown(): Promise<void> {
  await load.more(40);
  expect(setup.entry(NODE).pids.control_plane).toBeNull();
  expect(await until("the api process listens", readiness)).toMatchObject([
    503,
    { checks: expect.arrayContaining([expect.objectContaining({ check: "control_plane", result: "fail" })]) },
  ]);
}

/** The node has everything that it had promised: nothing stands in its way. */
async function expectBack(): Promise<void> {
  await setup.cluster.ready();
  await load.more(20);
  expect(files.stopped()).toBeNull();
}

type Age = "older" | "newest";

/** The node is stopped, gets copies of this age in the place of its files (null: nothing), and is started. */
async function startWith({ database, promiseFile }: Record<"database" | "promiseFile", Age | null>): Promise<void> {
  await stopNode();
  const places = [
    [files.databaseDir, database],
    [files.promiseFile, promiseFile],
  ] as const;
  for (const [path, age] of places) {
    rmSync(path, { recursive: true, force: true });
    if (age !== null) copy(`${path}-${age}`, path);
  }
  await startNode();
}

/** Copies of what the node has now, while it is stopped. */
function keep(age: Age): void {
  for (const path of [files.databaseDir, files.promiseFile]) copy(path, `${path}-${age}`);
}

describe("a node that forgot what it promised", () => {
  beforeAll(async () => {
    await load.more(50);
    await stopNode();
    keep("older");
    await startNode();
    await expectBack();
    await stopNode();
    keep("newest");
  }, 240_000);

  test("does not start without its promise file", async () => {
    await startWith({ database: "newest", promiseFile: null });
    expect(await fenced()).toMatchObject({ code: EXIT_FENCED, reason: "fenced", check: "promise_file_missing" });
    await expectDown();
  }, 240_000);

  test("does not start with an older copy of its database", async () => {
    await startWith({ database: "older", promiseFile: "newest" });
    const { code, check, detail } = await fenced();
    expect([code, check]).toEqual([EXIT_FENCED, "wal_went_back"]);
    expect(detail).toMatch(/ends at \d+, it had been flushed up to \d+/);
    await expectDown();
  }, 240_000);

  test("is told by its peers when database and promise file are both of an older day", async () => {
    await startWith({ database: "older", promiseFile: "older" });
    const { code, check, detail } = await fenced();
    expect([code, check]).toEqual([EXIT_FENCED, "peer_remembers_more"]);
    expect(detail).toMatch(/^n[12]: (amnesia|stale_incarnation): /);
    await expectDown();
  }, 240_000);

  test("goes on when it is given back what it had", async () => {
    await startWith({ database: "newest", promiseFile: "newest" });
    await expectBack();
    expect(setup.entry(NODE).pids.control_plane).not.toBeNull();
  }, 240_000);
});

interface Clone {
  readonly log: () => string;
  readonly ended: Promise<number | null>;
  stop(): Promise<void>;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  if (address === null || typeof address === "string") throw new Error("a port was asked for");
  return address.port;
}

/** A second control plane with the node's own identity, beside the first: another port, and what is given here. */
async function startClone(name: string, changes: Readonly<Record<string, unknown>>): Promise<Clone> {
  const runDir = join(setup.cluster.root, "nodes", `${NODE}-${name}`);
  mkdirSync(runDir, { mode: 0o700 });
  const config = {
    ...files.controlPlaneConfig,
    listen: { host: "127.0.0.1", port: await freePort() },
    run_dir: runDir,
    api_socket: join(dirname(String(files.controlPlaneConfig["api_socket"])), `${name}.sock`),
    ...changes,
  };
  const path = join(runDir, "control-plane.json");
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
  const child = spawn(process.execPath, [CONTROL_PLANE, "--config", path], { stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  child.stdout.on("data", (chunk: Buffer) => (log += chunk.toString("utf8")));
  child.stderr.on("data", (chunk: Buffer) => (log += chunk.toString("utf8")));
  const ended = new Promise<number | null>((resolve) => {
    child.once("exit", (code) => resolve(code));
  });
  const clone = {
    log: () => log,
    ended,
    stop: async (): Promise<void> => {
      child.kill("SIGKILL");
      await ended;
    },
  };
  clones.push(clone);
  return clone;
}

/** A server of its own for a copied database folder. @returns where it is reached */
async function startCopy(databaseDir: string): Promise<string> {
  const user = postgresUser();
  const server = new EmbeddedPostgres({
    dir: databaseDir,
    socketDir: join(dirname(String(files.controlPlaneConfig["api_socket"])), "..", "clone"),
    port: 5499,
    installation: openPostgresInstallation({ cacheDir: setup.cluster.file.postgres_dir, user }),
    user,
  });
  clones.push({ stop: () => server.stop({ mode: "immediate" }) });
  await server.start();
  return server.url(OWNER_ROLE, new URL(files.databaseUrl).pathname.slice(1));
}

describe("a clone of a node", () => {
  test("gets neither the living one's promise file nor its peers, and the living one goes on", async () => {
    // What the living one was started from.
    const promiseFile = `${files.promiseFile}-newest`;
    const { control_plane: living } = setup.entry(NODE).pids;
    const database = await startCopy(`${files.databaseDir}-newest`);
    const thief = await startClone("thief", { database_url: database });
    await until("it says that it may not", () => thief.log().includes(`is held by process ${living ?? "?"}`));
    await thief.stop();
    // At its first start it speaks in the very incarnation of the living one, later in higher ones.
    for (const name of ["first-start", "second-start"]) {
      const clone = await startClone(name, { database_url: database, promise_file: promiseFile });
      expect(await clone.ended).toBe(EXIT_FENCED);
      expect(clone.log()).toMatch(/fenced: peer_remembers_more: n[12]: (amnesia|stale_incarnation): /);
      expect(clone.log()).not.toContain("leader_changed");
    }
    await load.more(40);
    expect(setup.entry(NODE).pids.control_plane).toBe(living);
  }, 240_000);
});

describe("after all of that", () => {
  test("nothing acknowledged is missing on any node, and every receipt verifies", async () => {
    const acknowledged = await load.stop();
    expect(load.refusals).toEqual([]);
    for (const { id } of setup.cluster.file.nodes) expect(await differencesAt(setup, id, acknowledged)).toEqual([]);
    expect(await headsAt(setup, NODE)).toEqual(await headsAt(setup, "n1"));
    expect(receiptFailures(setup, acknowledged)).toEqual([]);
  }, 240_000);
});
