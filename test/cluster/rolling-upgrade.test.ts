import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import {
  ClusterLoad,
  differencesAt,
  headsAt,
  receiptFailures,
  startTestCluster,
} from "@event-anchoring/testkit/cluster";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { GatewayClient } from "../deploy/gateway-client.ts";
import { GATEWAY_NOTE, GatewayProcess, isGatewayThere } from "@event-anchoring/testkit/gateway";
import { NodeUnits, nextRelease } from "./node-units.ts";
import type { Release } from "./node-units.ts";
import { SteadyClients } from "./steady-clients.ts";

// docs/operating/upgrade.md, done: each node in turn is stopped as systemd stops it, and started as another
// release, while clients that never ask twice write and read behind the gateway.

/** Good answers of each kind of client between two steps. */
const BETWEEN = 25;
/** It is a third of a second where there is little else to do; no bound that a busy machine could break. */
const GAP_MS_MAX = 5000;
const describeWithGateway = isGatewayThere ? describe : describe.skip;

let setup: TestCluster;
let units: NodeUnits;
let releasesFolder: string;
let gateway: GatewayProcess;
let client: GatewayClient;
/** Run in reverse, however far the start came. */
const cleanups: (() => unknown)[] = [];

const RELEASED: Release = { folder: fileURLToPath(new URL("../..", import.meta.url)), version: "4.2.0", rules: 1 };
let upgraded: Release;

beforeAll(async () => {
  if (!isGatewayThere) return;
  releasesFolder = mkdtempSync(join(tmpdir(), "anchoring-releases-"));
  cleanups.push(() => rmSync(releasesFolder, { recursive: true, force: true }));
  upgraded = nextRelease("4.2.1-drill", releasesFolder);
  setup = await startTestCluster();
  cleanups.push(() => setup.cluster.erase());
  units = new NodeUnits(setup);
  cleanups.push(() => units.killAll());
  await Promise.all(setup.cluster.file.nodes.map(({ id }) => units.takeOver(id, RELEASED)));
  const [a = "", b = "", c = ""] = setup.cluster.file.nodes.map(({ api_url: url }) => new URL(url).host);
  gateway = await GatewayProcess.start({ nodes: [a, b, c] });
  cleanups.push(() => gateway.stop());
  client = new GatewayClient(gateway);
  cleanups.push(() => client.close());
  await allReady();
  await firstAnchors();
}, 300_000);

afterAll(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup();
}, 60_000);

const allReady = (): Promise<true> =>
  until("the gateway has three nodes", async () => (await gateway.readyNodes()) === 3, 60_000);

/** One of each origin: a reader of its newest then always finds one. */
async function firstAnchors(): Promise<void> {
  const load = ClusterLoad.start(setup, setup.cluster.file.nodes.length);
  await load.more(setup.cluster.file.nodes.length * 2);
  await load.stop();
}

function startClients(): SteadyClients {
  const { nodes } = setup.cluster.file;
  const clients = SteadyClients.start({
    gateway: client,
    apiKey: setup.apiKey,
    endpoints: nodes.map(({ api_url: url }) => url),
    origins: nodes.map(({ origin_fingerprint: origin }) => origin),
  });
  cleanups.push(() => clients.stop());
  return clients;
}

/** The leader first, then the others. */
async function nodesFromLeader(): Promise<readonly string[]> {
  const leader = await setup.leader();
  return [leader.id, ...setup.cluster.file.nodes.map(({ id }) => id).filter((id) => id !== leader.id)];
}

/** Waits until a node other than this one says that it leads. */
async function anotherLeads(nodeId: string): Promise<void> {
  await until("another node leads", async () => (await setup.leader()).id !== nodeId, 60_000);
}

/** How many anchors there are, by what the cluster itself has certified; the first leaf of each origin is none. */
async function anchorsCertified(nodeId: string): Promise<number> {
  const heads = await headsAt(setup, nodeId);
  return heads.reduce((sum, head) => sum + Number(head.split(" ")[0]) - 1, 0);
}

describeWithGateway(`a rolling upgrade${GATEWAY_NOTE}`, () => {
  let clients: SteadyClients;

  test("the leader first, then the others: no asking fails", async () => {
    const before = await anchorsCertified("n1");
    clients = startClients();
    await clients.more(BETWEEN);
    for (const id of await nodesFromLeader()) {
      // Whoever is not upgraded yet holds the new rules back.
      expect(await units.versions(id)).toMatchObject({ rules: 1, rules_known: 1, entry_version: 1 });
      const stopping = units.stopBoth(id);
      await anotherLeads(id);
      units.remind(id);
      expect(await stopping).toEqual([0, 0]);
      // It saw another lead before it ended.
      expect(units.lastLeaderKnownTo(id)).not.toBe(id);
      await clients.more(BETWEEN);
      for (const unit of ["control-plane", "api"] as const) units.start(id, unit, upgraded);
      await units.ready(id, upgraded);
      await allReady();
    }
    await until("the rules are raised on every node", async () => {
      const said = await Promise.all(setup.cluster.file.nodes.map(({ id }) => units.versions(id)));
      return said.every(({ rules, entry_version: entry }) => rules === 2 && entry === 2);
    });
    await clients.more(BETWEEN);
    await clients.stop();
    const { writes, reads, sdk, acknowledged } = clients;
    process.stdout.write(
      `${acknowledged.length} written, ${reads.count} read; longest: a write ${writes.longestMs.toFixed(0)} ms, ` +
        `a read ${reads.longestMs.toFixed(0)} ms, with the SDK ${sdk.longestMs.toFixed(0)} ms; ` +
        `without any write ${writes.longestGapMs.toFixed(0)} ms\n`,
    );
    expect(writes.failures).toEqual(new Map());
    expect(reads.failures).toEqual(new Map());
    expect(sdk.failures).toEqual(new Map());
    expect(writes.longestGapMs).toBeLessThan(GAP_MS_MAX);
    expect(await anchorsCertified("n1")).toBe(before + acknowledged.length);
  }, 600_000);

  test("every anchor is on every node, once, with a receipt that verifies", async () => {
    const { acknowledged } = clients;
    const places = acknowledged.map(({ originFingerprint, depth }) => `${originFingerprint} ${depth}`);
    expect(new Set(places).size).toBe(acknowledged.length);
    for (const { id } of setup.cluster.file.nodes) expect(await differencesAt(setup, id, acknowledged)).toEqual([]);
    expect(receiptFailures(setup, acknowledged)).toEqual([]);
  }, 180_000);

  test("a node that goes back to the release before stops by name, and goes on with the right one", async () => {
    const id = "n2";
    await units.stopBoth(id);
    units.start(id, "control-plane", RELEASED);
    expect(await units.ended(id, "control-plane")).toBe(79);
    expect(units.logOf(id, "control-plane")).toContain("rules_unknown: rules 2, this program has 1");
    for (const unit of ["control-plane", "api"] as const) units.start(id, unit, upgraded);
    await units.ready(id, upgraded);
  }, 120_000);
});
