import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  TILE_WIDTH,
  anchorIdOf,
  appendToFrontier,
  bytesToHex,
  emptyFrontier,
  frontierRoot,
} from "@event-anchoring/protocol";
import { Client } from "@event-anchoring/sdk";
import { until } from "@event-anchoring/testkit";
import { ClusterLoad, startTestCluster } from "@event-anchoring/testkit/cluster";
import type { Acknowledged } from "@event-anchoring/testkit/clients";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { killLeader } from "../cluster/kill-leader.ts";
import { OtherNetwork, whatNetworksLack } from "./other-network.ts";

/** How long leaders are killed under load. */
const FOLLOW_MS = Number(process.env["FOLLOW_SECONDS"] ?? 20) * 1000;
const WRITERS = 4;
/** Between two events of a writer: what was acknowledged is kept until the end. */
const PAUSE_MS = 40;
/** What is written between two kills, which is a matter of seconds. */
const WRITES_BETWEEN_KILLS = 300;
const START_TIMEOUT_MS = 240_000;

const FOLLOWER = fileURLToPath(new URL("follower.ts", import.meta.url));
const TYPESCRIPT = fileURLToPath(new URL("../run/typescript.js", import.meta.url));

/** A line of the follower. */
interface Line {
  readonly originFingerprint: string;
  readonly treeSize?: number;
  readonly previousTreeSize?: number | null;
  readonly rootHash?: string;
  readonly broken?: string;
}

interface Head {
  readonly treeSize: number;
  readonly previousTreeSize: number | null;
  readonly rootHash: string;
}

/** The SDK in a process of another network, and what it has said. */
class RemoteFollower {
  readonly heads = new Map<string, Head[]>();
  breaks = 0;
  isOver = false;
  readonly #child: ReturnType<OtherNetwork["run"]>;

  constructor(network: OtherNetwork, args: readonly string[]) {
    const node = ["--conditions=source", "--import", TYPESCRIPT, FOLLOWER];
    this.#child = network.run(process.execPath, [...node, ...args]);
    this.#child.once("exit", () => (this.isOver = true));
    createInterface(this.#child.stdout).on("line", (text) => this.#take(JSON.parse(text) as Line));
  }

  sizeOf(origin: string): number {
    return this.heads.get(origin)?.at(-1)?.treeSize ?? 0;
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGKILL");
    await until("the follower is gone", () => this.isOver);
  }

  #take({ originFingerprint, treeSize, previousTreeSize = null, rootHash = "", broken }: Line): void {
    if (broken !== undefined) this.breaks += 1;
    if (treeSize === undefined) return;
    const heads = this.heads.get(originFingerprint) ?? [];
    this.heads.set(originFingerprint, [...heads, { treeSize, previousTreeSize, rootHash }]);
  }
}

const missing = whatNetworksLack();
const describeHere = missing === null ? describe : describe.skip;

describeHere(`a follower in another network${missing === null ? "" : ` (skipped: ${missing})`}`, () => {
  let setup: TestCluster;
  let network: OtherNetwork;
  let follower: RemoteFollower;
  let load: ClusterLoad | null = null;

  beforeAll(async () => {
    setup = await startTestCluster();
    network = new OtherNetwork();
    const { nodes, trust_root: root } = setup.cluster.file;
    const keyFile = join(setup.cluster.root, "follower-key.txt");
    writeFileSync(keyFile, setup.apiKey, { mode: 0o600 });
    const doors = await Promise.all(nodes.map(({ api_url: url }) => network.open(Number(new URL(url).port))));
    const trustRoot = join(setup.cluster.root, "trust-root.txt");
    follower = new RemoteFollower(network, [trustRoot, root.root_thk, keyFile, ...doors]);
  }, START_TIMEOUT_MS);

  afterAll(async () => {
    await load?.abandon();
    await follower.stop();
    network.close();
    await setup.erase();
  }, START_TIMEOUT_MS);

  test(
    "misses and doubles nothing while leaders are killed under load",
    async () => {
      load = ClusterLoad.start(setup, WRITERS, PAUSE_MS);
      const endsAt = performance.now() + FOLLOW_MS;
      let kills = 0;
      while (performance.now() < endsAt) {
        await load.more(WRITES_BETWEEN_KILLS, 120_000);
        await killLeader(setup);
        await setup.cluster.ready();
        kills += 1;
      }
      await load.more(WRITES_BETWEEN_KILLS, 120_000);
      const acknowledged = await load.stop();
      expect(load.refusals).toEqual([]);
      const sizes = sizesOf(acknowledged);
      const isThere = (): boolean => [...sizes].every(([origin, size]) => follower.sizeOf(origin) >= size);
      await until("the follower is there", isThere, 60_000);
      expect(follower.isOver).toBe(false);
      let [heads, leaves] = [0, 0];
      for (const [origin, shown] of follower.heads) {
        expect(faultsIn(shown, await rootsOf(setup, origin, shown.at(-1)?.treeSize ?? 0))).toEqual([]);
        heads += shown.length;
        leaves += shown.at(-1)?.treeSize ?? 0;
      }
      const { breaks } = follower;
      const counts = { acknowledged: acknowledged.length, leaves, heads, coalesced: leaves - heads, breaks, kills };
      process.stdout.write(`followed from another network: ${JSON.stringify(counts)}\n`);
      expect(follower.heads.size).toBe(setup.cluster.file.nodes.length);
      expect(breaks).toBeGreaterThan(0);
    },
    FOLLOW_MS + 420_000,
  );
});

/** By origin: the smallest tree that has all of it. */
function sizesOf(acknowledged: readonly Acknowledged[]): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  for (const { originFingerprint, depth } of acknowledged) {
    sizes.set(originFingerprint, Math.max(sizes.get(originFingerprint) ?? 0, depth + 1));
  }
  return sizes;
}

/** The root at each size, from the leaves themselves, as one node shows them. */
async function rootsOf(setup: TestCluster, originFingerprint: string, treeSize: number): Promise<readonly string[]> {
  const { api_url: endpoint = "" } = setup.cluster.file.nodes[0] ?? {};
  const client = new Client({ endpoint, apiKey: setup.apiKey });
  let frontier = emptyFrontier();
  const roots = [""];
  for (let index = 0; index * TILE_WIDTH < treeSize; index++) {
    const width = Math.min(TILE_WIDTH, treeSize - index * TILE_WIDTH);
    for (const leaf of await client.getEntries(originFingerprint, { index, width })) {
      frontier = appendToFrontier(frontier, anchorIdOf(leaf, nodeCrypto.sha256), nodeCrypto.sha256);
      roots.push(bytesToHex(frontierRoot(frontier, nodeCrypto.sha256)));
    }
  }
  return roots;
}

/** Every leaf is under one head more than under the head before: none is missed, and none comes twice. */
function faultsIn(heads: readonly Head[], roots: readonly string[]): readonly string[] {
  return heads.flatMap(({ treeSize, previousTreeSize, rootHash }, at) => {
    const before = heads[at - 1]?.treeSize ?? null;
    return [
      ...(previousTreeSize === before ? [] : [`${treeSize} continues ${previousTreeSize}, not ${before}`]),
      ...(treeSize > (before ?? 0) ? [] : [`${treeSize} comes after ${before}`]),
      ...(roots[treeSize] === rootHash ? [] : [`another root at ${treeSize}`]),
    ];
  });
}
