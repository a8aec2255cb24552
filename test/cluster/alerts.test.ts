/** A node that is cut off from its peers: both alerts on its trust root fire within 35 s, and clear when it is back. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { startTestCluster } from "@event-anchoring/testkit/cluster";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { PrometheusServer, isPrometheusThere } from "./prometheus-server.ts";

const RULES = fileURLToPath(new URL("../../deploy/prometheus/alerts.yml", import.meta.url));
const SYNC_ERROR = "anchoring_prime_root_thk_sync_error";
const LAST_SUCCESS = "anchoring_prime_root_thk_last_sync_success_timestamp_seconds";
const SCRAPED = 'up{job="anchoring"} == 1';
const FIRES_WITHIN_MS = 35_000;
const CLEARS_WITHIN_MS = 60_000;

let setup: TestCluster;
let prometheus: PrometheusServer | null = null;

beforeAll(async () => {
  setup = await startTestCluster();
  if (isPrometheusThere) prometheus = await startPrometheus();
  else process.stdout.write("prometheus is not here (Debian package prometheus): its conditions are read directly\n");
}, 240_000);

afterAll(async () => {
  await prometheus?.stop();
  await setup.erase();
}, 240_000);

/** The real program with the rules as they are shipped, every node a target. */
async function startPrometheus(): Promise<PrometheusServer> {
  const targets = setup.cluster.file.nodes.map(({ id, metrics_url: url }) => {
    return `      - { targets: ["${new URL(url).host}"], labels: { node: "${id}" } }`;
  });
  const config = [
    "global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }",
    `rule_files: ["${RULES}"]`,
    "scrape_configs:",
    "  - job_name: anchoring",
    "    static_configs:",
    ...targets,
    "",
  ];
  const server = await PrometheusServer.start(config.join("\n"));
  await until("Prometheus has scraped every node", async () => (await server.count(SCRAPED)) === 3, 60_000);
  return server;
}

/** Names of the alerts that fire for a node, as Prometheus says. */
async function firing(nodeId: string): Promise<readonly string[]> {
  const answer = await prometheus?.ask<{
    readonly alerts: readonly { readonly state: string; readonly labels: Readonly<Record<string, string>> }[];
  }>("/api/v1/alerts");
  return (answer?.["data"].alerts ?? [])
    .filter(({ state, labels }) => state === "firing" && labels.node === nodeId)
    .map(({ labels }) => labels.alertname ?? "");
}

async function scraped(nodeId: string): Promise<{ readonly syncError: number; readonly ageS: number }> {
  const response = await fetch(setup.entry(nodeId).metrics_url);
  const text = await response.text();
  const valueOf = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "mu").exec(text)?.[1]);
  return { syncError: valueOf(SYNC_ERROR), ageS: Date.now() / 1000 - valueOf(LAST_SUCCESS) };
}

async function summary(nodeId: string): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(`${setup.entry(nodeId).api_url}/healthz`);
  return ((await response.json()) as { readonly prime_root_thk: Record<string, unknown> }).prime_root_thk;
}

/** Stops the control planes of the others, so that nobody answers that node. */
function cutOff(nodeId: string): () => void {
  const pids = setup.cluster.file.nodes
    .filter(({ id }) => id !== nodeId)
    .map(({ pids: { control_plane: pid } }) => pid ?? 0);
  for (const pid of pids) process.kill(pid, "SIGSTOP");
  return () => {
    for (const pid of pids) process.kill(pid, "SIGCONT");
  };
}

describe("the trust root's two alerts", () => {
  test("are silent while all is well, and /healthz says why", async () => {
    for (const { id } of setup.cluster.file.nodes) {
      await until(`${id} is in sync`, async () => (await scraped(id)).syncError === 0, 60_000);
      const { ageS } = await scraped(id);
      expect(ageS).toBeLessThan(30);
      expect(await summary(id)).toMatchObject({ in_sync: true, version: 1, prime_version: 1, last_error: null });
    }
    const roles = await Promise.all(setup.cluster.file.nodes.map(async ({ id }) => (await summary(id)).role));
    expect(roles.map(String).toSorted()).toEqual(["prime", "replica", "replica"]);
  }, 120_000);

  test.each(["the leader", "a follower"])(
    "fire for %s that is cut off, and clear when it is back",
    async (who) => {
      const leader = await setup.leader();
      const follower = setup.cluster.file.nodes.find(({ id }) => id !== leader.id);
      const { id } = who === "the leader" ? leader : (follower ?? leader);
      await until("nothing fires", async () => (await firing(id)).length === 0, CLEARS_WITHIN_MS);
      const beganAt = performance.now();
      const heal = cutOff(id);
      try {
        const isTrue = async (): Promise<boolean> => {
          const { syncError, ageS } = await scraped(id);
          return syncError === 1 && ageS > 30;
        };
        await until("both conditions hold", isTrue, FIRES_WITHIN_MS);
        const heldMs = performance.now() - beganAt;
        expect(await summary(id)).toMatchObject({ in_sync: false });
        if (prometheus !== null) {
          const both = ["AnchoringPrimeRootThkSyncError", "AnchoringPrimeRootThkSyncStale"];
          const left = FIRES_WITHIN_MS - (performance.now() - beganAt);
          await until(
            "both alerts fire",
            async () => {
              const names = await firing(id);
              return both.every((name) => names.includes(name));
            },
            Math.max(3000, left),
          );
        }
        const seenMs = performance.now() - beganAt;
        process.stdout.write(`${who}: true after ${Math.round(heldMs)} ms, firing after ${Math.round(seenMs)} ms\n`);
      } finally {
        heal();
      }
      await until(
        "the node is in sync again",
        async () => {
          const { syncError, ageS } = await scraped(id);
          return syncError === 0 && ageS < 30;
        },
        CLEARS_WITHIN_MS,
      );
      await until("nothing fires", async () => (await firing(id)).length === 0, CLEARS_WITHIN_MS);
    },
    240_000,
  );
});
