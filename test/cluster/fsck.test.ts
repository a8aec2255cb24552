/** fsck beside a node that writes, and the scrub inside of one whose disk has altered a byte. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { nodeFiles, startTestCluster } from "@event-anchoring/testkit/cluster";
import { MixedLoad, Recorder } from "@event-anchoring/testkit/faults";
import { SqlSession } from "@event-anchoring/testkit/postgres";
import type { TestCluster } from "@event-anchoring/testkit/cluster";

const ANCHORCTL = fileURLToPath(new URL("../../packages/cli/bin/anchorctl.js", import.meta.url));
const EXIT_HALTED = 79;
/** The node whose disk is not to be trusted; it alone scrubs, so that the others prove that they go on. */
const DAMAGED = "n2";
const PATIENCE_MS = 240_000;

let setup: TestCluster;
let load: MixedLoad;
/** Size that the damaged certificate covers. */
let treeSize: string;

beforeAll(async () => {
  setup = await startTestCluster({
    faultHooks: {
      environment: (id, name) =>
        name === "control_plane"
          ? { ANCHORING_CONTROL_PLANE__SCRUB_ROWS_PER_SECOND: id === DAMAGED ? "100000" : "0" }
          : {},
    },
  });
  load = MixedLoad.start(setup, new Recorder(), "fsck", { writers: 3, batchEvents: 5 });
  await load.more(60, PATIENCE_MS);
}, PATIENCE_MS);

afterAll(async () => {
  await load.abandon();
  await setup.erase();
}, PATIENCE_MS);

interface Run {
  readonly exitCode: number | null;
  readonly stdout: string;
}

/** `anchorctl fsck` as an operator calls it. */
async function fsck(nodeId: string, ...args: readonly string[]): Promise<Run> {
  const { databaseUrl } = nodeFiles(setup.cluster, nodeId);
  const child = spawn(process.execPath, [ANCHORCTL, "fsck", "--database", databaseUrl, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let stdout = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { exitCode, stdout };
}

/** As a scrape of the node has it; null: it has none. */
async function metricOf(nodeId: string, name: string): Promise<number | null> {
  const text = await (await fetch(setup.entry(nodeId).metrics_url)).text();
  const [, value] = new RegExp(`^${name} (\\S+)$`, "mu").exec(text) ?? [];
  return value === undefined ? null : Number(value);
}

describe("while everybody writes", () => {
  test(
    "fsck finds every node sound, and has seen records of all kinds",
    async () => {
      for (const id of ["n1", DAMAGED]) {
        const { exitCode, stdout } = await fsck(id, "--json");
        const report = JSON.parse(stdout) as { sound: boolean; differences: unknown; checked: Record<string, number> };
        expect(report).toMatchObject({ sound: true, differences: [] });
        expect(exitCode).toBe(0);
        const { leaves, claims, grants, certificates, signatures, log_entries: entries } = report.checked;
        for (const count of [leaves, claims, grants, certificates, signatures, entries]) {
          expect(count).toBeGreaterThan(0);
        }
      }
    },
    PATIENCE_MS,
  );

  test(
    "the scrub goes over all tables and finds nothing",
    async () => {
      const rows = async (): Promise<number> => (await metricOf(DAMAGED, "anchoring_scrub_rows_checked_total")) ?? 0;
      const passes = async (): Promise<number> => (await metricOf(DAMAGED, "anchoring_scrub_passes_total")) ?? 0;
      // The first pass may have gone over the tables before anything stood in them.
      await until("rows are looked at", async () => (await rows()) > 60, PATIENCE_MS);
      const before = await passes();
      await until("a pass over them ends", async () => (await passes()) > before, PATIENCE_MS);
      expect(await metricOf(DAMAGED, "anchoring_scrub_differences_total")).toBe(0);
      expect(await metricOf("n1", "anchoring_scrub_rows_per_second")).toBe(0);
    },
    PATIENCE_MS,
  );

  test(
    "another cluster's trust root is a difference, and nonsense is none",
    async () => {
      const other = await fsck("n1", "--root-thk", "ab".repeat(32));
      expect(other.exitCode).toBe(1);
      expect(other.stdout).toContain("state.trust_roots, version 1, root_thk");
      expect((await fsck("n1", "--root-thk", "xyz", "--json")).stdout).toContain("pin_malformed");
    },
    PATIENCE_MS,
  );
});

describe("a byte that a disk has altered", () => {
  test(
    "is found by the scrub, which halts the node by its name; the others go on",
    async () => {
      const files = nodeFiles(setup.cluster, DAMAGED);
      const session = await SqlSession.open(files.databaseUrl);
      // In the oldest certificate: nothing but the scrub reads it again.
      const [row] = await session.rows(
        `UPDATE state.certificates SET cosignatures = set_byte(cosignatures, 40, get_byte(cosignatures, 40) # 1)
        WHERE (origin, tree_size) =
          (SELECT origin, tree_size FROM state.certificates ORDER BY tree_size, origin LIMIT 1)
        RETURNING tree_size`,
      );
      await session.close();
      treeSize = String(row?.["tree_size"]);
      const stopped = await until("the node says why it stopped", () => files.stopped(), PATIENCE_MS);
      expect(stopped.detail).toMatch(
        new RegExp(`^state.certificates, origin \\w+, tree_size ${treeSize}, cosignatures: `, "u"),
      );
      expect(stopped).toMatchObject({ code: EXIT_HALTED, reason: "halted", check: "scrub_difference" });
      await load.more(20, PATIENCE_MS);
      expect(setup.entry(DAMAGED).pids.control_plane).toBeNull();
    },
    PATIENCE_MS,
  );

  test(
    "is what an alert can be about, after the control plane has gone",
    async () => {
      const stopped = 'anchoring_node_stopped\\{reason="halted",check="scrub_difference"\\}';
      const value = await until("its api process says so", () => metricOf(DAMAGED, stopped), PATIENCE_MS);
      expect(value).toBe(1);
    },
    PATIENCE_MS,
  );

  test(
    "is what fsck names, on that node and on no other",
    async () => {
      const { exitCode, stdout } = await fsck(DAMAGED, "--all", "--json");
      const report = JSON.parse(stdout) as { difference_count: number; differences: readonly unknown[] };
      expect(exitCode).toBe(1);
      expect(report.difference_count).toBe(1);
      expect(report.differences).toMatchObject([{ table: "state.certificates", column: "cosignatures" }]);
      expect(JSON.stringify(report.differences)).toContain(`tree_size ${treeSize}`);
      const text = await fsck(DAMAGED);
      expect(text.stdout).toContain("NOT SOUND. Replace this node");
      expect((await fsck("n1")).exitCode).toBe(0);
    },
    PATIENCE_MS,
  );
});
