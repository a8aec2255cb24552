import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Client, verifyTrustRoot } from "@event-anchoring/sdk";
import type { FollowedHead } from "@event-anchoring/sdk";
import { until } from "@event-anchoring/testkit";
import { assertHeadsChained } from "@event-anchoring/testkit/clients";
import { ClusterLoad, LastingFollower } from "@event-anchoring/testkit/cluster";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { eraseSharedCluster, sharedCluster } from "../shared-cluster.ts";
import { killLeader } from "./kill-leader.ts";

const WRITERS = 6;
const KILLS = Number(process.env["KILLS"] ?? 3);
const WRITES_BETWEEN_KILLS = 60;
/** Followers of one origin, each on one node at a time. */
const FOLLOWERS = 6;

let setup: TestCluster;
let load: ClusterLoad | null = null;

beforeAll(async () => {
  setup = await sharedCluster();
}, 240_000);

afterAll(async () => {
  await load?.abandon();
  await eraseSharedCluster();
}, 240_000);

/** As a LastingFollower, by the SDK, which verifies each head. */
class SdkFollower {
  readonly heads: FollowedHead[] = [];
  readonly #controller = new AbortController();
  readonly #done: Promise<void>;

  constructor(originFingerprint: string) {
    const { nodes, api_key, trust_root: root } = setup.cluster.file;
    const trustRoot = verifyTrustRoot({ documents: [root.document], pinnedRootThk: root.root_thk });
    const client = new Client({ endpoints: nodes.map((node) => node.api_url), apiKey: api_key ?? "", trustRoot });
    this.#done = this.#run(client, originFingerprint);
  }

  get size(): number {
    return this.heads.at(-1)?.treeSize ?? 0;
  }

  async stop(): Promise<void> {
    this.#controller.abort();
    await this.#done;
  }

  async #run(client: Client, originFingerprint: string): Promise<void> {
    const { signal } = this.#controller;
    for await (const head of client.followHeads({ originFingerprint }, { signal })) this.heads.push(head);
  }
}

test(
  "followers who move between nodes miss and double nothing, while leaders are killed under load",
  async () => {
    const origin = setup.cluster.file.nodes[0]?.origin_fingerprint ?? "";
    const followers = Array.from({ length: FOLLOWERS }, (_, at) => new LastingFollower(setup, origin, at));
    const sdk = new SdkFollower(origin);
    load = ClusterLoad.start(setup, WRITERS);
    for (let kill = 0; kill < KILLS; kill += 1) {
      await load.more(WRITES_BETWEEN_KILLS);
      await killLeader(setup);
      await setup.cluster.ready();
    }
    await load.more(WRITES_BETWEEN_KILLS);
    const acknowledged = await load.stop();
    const depths = acknowledged.flatMap((each) => (each.originFingerprint === origin ? [each.depth] : []));
    const size = Math.max(...depths) + 1;
    const all = [...followers, sdk];
    await until("all followers are there", () => all.every((each) => each.size >= size), 60_000);
    await Promise.all(all.map((follower) => follower.stop()));
    const roots = new Map<number, string>();
    for (const { heads } of followers) {
      assertHeadsChained(heads, null);
      for (const { tree_size: at, root_hash: root } of heads) {
        expect(roots.get(at) ?? root).toBe(root);
        roots.set(at, root);
      }
    }
    for (const { treeSize: at, rootHash: root } of sdk.heads) expect(roots.get(at) ?? root).toBe(root);
    const connections = followers.map((follower) => follower.connections);
    process.stdout.write(`${roots.size} heads of ${size} leaves, ${connections.join(" ")} connections\n`);
    expect(Math.max(...connections)).toBeGreaterThan(1);
  },
  120_000 + KILLS * 30_000,
);
