/**
 * Puts of new keys, over etcd's v3 gateway: HTTP and JSON, as the anchors, so that one generator makes both loads and
 * spends about the same for a request. Clients that speak gRPC spare each member the translation, which is made in the
 * member's own process; docs/benchmarks.md says so beside the figures.
 */
import { randomBytes } from "node:crypto";
import type { EtcdCluster } from "../etcd/etcd-cluster.ts";
import type { Workload } from "../load/load-generator.ts";
import type { Place } from "../load/measured-cluster.ts";
import type { EtcdScenario } from "./scenario.ts";
import { clientsAt } from "./events.ts";

const KEY_BYTES = 32;
/** About the size of an anchor's leaf and a client's id. */
const VALUE_BYTES = 256;

function put(): string {
  const random = randomBytes(KEY_BYTES + VALUE_BYTES);
  const key = random.subarray(0, KEY_BYTES).toString("base64");
  return `{"key":"${key}","value":"${random.subarray(KEY_BYTES).toString("base64")}"}`;
}

function singlePuts(): Workload {
  return {
    unitsPerRequest: 1,
    next: () => ({ path: "/v3/kv/put", body: put() }),
    isGood: ({ status, body }) => status === 200 && body.includes('"revision"'),
  };
}

/** One transaction of so many puts. */
function putTransactions(size: number): Workload {
  const puts = (): string => Array.from({ length: size }, () => `{"request_put":${put()}}`).join(",");
  return {
    unitsPerRequest: size,
    next: () => ({ path: "/v3/kv/txn", body: `{"success":[${puts()}]}` }),
    isGood: ({ status, body }) => status === 200 && body.includes('"succeeded":true'),
  };
}

async function urlsAt(etcd: EtcdCluster, place: Place): Promise<readonly string[]> {
  if (place === "all nodes") return etcd.urls;
  const leader = await etcd.leaderUrl();
  return place === "leader" ? [leader] : etcd.urls.filter((url) => url !== leader).slice(0, 1);
}

function scenario(clients: number, size: number, place: Place): EtcdScenario {
  const at = clientsAt(clients, place);
  const shown = size.toLocaleString("en");
  return {
    kind: "etcd",
    name: size === 1 ? `etcd puts, ${at}` : `etcd transactions of ${shown} puts, ${at}`,
    plan: async (etcd) => ({
      workload: size === 1 ? singlePuts() : putTransactions(size),
      clients,
      urls: await urlsAt(etcd, place),
      shape: size === 1 ? `one at a time, ${at}` : `${shown} at a time, ${at}`,
    }),
  };
}

/** The shapes of the anchors' loads, so that each can be compared with its counterpart. */
/** What members are warmed up with. */
export const ETCD_WARM_UP = scenario(64, 1, "all nodes");

export const ETCD_SCENARIOS: readonly EtcdScenario[] = [
  scenario(1, 1, "leader"),
  scenario(1, 1, "follower"),
  scenario(16, 1, "all nodes"),
  scenario(64, 1, "all nodes"),
  scenario(64, 1, "leader"),
  scenario(256, 1, "all nodes"),
  scenario(1, 500, "all nodes"),
  scenario(4, 100, "all nodes"),
  scenario(4, 500, "all nodes"),
  scenario(4, 500, "leader"),
  scenario(4, 1000, "all nodes"),
  scenario(8, 1000, "all nodes"),
];
