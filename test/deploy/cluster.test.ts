import { createHash, randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { EmbeddedCluster } from "@event-anchoring/dev-cluster";
import { certsCommand, createCluster } from "@event-anchoring/provision";
import { until } from "@event-anchoring/testkit";
import { RetryingWriter } from "@event-anchoring/testkit/clients";
import { GatewayClient, getBytes, sendBytes, statusOf } from "./gateway-client.ts";
import type { GatewayAnswer } from "./gateway-client.ts";
import { GATEWAY_NOTE, GatewayProcess, isGatewayThere } from "@event-anchoring/testkit/gateway";

// A real cluster, with the gateway before it, and with certificates that change while it is written to.

const NODE_IDS = ["n1", "n2", "n3"];
const describeWithGateway = isGatewayThere ? describe : describe.skip;
/** Below the ports that systems give out by themselves; another row for each process. */
const FIRST_PORT = 31_000 + (process.pid % 30) * 30;

let folder: string;
let cluster: EmbeddedCluster;
let apiKey: string;
let gateway: GatewayProcess;
let client: GatewayClient;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "anchoring-deploy-"));
  const nodes = NODE_IDS.map((nodeId) => ({ nodeId, controlHost: "127.0.0.1", controlPort: 0 }));
  await createCluster({ clusterName: "deploy.test", nodes, quorum: 2, outDir: folder, hasNextAuthority: true });
  const reporter = { step: <Result>(_title: string, run: () => Promise<Result>) => run(), notice: () => undefined };
  cluster = await EmbeddedCluster.start({ folder, firstPort: FIRST_PORT, reporter });
  apiKey = cluster.file.api_key ?? "";
  if (!isGatewayThere) return;
  const [a = "", b = "", c = ""] = cluster.file.nodes.map(({ api_url: url }) => new URL(url).host);
  gateway = await GatewayProcess.start({ nodes: [a, b, c] });
  client = new GatewayClient(gateway);
}, 120_000);

afterAll(async () => {
  if (isGatewayThere) {
    client.close();
    await gateway.stop();
  }
  await cluster.erase();
  rmSync(folder, { recursive: true, force: true });
}, 240_000);

async function metricsOf(nodeId: string): Promise<string> {
  return (await fetch(cluster.node(nodeId).entry.metrics_url)).text();
}

/** The sum of a metric over its labels, of those lines that have the text. */
async function metric(nodeId: string, name: string, having = ""): Promise<number> {
  const lines = (await metricsOf(nodeId)).split("\n");
  const own = lines.filter((line) => /^[a-z_]+/.exec(line)?.[0] === name && line.includes(having));
  return own.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}

/** Writers that go on until they are stopped, each at another node. */
function startWriters(count: number): { stop(): Promise<RetryingWriter[]>; enough(more: number): Promise<void> } {
  const { nodes } = cluster.file;
  const writers = Array.from(
    { length: count },
    (_, firstNode) => new RetryingWriter({ nodes, apiKey, firstNode, pauseMs: 10 }),
  );
  const runs = Promise.all(writers.map((writer) => writer.run()));
  const written = (): number => writers.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0);
  return {
    enough: async (more) => {
      const goal = written() + more;
      await until(`${more} more events are anchored`, () => written() >= goal, 60_000);
    },
    stop: async () => {
      for (const writer of writers) writer.stop();
      await runs;
      return writers;
    },
  };
}

describe("certificates change under load", () => {
  async function certs(...[name, ...args]: [string, ...string[]]): Promise<void> {
    let said = "";
    const terminal = { write: () => undefined, error: (text: string) => void (said += text) };
    const run = { ...terminal, workingDir: folder, nowMs: Date.now() };
    const code = await certsCommand(name as "renew", [...args, "--out", folder], run);
    if (code !== 0) throw new Error(said);
  }

  const reloads = (nodeId: string): number =>
    readFileSync(join(folder, "nodes", nodeId, "logs/control-plane.log"), "utf8").split("tls_reloaded").length - 1;

  /** Does something to the files, and waits until every node has taken it up. */
  async function takenUp(change: () => Promise<void>, isTold: boolean): Promise<void> {
    const before = NODE_IDS.map(reloads);
    await change();
    for (const { pids } of isTold ? cluster.file.nodes : []) {
      if (pids.control_plane !== null) process.kill(pids.control_plane, "SIGHUP");
    }
    await until("all nodes have reloaded", () => NODE_IDS.every((id, at) => reloads(id) > (before[at] ?? 0)), 60_000);
  }

  const sessionsEnded = async (): Promise<number> => {
    const counts = NODE_IDS.map((id) => metric(id, "anchoring_transport_events_total", 'event="session_ended"'));
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  };

  test("renewed, then of the CA's successor: no session ends, every write is anchored", async () => {
    const writers = startWriters(2);
    try {
      await writers.enough(20);
      const [ended, expiry] = [await sessionsEnded(), await metric("n1", EXPIRY)];
      await takenUp(() => certs("renew", "--lifetime", "500d"), false);
      expect(await metric("n1", EXPIRY)).toBeGreaterThan(expiry);
      await writers.enough(20);
      await takenUp(() => certs("authority", "trust"), true);
      await takenUp(async () => {
        await certs("authority", "switch");
        await certs("renew");
      }, true);
      await writers.enough(20);
      await takenUp(() => certs("authority", "forget"), true);
      await writers.enough(20);
      expect(await sessionsEnded()).toBe(ended);
    } finally {
      const ran = await writers.stop();
      expect(ran.flatMap(({ refusals }) => refusals)).toEqual([]);
    }
  }, 180_000);

  const EXPIRY = "anchoring_tls_certificate_expiry_timestamp_seconds";

  test("a node that starts anew comes back with the successor's certificate", async () => {
    await cluster.node("n2").killProcesses();
    cluster.node("n2").startProcesses();
    await cluster.ready();
    await until("its certificate is good", async () => (await metric("n2", EXPIRY)) > Date.now() / 1000);
    const opened = await metric("n2", "anchoring_transport_events_total", 'event="session_opened"');
    expect(opened).toBeGreaterThanOrEqual(4);
  }, 120_000);
});

