/** One node of three lies: what the others find, keep and stop. docs/operating/contradictions.md, done. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { anchorctl } from "@event-anchoring/cli";
import { until } from "@event-anchoring/testkit";
import { ClusterLoad, headsAt, nodeFiles, startTestCluster } from "@event-anchoring/testkit/cluster";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { NodeUnits, lyingRelease } from "./node-units.ts";
import { changeTrustRoot } from "@event-anchoring/gates/anchorctl";

const STEP_TIMEOUT_MS = 240_000;
/** What is promised of a contradiction: docs/operating/threat-model.md. */
const EVIDENCE_WITHIN_MS = 5000;

let setup: TestCluster;
let units: NodeUnits;
let releaseFolder: string;
/** It leads, and gives the deceived one other bytes than the honest one. */
let liar: string;
let deceived: string;
let honest: string;
/** Both are forked; in the end one goes on and the other is given up. */
let reopened: string;
let lost: string;

beforeAll(async () => {
  releaseFolder = mkdtempSync(join(tmpdir(), "anchoring-liar-"));
  setup = await startTestCluster();
  const load = ClusterLoad.start(setup, 2);
  await load.more(20);
  await load.stop();
  units = new NodeUnits(setup);
  liar = "n1";
  [deceived, honest] = ["n2", "n3"];
  await units.takeOver(liar, lyingRelease(releaseFolder));
  await untilItLeads();
  [reopened, lost] = [setup.entry(honest).origin_fingerprint, setup.entry(liar).origin_fingerprint];
}, STEP_TIMEOUT_MS);

afterAll(async () => {
  await units.killAll();
  await setup.erase();
  rmSync(releaseFolder, { recursive: true, force: true });
}, STEP_TIMEOUT_MS);

/** Whoever else leads is killed, until an election falls out so: a handover would always go to the same node. */
async function untilItLeads(): Promise<void> {
  for (;;) {
    const { id } = await setup.leader();
    if (id === liar) return;
    await setup.cluster.node(id).killProcesses();
    setup.cluster.node(id).startProcesses();
    await setup.cluster.ready();
  }
}

interface Ran {
  readonly exitCode: number;
  readonly stdout: string;
}

async function run(...args: readonly string[]): Promise<Ran> {
  let stdout = "";
  const exitCode = await anchorctl(args, {
    stdout: { isTTY: false, write: (text) => (stdout += text) },
    stderr: { isTTY: false, write: (text) => (stdout += text) },
    workingDir: setup.cluster.root,
    environment: {},
  });
  return { exitCode, stdout };
}

const evidenceOf = (nodeId: string): string => join(dirname(nodeFiles(setup.cluster, nodeId).promiseFile), "evidence");

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(".notes"));
  } catch {
    return [];
  }
}

interface Evidence {
  readonly valid: boolean;
  readonly origin: string;
  readonly notes: readonly { readonly signers: readonly string[]; readonly certified_by: readonly number[] }[];
  readonly named: readonly string[];
}

const pinned = (): readonly string[] => [
  "--trust-root",
  join(setup.cluster.root, "trust-root.txt"),
  "--root-thk",
  setup.cluster.file.trust_root.root_thk,
];

/** With nothing but the folder, the trust root and the pin. */
async function provenBy(nodeId: string): Promise<readonly Evidence[]> {
  const { exitCode, stdout } = await run("evidence", evidenceOf(nodeId), ...pinned(), "--json");
  if (exitCode !== 0) throw new Error(stdout);
  return (JSON.parse(stdout) as { readonly evidence: readonly Evidence[] }).evidence;
}

interface Answer {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
}

