import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { ClusterLoad, differencesAt, headsAt, nodeFiles, startTestCluster } from "@event-anchoring/testkit/cluster";
import { SmallDisk } from "@event-anchoring/testkit/faults";
import type { TestCluster } from "@event-anchoring/testkit/cluster";

const WRITERS = 6;
const NODE = "n3";
/** Room for a new database, its write-ahead log and little more. */
const DISK_MIB = 160;

let setup: TestCluster;
let load: ClusterLoad;
let disk: SmallDisk;

async function failingChecks(): Promise<readonly string[]> {
  const response = await fetch(`${setup.entry(NODE).api_url}/readyz`, { signal: AbortSignal.timeout(5000) });
  const { checks } = (await response.json()) as { readonly checks: readonly Readonly<Record<string, string>>[] };
  return checks.filter(({ result }) => result === "fail").map(({ check }) => check ?? "");
}

/** Asked before the tests are named: it takes the right to mount. */
const kind = SmallDisk.kindHere();
if (typeof kind !== "string")
  process.stdout.write(`a full disk is not tested: none can be mounted (${kind.missing})\n`);

(typeof kind === "string" ? describe : describe.skip)("a node whose disk is full", () => {
  beforeAll(async () => {
    setup = await startTestCluster();
    await setup.cluster.node(NODE).stopProcesses();
    await setup.cluster.node(NODE).stopPostgres();
    if (typeof kind !== "string") throw new Error("there is no small disk");
    disk = SmallDisk.under(nodeFiles(setup.cluster, NODE).databaseDir, kind, DISK_MIB);
    await setup.cluster.node(NODE).startPostgres();
    setup.cluster.node(NODE).startProcesses();
    await setup.cluster.ready();
    load = ClusterLoad.start(setup, WRITERS);
  }, 240_000);

  afterAll(async () => {
    await load.abandon();
    await setup.cluster.stop();
    disk.unmount();
    await setup.erase();
  }, 240_000);

  test("says so, the others go on without it, and it is back by itself when there is space again", async () => {
    await load.more(50);
    const giveBack = disk.fill();
    expect(disk.freeBlocks).toBe(0);
    const said = await until(
      "it is not ready",
      async () => {
        const failing = await failingChecks();
        return failing.some((check) => check.startsWith("storage")) ? failing : null;
      },
      60_000,
    );
    expect(said).not.toContain("fenced");
    await load.more(100);
    giveBack();
    await setup.cluster.ready();
    await load.more(50);
    const acknowledged = await load.stop();
    expect(load.refusals).toEqual([]);
    for (const { id } of setup.cluster.file.nodes) expect(await differencesAt(setup, id, acknowledged)).toEqual([]);
    expect(await headsAt(setup, NODE)).toEqual(await headsAt(setup, "n1"));
    expect(nodeFiles(setup.cluster, NODE).stopped()).toBeNull();
  }, 120_000);
});