function write(clientEventId: string): Promise<GatewayAnswer> {
  const body = JSON.stringify({
    origin_fingerprint: cluster.file.nodes[0]?.origin_fingerprint,
    event_hash: createHash("sha256").update(clientEventId).digest("hex"),
    client_event_id: clientEventId,
  });
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  return client.ask({ method: "POST", path: "/v1/event-anchors", headers, body });
}

const read = (path: string): Promise<GatewayAnswer> =>
  client.ask({ path, headers: { authorization: `Bearer ${apiKey}` } });

/** A connection that ended without an answer. */
const brokenOff = (error: unknown): GatewayAnswer => ({ status: 0, headers: {}, text: String(error) });

const anchorIdOf = ({ text }: GatewayAnswer): string =>
  (JSON.parse(text) as { anchor: { anchor_id: string } }).anchor.anchor_id;

/** The answer, once it is 200 or 201; a broken connection and 503 are asked again, as every client must. */
async function anchored(clientEventId: string): Promise<GatewayAnswer | null> {
  const answer = await write(clientEventId).catch(brokenOff);
  if (answer.status === 200 || answer.status === 201) return answer;
  if (answer.status === 503 || answer.status === 0) return null;
  throw new Error(`${answer.status}: ${answer.text}`);
}

describeWithGateway(`behind the gateway${GATEWAY_NOTE}`, () => {
  test("an anchor is written and read", async () => {
    const id = randomUUID();
    const written = await until("it is anchored", () => anchored(id));
    expect([200, 201]).toContain(written.status);
    expect((await read(`/v1/event-anchors/${anchorIdOf(written)}`)).status).toBe(200);
    expect((await read("/healthz")).status).toBe(200);
    expect((await client.ask({ path: "/v1/event-anchors/latest" })).status).toBe(401);
  });

  test.each(["/metrics", "//metrics", "/%6detrics", "/healthz/../metrics", "/v1/%2e%2e/metrics"])(
    "nobody reads metrics there: %s",
    async (target) => {
      const answer = await sendBytes(gateway, getBytes(target));
      expect([400, 404]).toContain(statusOf(answer));
      expect(answer).not.toContain("anchoring_");
      expect(await metricsOf("n1")).toContain("anchoring_raft_term");
    },
  );
});

describeWithGateway("a node behind the gateway", () => {
  test("no read fails while one is killed and comes back; every write is anchored once", async () => {
    const first = await until("one is anchored", () => anchored("the first"));
    const path = `/v1/event-anchors/${anchorIdOf(first)}`;
    const reads: GatewayAnswer[] = [];
    const written = new Map<string, string>();
    const stopped = new AbortController();
    const reading = (async (): Promise<void> => {
      while (!stopped.signal.aborted) reads.push(await read(path).catch(brokenOff));
    })();
    const writing = (async (): Promise<void> => {
      while (!stopped.signal.aborted) {
        const id = randomUUID();
        const answer = await until(`${id} is anchored`, () => anchored(id), 60_000);
        written.set(id, anchorIdOf(answer));
      }
    })();
    const enough = (): Promise<unknown> => {
      const goal = { reads: reads.length + 40, writes: written.size + 15 };
      return until("more", () => reads.length >= goal.reads && written.size >= goal.writes, 60_000);
    };
    try {
      await enough();
      await cluster.node("n3").killProcesses();
      await enough();
      cluster.node("n3").startProcesses();
      await cluster.ready();
      await enough();
      await cluster.node("n1").stopProcesses();
      await enough();
      cluster.node("n1").startProcesses();
      await cluster.ready();
    } finally {
      stopped.abort();
      await Promise.all([reading, writing]);
    }
    expect(reads.filter(({ status }) => status !== 200).map(({ status, text }) => `${status} ${text}`)).toEqual([]);
    for (const [id, anchorId] of written) {
      const again = await until(`${id} is answered again`, () => anchored(id), 60_000);
      expect(anchorIdOf(again)).toBe(anchorId);
    }
  }, 300_000);
});
