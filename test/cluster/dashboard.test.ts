/** Every expression of the dashboard, asked of a Prometheus that scrapes a cluster under load, as Grafana asks it. */
import { createHash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { AnchoringClient } from "@event-anchoring/testkit/clients";
import { LastingFollower, startTestCluster } from "@event-anchoring/testkit/cluster";
import { MixedLoad, Recorder } from "@event-anchoring/testkit/faults";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { GatewayProcess, isGatewayThere } from "@event-anchoring/testkit/gateway";
import { GatewayClient } from "../deploy/gateway-client.ts";
import { PrometheusServer, isPrometheusThere } from "./prometheus-server.ts";

const read = (path: string): string => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");
const isAllThere = isPrometheusThere && isGatewayThere;
const describeWithBoth = isAllThere ? describe : describe.skip;
const NOTE = isAllThere ? "" : " (skipped: it takes prometheus and haproxy; apt-get install prometheus haproxy)";

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[];
}

const { panels, templating } = JSON.parse(read("deploy/grafana/dashboards/cluster.json")) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly allValue?: string }[] };
};
/** Each by its panel's title and its letter there. */
const EXPRESSIONS = new Map<string, string>(
  panels.flatMap(({ title, targets = [] }) => targets.map(({ refId, expr }) => [`${title}: ${refId}`, expr] as const)),
);

/** What a healthy cluster under this load does not fill. */
const EMPTY_BECAUSE: Readonly<Record<string, string>> = {
  "Failing checks: A": "a check is listed while it fails",
  "Leader changes and refused cosignatures in an hour: B":
    "a peer has a series once its key has not made a cosignature",
};

/** The dashboard opens on the last hour; a panel asks for a point each quarter of a minute. */
const RANGE_S = 3600;
const STEP_S = 15;

let setup: TestCluster;
let gateway: GatewayProcess;
let prometheus: PrometheusServer;
let load: MixedLoad;
let follower: LastingFollower;
let others: OtherRequests;

/** What the mixed load does not ask: reads through the gateway, and a write that a rule refuses. */
class OtherRequests {
  readonly #client = new GatewayClient(gateway);
  readonly #node = new AnchoringClient({ apiUrl: setup.cluster.file.nodes[0]?.api_url ?? "", apiKey: setup.apiKey });
  /** What the three answers of a round said. */
  readonly statuses = new Set<string>();
  #isWanted = true;
  readonly #run = this.#loop();

  async stop(): Promise<void> {
    this.#isWanted = false;
    await this.#run;
    this.#client.close();
    await this.#node.close();
  }

  async #loop(): Promise<void> {
    const { origin_fingerprint: origin = "" } = setup.cluster.file.nodes[0] ?? {};
    while (this.#isWanted) {
      const id = randomUUID();
      const event = (content: string): Record<string, string> => ({
        origin_fingerprint: origin,
        event_hash: createHash("sha256").update(content).digest("hex"),
        client_event_id: id,
      });
      const { status: first } = await this.#node.createEvent(event(id));
      const { status: second } = await this.#node.createEvent(event(`not ${id}`));
      const { status: third } = await this.#client.ask({ path: "/v1/trust-root" });
      this.statuses.add(`${first} ${second} ${third}`);
    }
  }
}

beforeAll(async () => {
  if (!isAllThere) return;
  setup = await startTestCluster();
  const [first = "", second = "", third = ""] = setup.cluster.file.nodes.map(({ api_url: url }) => new URL(url).host);
  gateway = await GatewayProcess.start({ nodes: [first, second, third] });
  prometheus = await PrometheusServer.start(configuration());
  load = MixedLoad.start(setup, new Recorder(), "dashboard", { writers: 3, batchEvents: 4 });
  follower = new LastingFollower(setup, setup.cluster.file.nodes[0]?.origin_fingerprint ?? "", 0);
  others = new OtherRequests();
}, 240_000);

afterAll(async () => {
  if (!isAllThere) return;
  await others.stop();
  await follower.stop();
  await load.abandon();
  await prometheus.stop();
  await gateway.stop();
  await setup.erase();
}, 240_000);

