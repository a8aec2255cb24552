import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { benchCommand } from "@event-anchoring/bench";
import { startTestCluster } from "@event-anchoring/testkit/cluster";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { parseReport } from "../src/report/figures-document.ts";
import { hasFailed } from "../src/figures/rows.ts";

let setup: TestCluster;

beforeAll(async () => {
  setup = await startTestCluster();
}, 240_000);

afterAll(async () => {
  await setup.erase();
}, 240_000);

class Written {
  readonly isTTY = false;
  text = "";

  write(text: string): void {
    this.text += text;
  }
}

describe("npm run bench", () => {
  test("measures a running cluster, verifies what it was told, and prints one JSON object", async () => {
    const [stdout, stderr] = [new Written(), new Written()];
    const folder = ["--cluster", setup.cluster.root];
    const small = ["--only", "single writes, 1 client, leader", "--seconds", "3", "--lead-in", "0", "--warm-up", "0"];
    const exitCode = await benchCommand([...folder, ...small, "--json"], stdout, stderr);
    const { rows, receiptsVerified, failed } = parseReport(stdout.text);
    expect(failed).toEqual([]);
    expect(exitCode).toBe(rows.some(hasFailed) ? 1 : 0);
    expect(receiptsVerified).toBeGreaterThan(0);
    expect(rows).toEqual([
      expect.objectContaining({
        scenario: "single writes, 1 client, leader",
        unit: "anchors",
        leadIn: { seconds: expect.any(Number), isSteady: false },
      }),
    ]);
    const [row] = rows;
    if (row?.type !== "load") throw new Error("a load was measured");
    expect(row.ratePerSecond).toBeCloseTo(row.requests / row.seconds, 6);
    expect(stderr.text).toContain(`${receiptsVerified} receipts of sampled answers verified offline`);
    if (process.platform !== "linux") return;
    expect(Object.keys(row.usage?.cpuMsPerThousand ?? {})).toEqual(["api", "control_plane", "postgres", "client"]);
    expect(row.usage?.peakMb["control_plane"]).toBeGreaterThan(20);
    const { counts } = row;
    if (counts === null) throw new Error("the cluster's counts were read");
    // Each write of one client is an entry of its own; the load goes on while counts are read.
    expect(counts.answered).toBeGreaterThanOrEqual(row.requests);
    expect(counts.leaves).toBeGreaterThanOrEqual(row.requests);
    expect(counts.entries).toBeGreaterThanOrEqual(row.requests);
    expect(counts.frames).toBeGreaterThan(2 * counts.entries);
    expect(counts.frameBytes).toBeGreaterThan(counts.leaderSentBytes);
    expect(counts.leaderLoopMs).toBeGreaterThan(0);
    expect(counts.transactions).toBeGreaterThan(0);
    expect(counts.wakeUps["control_plane"]).toBeGreaterThan(counts.entries);
  }, 240_000);

  test("says what is wrong with a folder that holds no cluster", async () => {
    const nobody = new Written();
    const run = benchCommand(["--cluster", "/nowhere", "--only", "single writes"], nobody, nobody);
    await expect(run).rejects.toThrow("there is no cluster in /nowhere");
  });
});
