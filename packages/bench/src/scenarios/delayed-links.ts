import { FaultNetwork } from "@event-anchoring/testkit/faults";
import { DELAYED_P50, DELAYED_RATE_RATIO, ROUND_TRIP_MS } from "../figures/names.ts";
import type { FigureRow, LoadRow, Row } from "../figures/rows.ts";
import type { MeasuredCluster } from "../load/measured-cluster.ts";
import { withOwnCluster } from "../load/with-cluster.ts";
import type { ApartScenario, ApartStage } from "./scenario.ts";
import { single } from "./events.ts";

const NODE_IDS = ["n1", "n2", "n3"];
const NAME = `links with ${ROUND_TRIP_MS} ms round trip`;
const ONE_CLIENT = single(1, "leader");
const MANY_CLIENTS = single(256, "all nodes");

/**
 * As between three zones. The nodes of a cluster reach each other through proxies of this process: first as they are,
 * then with a delay in each direction. Both halves go through the proxies, so what these cost is in both.
 */
export const DELAYED_LINKS: ApartScenario = {
  kind: "apart",
  name: NAME,
  isOptIn: false,
  run: async (stage): Promise<readonly Row[]> => {
    const network = await FaultNetwork.between(NODE_IDS);
    try {
      return await withOwnCluster({
        progress: stage.progress,
        signal: stage.signal,
        faultHooks: {
          dialledAddress: (from, to, listening) => network.dialledAddress(from, to, listening),
        },
        use: async (cluster) => {
          await stage.warmUp(cluster);
          const without = await measured(stage, cluster, "proxied links");
          for (const [from, to] of directions()) network.set(from, to, { delayMs: ROUND_TRIP_MS / 2 });
          const delayed = await measured(stage, cluster, NAME);
          return [...without.rows, ...delayed.rows, ...figuresOf(without, delayed)];
        },
      });
    } finally {
      await network.close();
    }
  },
};

interface Measured {
  readonly one: LoadRow;
  readonly many: LoadRow;
  readonly rows: readonly Row[];
}

async function measured({ measure }: ApartStage, cluster: MeasuredCluster, name: string): Promise<Measured> {
  const one = await measure(`${name}: ${ONE_CLIENT.name}`, ONE_CLIENT, cluster);
  const many = await measure(`${name}: ${MANY_CLIENTS.name}`, MANY_CLIENTS, cluster);
  // Their shape is not that of etcd's rows: there is no delay between its members.
  const rows = [one, many].map((row) => ({ ...row, shape: null }));
  return { one, many, rows };
}

function figuresOf(without: Measured, delayed: Measured): readonly FigureRow[] {
  const figure = (measure: string, value: number, unit: string): FigureRow => {
    return { type: "figure", scenario: NAME, measure, value, unit };
  };
  const { counts, seconds } = delayed.many;
  const entriesPerSecond = (counts?.entries ?? Number.NaN) / seconds;
  return [
    figure(DELAYED_P50, delayed.one.p50Ms, "ms"),
    figure(DELAYED_RATE_RATIO, delayed.many.ratePerSecond / without.many.ratePerSecond, ""),
    // Two may be under way: near 2, the leader waits for the link and for nothing else.
    figure("entries begun in a round trip, 256 clients", (entriesPerSecond * ROUND_TRIP_MS) / 1000, ""),
  ];
}

function directions(): readonly (readonly [string, string])[] {
  return NODE_IDS.flatMap((from) => NODE_IDS.filter((to) => to !== from).map((to) => [from, to] as const));
}
