import { join } from "node:path";
import { readClusterFile } from "@event-anchoring/dev-cluster";
import type { ClusterFile, ClusterFileNode, EmbeddedCluster } from "@event-anchoring/dev-cluster";
import { clusterGroups, until } from "@event-anchoring/testkit";
import type { ProcessGroup } from "@event-anchoring/testkit";

/** By api_url: the origin that writes to this node name. */
export type Origins = ReadonlyMap<string, string>;

/** A node a load goes to, by its part in the cluster, or all of them. */
export type Place = "leader" | "follower" | "all nodes";

/** The cluster under the load: its own processes' parent is this one, or another that was started before. */
export class MeasuredCluster {
  /** Null when another process supervises it: its nodes cannot be stopped or started here. */
  readonly own: EmbeddedCluster | null;
  readonly apiKey: string;
  readonly #read: () => ClusterFile;

  private constructor(read: () => ClusterFile, own: EmbeddedCluster | null) {
    const { api_key: apiKey } = read();
    if (apiKey === null) throw new Error("the cluster has no API key yet");
    this.own = own;
    this.apiKey = apiKey;
    this.#read = read;
  }

  static ofOwn(cluster: EmbeddedCluster): MeasuredCluster {
    return new MeasuredCluster(() => cluster.file, cluster);
  }

  /** @param folder such as `.anchoring` */
  static running(folder: string): MeasuredCluster {
    const read = (): ClusterFile => {
      const file = readClusterFile(join(folder, "cluster.json"));
      if (file === null) throw new Error(`there is no cluster in ${folder}`);
      return file;
    };
    return new MeasuredCluster(read, null);
  }

  /** As it is now: processes that were started anew have other ids. */
  get file(): ClusterFile {
    return this.#read();
  }

  get origins(): Origins {
    return new Map(this.file.nodes.map((node) => [node.api_url, node.origin_fingerprint]));
  }

  get groups(): readonly ProcessGroup[] {
    return clusterGroups(this.file.nodes);
  }

  get headers(): Readonly<Record<string, string>> {
    return { authorization: `Bearer ${this.apiKey}`, "content-type": "application/json" };
  }

  /** Waits until a node says that it leads. */
  async leader(): Promise<ClusterFileNode> {
    return until("a node says that it leads", async () => {
      const asked = this.file.nodes.map(async (node) =>
        (await roleOf(node.api_url, this.headers)) === "leader" ? [node] : [],
      );
      return (await Promise.all(asked)).flat()[0] ?? null;
    });
  }

  async follower(): Promise<ClusterFileNode> {
    const leader = await this.leader();
    return this.file.nodes.find(({ id }) => id !== leader.id) ?? leader;
  }

  async urlsAt(place: Place): Promise<readonly string[]> {
    if (place === "all nodes") return this.file.nodes.map((node) => node.api_url);
    return [(place === "leader" ? await this.leader() : await this.follower()).api_url];
  }
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
