/** What a write costs while many follow the heads of the log. */
import { request } from "node:http";
import type { ClientRequest } from "node:http";
import { LIMITS } from "@event-anchoring/api-contract";
import { until } from "@event-anchoring/testkit";
import { TestOperator } from "@event-anchoring/testkit/cluster";
import { median } from "../figures/percentile.ts";
import { serviceCpu } from "../figures/rows.ts";
import type { FigureRow, LoadRow, Row } from "../figures/rows.ts";
import type { MeasuredCluster } from "../load/measured-cluster.ts";
import { withOwnCluster } from "../load/with-cluster.ts";
import { single } from "./events.ts";
import { ownOf } from "./outages.ts";
import type { ApartScenario, ApartStage } from "./scenario.ts";

const FOLLOWERS = 200;
const NAME = `${FOLLOWERS} followers`;
const LOAD = single(64, "all nodes");
const ROUNDS = 5;

/** Without followers and with them in turns, on one cluster: what else the machine does hits both. */
export const FOLLOWERS_OF_THE_FEED: ApartScenario = {
  kind: "apart",
  name: NAME,
  isOptIn: true,
  run: (stage): Promise<readonly Row[]> =>
    withOwnCluster({ progress: stage.progress, signal: stage.signal, use: (cluster) => compare(stage, cluster) }),
};

async function compare({ warmUp, measure, signal }: ApartStage, cluster: MeasuredCluster): Promise<readonly Row[]> {
  await warmUp(cluster);
  const apiKeys = await readingKeys(cluster);
  const alone: LoadRow[] = [];
  const followed: LoadRow[] = [];
  const headsPerSecond: number[] = [];
  const measureAlone = async (): Promise<void> => {
    alone.push(await measure(`${NAME}, without them: ${LOAD.name}`, LOAD, cluster));
  };
  const measureFollowed = async (): Promise<void> => {
    const followers = await Followers.open(cluster, apiKeys);
    try {
      const [before, startedAt] = [followers.heads, performance.now()];
      followed.push(await measure(`${NAME}, with them: ${LOAD.name}`, LOAD, cluster));
      const seconds = (performance.now() - startedAt) / 1000;
      headsPerSecond.push((followers.heads - before) / FOLLOWERS / seconds);
      if (followers.open < FOLLOWERS) throw new Error(`${FOLLOWERS - followers.open} followers were dropped`);
    } finally {
      followers.close();
    }
  };
  for (let round = 0; round < ROUNDS; round++) {
    if (signal?.aborted === true) break;
    // Whoever is second finds a warmer or a busier machine.
    const turns = [measureAlone, measureFollowed];
    for (const turn of round % 2 === 0 ? turns : turns.toReversed()) await turn();
  }
  const ratio = (of: (row: LoadRow) => number): number => {
    return median(followed.flatMap((row, at) => (alone[at] === undefined ? [] : [of(row) / of(alone[at])])));
  };
  return [
    ...[...alone, ...followed].map((row) => ({ ...row, shape: null })),
    figure("processor time of a write with followers ÷ without, median of rounds", ratio(cpuOf), ""),
    figure(
      "rate with followers ÷ without, median of rounds",
      ratio(({ ratePerSecond }) => ratePerSecond),
      "",
    ),
    figure("heads that each follower got", median(headsPerSecond), "1/s"),
  ];
}

function cpuOf({ usage }: LoadRow): number {
  return usage === null ? Number.NaN : serviceCpu(usage);
}

function figure(measure: string, value: number, unit: string): FigureRow {
  return { type: "figure", scenario: NAME, measure, value, unit };
}

/** As many as the feeds take: a node gives each key a few. */
async function readingKeys(cluster: MeasuredCluster): Promise<readonly string[]> {
  const operator = await TestOperator.of({ cluster: ownOf(cluster) });
  const count = Math.ceil(FOLLOWERS / (cluster.nodes.length * LIMITS.keyFeedsMax));
  const keys: string[] = [];
  for (let at = 0; at < count; at++) {
    keys.push((await operator.createKey({ label: `follower ${at}`, scopes: ["read"] })).apiKey);
  }
  return keys;
}

/** Connections that read a feed each and look at nothing: what they cost here is not the service's. */
class Followers {
  heads = 0;
  open = 0;
  readonly #requests: ClientRequest[] = [];

  /** Spread over all nodes and origins. */
  static async open(cluster: MeasuredCluster, apiKeys: readonly string[]): Promise<Followers> {
    const followers = new Followers();
    const { nodes } = cluster;
    const origins = nodes.map((node) => node.origin_fingerprint);
    for (let at = 0; at < FOLLOWERS; at++) {
      const url = nodes[at % nodes.length]?.api_url ?? "";
      const origin = origins[Math.floor(at / nodes.length) % origins.length] ?? "";
      followers.#follow(
        `${url}/v1/origins/${origin}/feed`,
        apiKeys[Math.floor(at / nodes.length) % apiKeys.length] ?? "",
      );
    }
    await until("all followers have a feed", () => followers.open === FOLLOWERS);
    return followers;
  }

  close(): void {
    for (const each of this.#requests) each.destroy();
  }

  #follow(url: string, apiKey: string): void {
    const asked = request(url, { agent: false, headers: { authorization: `Bearer ${apiKey}` } }, (response) => {
      if (response.statusCode !== 200) return;
      this.open += 1;
      response.setEncoding("latin1");
      // An event is sent in one piece, and its name comes first.
      response.on("data", (text: string) => (this.heads += text.split("event: head\n").length - 1));
      response.on("close", () => (this.open -= 1));
    });
    asked.on("error", () => undefined);
    asked.end();
    this.#requests.push(asked);
  }
}
