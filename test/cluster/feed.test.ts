import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { HeadEvent } from "@event-anchoring/api-contract";
import { Client, verifyTrustRoot } from "@event-anchoring/sdk";
import type { FollowedHead } from "@event-anchoring/sdk";
import { ClusterLoad, FeedReader, assertHeadsChained, until } from "@event-anchoring/testkit";
import type { TestCluster } from "@event-anchoring/testkit";
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

/** Whoever follows an origin for good: at another node as soon as one ends or refuses, from where it was. */
class LastingFollower {
  readonly heads: HeadEvent[] = [];
  connections = 0;
  #reader: FeedReader | null = null;
  #isStopped = false;
  readonly #done: Promise<void>;

  constructor(origin: string, firstNode: number) {
    this.#done = this.#run(`/v1/origins/${origin}/feed`, firstNode);
  }

  get size(): number {
    return this.#all().at(-1)?.tree_size ?? 0;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#reader?.close();
    await this.#done;
  }

  #all(): readonly HeadEvent[] {
    return [...this.heads, ...(this.#reader?.heads ?? [])];
  }

  async #run(path: string, firstNode: number): Promise<void> {
    const { nodes, api_key } = setup.cluster.file;
    const key = api_key ?? "";
    for (let at = firstNode; !this.#isStopped; at += 1) {
      const port = Number(new URL(nodes[at % nodes.length]?.api_url ?? "").port);
      const headers = { "x-api-key": key, ...(this.size === 0 ? {} : { "last-event-id": String(this.size) }) };
      this.#reader = await FeedReader.open(port, path, headers);
      if (this.#reader.status !== 0) {
        if (this.#reader.status === 409) throw new Error("a node knows less than another one has shown");
        this.connections += 1;
        await until("the feed ends", () => this.#reader?.isEnded === true || this.#isStopped, 600_000);
        this.heads.push(...this.#reader.heads);
      }
      this.#reader = null;
    }
  }
}

/** The same by the SDK, which verifies each head. */
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
    const followers = Array.from({ length: FOLLOWERS }, (_, at) => new LastingFollower(origin, at));
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