async function ask(nodeId: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(`${setup.entry(nodeId).api_url}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${setup.apiKey}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}

let written = 0;

function write(nodeId: string, origin: string): Promise<Answer> {
  written += 1;
  const eventHash = written.toString(16).padStart(64, "0");
  return ask(nodeId, "/v1/event-anchors", { origin_fingerprint: origin, event_hash: eventHash });
}

/** Status and code of a refusal; of what is anchored, the status and whether a receipt is there. */
function told({ status, json }: Answer): string {
  return `${status} ${typeof json.code === "string" ? json.code : json.receipt === null ? "committed" : "certified"}`;
}

interface ReadyCheck {
  readonly check: string;
  readonly result: string;
  readonly detail: string;
}

async function contradictionsAt(nodeId: string): Promise<ReadyCheck | undefined> {
  const { json } = await ask(nodeId, "/readyz");
  return (json.checks as readonly ReadyCheck[]).find(({ check }) => check === "contradictions");
}

describe("a leader of three that gives one follower other bytes", () => {
  test(
    "is named at both others within five seconds, by files that prove it offline",
    async () => {
      writeFileSync(join(String(nodeFiles(setup.cluster, liar).controlPlaneConfig["run_dir"]), "victim"), deceived);
      units.signal(liar, "control-plane", "SIGUSR2");
      const startedMs = performance.now();
      const answers = Promise.all([write(honest, reopened), write(honest, lost)]);
      for (const nodeId of [honest, deceived]) {
        await until(`${nodeId} has evidence of two forks`, () => filesIn(evidenceOf(nodeId)).length >= 2);
      }
      expect(performance.now() - startedMs).toBeLessThan(EVIDENCE_WITHIN_MS);
      await answers;
      for (const nodeId of [honest, deceived]) {
        const { stdout } = await run("evidence", evidenceOf(nodeId), ...pinned());
        expect(stdout).toMatch(new RegExp(`✗ named +anchoring\\.localhost/node/${liar} has signed both roots`, "u"));
        const forks = await until(`${nodeId} holds both certificates`, async () => {
          const found = (await provenBy(nodeId)).filter(({ notes }) =>
            notes.every((note) => note.certified_by.length > 0),
          );
          return found.length >= 2 ? found : null;
        });
        for (const { named } of forks) expect(named).toEqual([expect.stringMatching(new RegExp(`/${liar}$`, "u"))]);
      }
    },
    STEP_TIMEOUT_MS,
  );

  test(
    "has stopped two origins: each node says so, and refuses what would be added",
    async () => {
      for (const nodeId of [honest, deceived]) {
        const check = await until(`${nodeId} names both origins`, async () => {
          const found = await contradictionsAt(nodeId);
          return [reopened, lost].every((origin) => found?.detail.includes(`origin ${origin} has stopped`)) && found;
        });
        expect(check).toMatchObject({
          result: "warn",
          detail: expect.stringContaining(`${liar} has signed two roots`),
        });
        expect((await ask(nodeId, "/readyz")).status).toBe(200);
        for (const origin of [reopened, lost]) {
          expect(told(await write(nodeId, origin))).toBe("503 origin_contradicted");
        }
      }
      const { exitCode, stdout } = await run("status", "--cluster", setup.cluster.root);
      expect(exitCode).toBe(0);
      for (const origin of [reopened, lost]) expect(stdout).toContain(`origin ${origin} has stopped`);
      const metrics = await (await fetch(setup.entry(honest).metrics_url)).text();
      expect(metrics).toMatch(/^anchoring_contradicted_origins 2$/mu);
      expect(metrics).toMatch(/^anchoring_named_signers 1$/mu);
      // What a write to this node names is an origin that takes it.
      expect((await ask(honest, "/healthz")).json).toMatchObject({
        status: "degraded",
        origin_fingerprint: setup.entry(deceived).origin_fingerprint,
      });
    },
    STEP_TIMEOUT_MS,
  );

  test(
    "leaves the third origin alone, also once it is stopped",
    async () => {
      await units.kill(liar);
      const { origin_fingerprint: origin } = setup.entry(deceived);
      const isWritten = async (): Promise<boolean> => told(await write(honest, origin)) === "201 certified";
      expect(await until("the other two certify", isWritten)).toBe(true);
    },
    STEP_TIMEOUT_MS,
  );
});

/** The origin of a node that nobody has written to yet has no head to show. */
async function newestHeads(nodeId: string): Promise<readonly string[]> {
  return (await headsAt(setup, nodeId)).filter((head) => /^\d+ [0-9a-f]{64}$/u.test(head));
}

describe("the holders of the root keys", () => {
  test(
    "replace the deceived node and the liar in one version; one origin goes on, the other is given up",
    async () => {
      await setup.cluster.addNode("n4");
      await setup.cluster.addNode("n5");
      const cards = ["n4", "n5"].flatMap((id) => ["--add-active", setup.cluster.cardPath(id)]);
      const change = ["--retire", deceived, "--distrust", liar, ...cards, "--lose-origin", lost];
      await changeTrustRoot(setup, change, { wait: "3m" });
      const stopped = await until("the deceived node stops", () => nodeFiles(setup.cluster, deceived).stopped());
      expect(stopped).toMatchObject({ check: "retired" });
      for (const nodeId of [honest, "n4", "n5"]) {
        await until(
          `${nodeId} writes to it again`,
          async () => told(await write(nodeId, reopened)) === "201 certified",
        );
        expect(told(await write(nodeId, lost))).toBe("409 origin_closed");
      }
      const [own, ...newcomers] = await Promise.all([honest, "n4", "n5"].map(newestHeads));
      expect(own?.length).toBeGreaterThanOrEqual(3);
      for (const heads of newcomers) expect(heads).toEqual(own);
    },
    2 * STEP_TIMEOUT_MS,
  );

  test(
    "leave the lost origin readable on every node, alike",
    async () => {
      const path = `/v1/event-anchors/latest?origin_fingerprint=${lost}`;
      const [own, ...others] = await Promise.all([honest, "n4", "n5"].map((nodeId) => ask(nodeId, path)));
      expect(own).toMatchObject({ status: 200, json: { origin_fingerprint: lost } });
      for (const { json } of others) expect(json.anchor).toEqual(own?.json.anchor);
    },
    STEP_TIMEOUT_MS,
  );

  test(
    "put the evidence aside, and nothing is held against anybody any more",
    async () => {
      // Who differed is forgotten after ten seconds.
      const isFilesAlone = async (): Promise<boolean> =>
        /^files of evidence: \d+$/u.test((await contradictionsAt(honest))?.detail ?? "");
      await until("nothing but the files is left", isFilesAlone);
      const folder = evidenceOf(honest);
      const { exitCode, stdout } = await run("evidence", "clear", folder);
      expect([exitCode, stdout]).toEqual([0, expect.stringContaining("cleared")]);
      expect(filesIn(join(folder, "cleared")).length).toBeGreaterThanOrEqual(2);
      await until("the node has looked", async () => (await contradictionsAt(honest))?.result === "pass");
    },
    STEP_TIMEOUT_MS,
  );
});
