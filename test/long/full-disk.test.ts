import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { nodeFiles } from "@event-anchoring/testkit/cluster";
import { SmallDisk } from "@event-anchoring/testkit/faults";
import type { FaultyCluster, Nemesis } from "@event-anchoring/testkit/faults";
import { ClusterUnderFaults, START_TIMEOUT_MS, FAULT_TIMEOUT_MS } from "./cluster-under-faults.ts";

/** Room for a database, its write-ahead log and what these suites write. */
const DISK_MIB = 256;

const kind = SmallDisk.kindHere();
if (typeof kind !== "string")
  process.stdout.write(`full disks are not tested: none can be mounted (${kind.missing})\n`);

(typeof kind === "string" ? describe : describe.skip)("a cluster of which each database has a small disk", () => {
  const disks = new Map<string, SmallDisk>();
  let cluster: ClusterUnderFaults;

  async function moveDatabases({ cluster: embedded }: FaultyCluster): Promise<void> {
    if (typeof kind !== "string") throw new Error("there is no small disk");
    for (const { id } of embedded.file.nodes) {
      await embedded.node(id).stopProcesses();
      await embedded.node(id).stopPostgres();
      disks.set(id, SmallDisk.under(nodeFiles(embedded, id).databaseDir, kind, DISK_MIB));
      await embedded.node(id).startPostgres();
      embedded.node(id).startProcesses();
    }
    await embedded.ready();
  }

  function full(name: string, who: "leader" | "follower" | "all"): Nemesis {
    return {
      name,
      missing: () => null,
      inject: async ({ cluster: embedded }, { leader, followers }) => {
        const ids = { leader: [leader], follower: [followers[0]], all: embedded.file.nodes.map(({ id }) => id) }[who];
        const givers = ids.map((id) => disks.get(id)?.fill() ?? ((): void => undefined));
        const notFull = ids.filter((id) => disks.get(id)?.freeBlocks !== 0);
        if (notFull.length > 0) throw new Error(`there is space left on ${notFull.join()}`);
        return async () => {
          for (const giveBack of givers) giveBack();
        };
      },
    };
  }

  beforeAll(async () => {
    cluster = await ClusterUnderFaults.start(moveDatabases);
    process.stdout.write(`the small disks are ${typeof kind === "string" ? kind : "none"}\n`);
  }, START_TIMEOUT_MS);

  afterAll(async () => {
    await cluster.faulty.cluster.stop();
    for (const disk of disks.values()) disk.unmount();
    await cluster.end();
  }, START_TIMEOUT_MS);

  test.each([
    full("a follower's disk is full", "follower"),
    full("the leader's disk is full", "leader"),
    full("every disk is full", "all"),
  ])(
    "goes on when $name",
    async (nemesis) => {
      expect(await cluster.inject([nemesis])).toEqual([]);
    },
    FAULT_TIMEOUT_MS,
  );

  test(
    "has lost, doubled and contradicted nothing",
    async () => {
      expect(await cluster.audit()).toEqual([]);
    },
    FAULT_TIMEOUT_MS,
  );
});