/** As it is shipped for Compose, with the addresses of this cluster and without its rules. */
function configuration(): string {
  const places = [
    ...setup.cluster.file.nodes.map(({ id, metrics_url: url }) => [`${id}.metrics.internal:9100`, new URL(url).host]),
    ["gateway.metrics.internal:8405", `127.0.0.1:${gateway.metricsPort}`],
    // Nobody is there, as where the profile `backup` does not run.
    ["backup.metrics.internal:9111", "127.0.0.1:9"],
    ["scrape_interval: 5s", "scrape_interval: 1s"],
    ["rule_files: [alerts.yml, deployment.yml]", "rule_files: []"],
  ] as const;
  return places.reduce((text, [from = "", to = ""]) => {
    expect(text.split(from)).toHaveLength(2);
    return text.replace(from, to);
  }, read("deploy/prometheus/prometheus.yml"));
}

/** @param job what Grafana puts in its place: the jobs that are chosen, as an expression */
function filled(expression: string, job: string): string {
  const values: Readonly<Record<string, string>> = { $job: job, $__range: `${RANGE_S}s`, $__rate_interval: "1m" };
  const whole = expression.replaceAll(/\$\{?\w+\}?/gu, (name) => values[name] ?? name);
  expect(whole).not.toContain("$");
  return whole;
}

type Series = readonly { readonly values: readonly (readonly [time: number, value: string])[] }[];

/** What a panel shows of an expression: series that have a number somewhere, or why it was refused. */
async function shown(expression: string): Promise<number | string | null> {
  const now = Math.floor(Date.now() / 1000);
  const query = { query: expression, start: `${now - RANGE_S}`, end: `${now}`, step: `${STEP_S}` };
  const answer = await prometheus.ask<{ readonly result: Series }>(
    `/api/v1/query_range?${String(new URLSearchParams(query))}`,
  );
  if (answer === null) return null;
  if (answer.status !== "success") return answer.error ?? answer.status;
  const { result } = answer["data"];
  return result.filter(({ values }) => values.some(([, value]) => Number.isFinite(Number(value)))).length;
}

/** Asks until all that must be filled is: a rate takes two scrapes. @returns what shows nothing in the end, by name */
async function emptyFor(job: string): Promise<readonly string[]> {
  let empty: string[] = [];
  const isFilled = async (): Promise<boolean> => {
    const answers = new Map<string, number | string | null>();
    for (const [name, expression] of EXPRESSIONS) answers.set(name, await shown(filled(expression, job)));
    const refused = [...answers].filter(([, answer]) => typeof answer === "string");
    expect(refused).toEqual([]);
    empty = [...answers].flatMap(([name, answer]) => (answer === 0 || answer === null ? [name] : []));
    return empty.every((name) => name in EMPTY_BECAUSE);
  };
  const isFull = until("every panel shows something", isFilled, 60_000);
  // The names say more than that the time is over.
  await isFull.catch((error: unknown) => {
    if (empty.length === 0) throw error;
  });
  return empty;
}

describeWithBoth(`the dashboard${NOTE}`, () => {
  test("offers the job of the nodes, and no other", async () => {
    const path = `/api/v1/label/job/values?${String(new URLSearchParams({ "match[]": "anchoring_serving" }))}`;
    await until("the nodes are scraped", async () => (await prometheus.count("anchoring_serving == 1")) === 3);
    expect(await prometheus.ask(path)).toMatchObject({ status: "success", data: ["anchoring"] });
  }, 120_000);

  test.each([
    ["all jobs", templating.list.find(({ name }) => name === "job")?.allValue ?? ""],
    ["the job of the nodes", "anchoring"],
    ["two jobs", "(anchoring|other)"],
  ])(
    "shows something in every panel, for %s",
    async (_which, job) => {
      expect(EXPRESSIONS.size).toBeGreaterThan(60);
      expect(Object.keys(EMPTY_BECAUSE).filter((name) => !EXPRESSIONS.has(name))).toEqual([]);
      expect((await emptyFor(job)).filter((name) => !(name in EMPTY_BECAUSE))).toEqual([]);
      expect(others.statuses).toContain("201 409 200");
    },
    120_000,
  );

  test("shows nothing of nodes for a job that there is not", async () => {
    const own = [...EXPRESSIONS.values()].filter((expression) => expression.includes("$job"));
    for (const expression of own) {
      const answer = await until("Prometheus answers", async () => {
        const count = await shown(filled(expression, "other"));
        return count === null ? null : { count };
      });
      expect([expression, answer]).toEqual([expression, { count: 0 }]);
    }
  }, 120_000);
});
