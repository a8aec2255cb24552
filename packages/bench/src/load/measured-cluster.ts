import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readClusterFile } from "@event-anchoring/dev-cluster";
import type { ClusterFile, ClusterFileNode, EmbeddedCluster } from "@event-anchoring/dev-cluster";
import { until } from "@event-anchoring/testkit";
import { clusterGroups, ownGroup } from "@event-anchoring/testkit/overload";
import type { ProcessGroup } from "@event-anchoring/testkit/overload";
import { readCounts } from "./cluster-counts.ts";
import type { CountsReading } from "./cluster-counts.ts";
import type { RemoteCluster } from "./remote-cluster.ts";

/** By URL that requests are sent to: the origins that writes sent there name. */
export type Origins = ReadonlyMap<string, readonly string[]>;

/** Any of a server's origins, each as often as the others. */
export function anOriginAt(origins: Origins, url: string): string {
  const known = origins.get(url) ?? [];
  return known[Math.floor(Math.random() * known.length)] ?? "";
}

/** A node a load goes to, by its part in the cluster, or all of them. */
export type Place = "leader" | "follower" | "all nodes";

export interface Endpoint {
  readonly url: string;
  readonly origins: readonly string[];
}

interface Source {
  /** Null when another process supervises it: its nodes cannot be stopped or started here. */
  readonly own: EmbeddedCluster | null;
  /** Where its folder is; null for one on other machines. */
  readonly root: string | null;
  readonly apiKey: string | null;
  readonly endpoints: () => readonly Endpoint[];
  readonly trustRoot: () => ClusterFile["trust_root"];
  /** As they are now: processes that were started anew have other ids. Empty on other machines. */
  readonly nodes: () => readonly ClusterFileNode[];
}

/** The cluster under the load: own processes, those of another process of this machine, or a remote one. */
export class MeasuredCluster {
  readonly apiKey: string;
  readonly #source: Source;

  private constructor(source: Source) {
    if (source.apiKey === null) throw new Error("the cluster has no API key yet");
    this.apiKey = source.apiKey;
    this.#source = source;
  }

  static ofOwn(cluster: EmbeddedCluster): MeasuredCluster {
    return MeasuredCluster.#ofFile(() => cluster.file, cluster, cluster.root);
  }

  /** @param folder such as `.anchoring` */
  static running(folder: string): MeasuredCluster {
    const read = (): ClusterFile => {
      const file = readClusterFile(join(folder, "cluster.json"));
      if (file === null) throw new Error(`there is no cluster in ${folder}`);
      return file;
    };
    return MeasuredCluster.#ofFile(read, null, folder);
  }

  static remote({ apiKey, endpoints, trustRoot }: RemoteCluster): MeasuredCluster {
    const source = { own: null, root: null, apiKey, nodes: () => [] };
    return new MeasuredCluster({ ...source, endpoints: () => endpoints, trustRoot: () => trustRoot });
  }

  static #ofFile(read: () => ClusterFile, own: EmbeddedCluster | null, root: string): MeasuredCluster {
    const { api_key: apiKey } = read();
    return new MeasuredCluster({
      own,
      root,
      apiKey,
      endpoints: () => read().nodes.map((node) => ({ url: node.api_url, origins: [node.origin_fingerprint] })),
      trustRoot: () => read().trust_root,
      nodes: () => read().nodes,
    });
  }

  get own(): EmbeddedCluster | null {
    return this.#source.own;
  }

  /** On other machines: nothing is known of its processes, nor who leads. */
  get isRemote(): boolean {
    return this.#source.root === null;
  }

  get nodes(): readonly ClusterFileNode[] {
    return this.#source.nodes();
  }

  get trustRoot(): ClusterFile["trust_root"] {
    return this.#source.trustRoot();
  }

  get origins(): Origins {
    return new Map(this.#source.endpoints().map(({ url, origins }) => [url, origins]));
  }

  get groups(): readonly ProcessGroup[] {
    return this.isRemote ? [ownGroup()] : clusterGroups(this.nodes);
  }

  get headers(): Readonly<Record<string, string>> {
    return { authorization: `Bearer ${this.apiKey}`, "content-type": "application/json" };
  }

  async readCounts(): Promise<CountsReading | null> {
    const { root } = this.#source;
    if (root === null) return null;
    const { nodes, groups } = this;
    const databaseUrls = nodes.map(({ id }) => databaseUrlOf(root, id));
    return readCounts({ nodes, leader: await this.leader(), groups, databaseUrls });
  }

  /** Waits until a node says that it leads. */
  async leader(): Promise<ClusterFileNode> {
    return until("a node says that it leads", async () => {
      const asked = this.nodes.map(async (node) =>
        (await roleOf(node.api_url, this.headers)) === "leader" ? [node] : [],
      );
      return (await Promise.all(asked)).flat()[0] ?? null;
    });
  }

  async follower(): Promise<ClusterFileNode> {
    const leader = await this.leader();
    return this.nodes.find(({ id }) => id !== leader.id) ?? leader;
  }

  /** The URLs at a place. A remote cluster does not say who leads: all its URLs are returned. */
  async urlsAt(place: Place): Promise<readonly string[]> {
    if (place === "all nodes" || this.isRemote) return [...this.origins.keys()];
    return [(place === "leader" ? await this.leader() : await this.follower()).api_url];
  }
}

/** As the owner of the node's tables. */
function databaseUrlOf(root: string, nodeId: string): string {
  const settings = JSON.parse(readFileSync(join(root, "nodes", nodeId, "control-plane.json"), "utf8")) as {
    readonly database_url: string;
  };
  return settings.database_url;
}

/** Null when the node does not answer. */
async function roleOf(apiUrl: string, headers: Readonly<Record<string, string>>): Promise<unknown> {
  try {
    const response = await fetch(`${apiUrl}/healthz`, { headers, signal: AbortSignal.timeout(2000) });
    const { raft } = (await response.json()) as { readonly raft?: { readonly role?: unknown } };
    return raft?.role ?? null;
  } catch {
    // A node that is down has no role; the caller asks the others, and asks again.
    return null;
  }
}
