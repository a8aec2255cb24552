import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { nodeFiles } from "@event-anchoring/testkit/cluster";
import { SqlSession } from "@event-anchoring/testkit/postgres";
import { GROWTH_COST_RATIO } from "../figures/names.ts";
import { serviceCpu } from "../figures/rows.ts";
import type { FigureRow, LoadRow, Row, TimesRow } from "../figures/rows.ts";
import { fill, sizeOf, untilEqual } from "./fill.ts";
import type { MeasuredCluster } from "../load/measured-cluster.ts";
import { comeBack, ownOf, restartAll, timeOf, writeWithoutOne } from "./outages.ts";
import type { Progress } from "../report/progress.ts";
import { withOwnCluster } from "../load/with-cluster.ts";
import type { ApartScenario, ApartStage } from "./scenario.ts";
import { batches, single } from "./events.ts";
import { LATEST_64 } from "./reads.ts";

const NAME = "growth";
const CATCH_UP_ANCHORS = 100_000;
const BATCH = 1000;
const SINGLE = single(64, "all nodes");
const ROWS = [single(1, "leader"), SINGLE, batches(500, 4, "all nodes"), LATEST_64];
const ANCHORCTL = fileURLToPath(new URL("../../../cli/bin/anchorctl.js", import.meta.url));

/**
 * What changes when a cluster holds many anchors. "At the beginning" is after the warm-up, whose anchors are there too:
 * a row says how many.
 */
export const GROWTH: ApartScenario = {
  kind: "apart",
  name: NAME,
  isOptIn: true,
  run: (stage): Promise<readonly Row[]> =>
    withOwnCluster({ progress: stage.progress, signal: stage.signal, use: (cluster) => grow(stage, cluster) }),
};

async function grow(stage: ApartStage, cluster: MeasuredCluster): Promise<readonly Row[]> {
  const { progress } = stage;
  await stage.warmUp(cluster);
  const young = await rowsAt(stage, cluster, "at the beginning");
  const [sizeBefore, diskBefore] = [await sizeOf(cluster), await diskOf(cluster)];
  const anchors = Math.ceil(Math.max(BATCH, stage.anchors - sizeBefore) / BATCH) * BATCH;
  const fillMs = await timeOf(() => fill(cluster, { anchors, nodes: cluster.nodes, progress }));
  await untilEqual(cluster, progress);
  const [size, disk] = [await sizeOf(cluster), await diskOf(cluster)];
  const old = await rowsAt(stage, cluster, "at the end");
  const away = await writeWithoutOne(cluster, Math.min(CATCH_UP_ANCHORS, anchors), progress);
  const caughtUpMs = await comeBack(cluster, away.node, progress);
  const readyMs = await restartAll(cluster, progress);
  const commands = await commandTimes(cluster, progress);
  const written = size - sizeBefore;
  return [
    ...young,
    ...old,
    figure("anchors at the beginning", sizeBefore, ""),
    figure("anchors at the end", size, ""),
    figure(GROWTH_COST_RATIO, costOf(old) / costOf(young), ""),
    figure("disk of one node for an anchor: ledger tables", (disk.ledger - diskBefore.ledger) / written, "bytes"),
    figure("disk of one node: log", disk.log, "bytes"),
    times("written in batches of 1,000", fillMs),
    times(`back after ${CATCH_UP_ANCHORS.toLocaleString("en")} anchors: started → serves all of them`, caughtUpMs),
    times("all nodes: started → ready", readyMs),
    ...commands,
  ];
}

async function rowsAt({ measure }: ApartStage, cluster: MeasuredCluster, when: string): Promise<readonly LoadRow[]> {
  const rows: LoadRow[] = [];
  // Their shape is not that of etcd's rows: it holds few keys.
  for (const scenario of ROWS) {
    rows.push({ ...(await measure(`${NAME}, ${when}: ${scenario.name}`, scenario, cluster)), shape: null });
  }
  return rows;
}

function costOf(rows: readonly LoadRow[]): number {
  const usage = rows.find(({ scenario }) => scenario.endsWith(SINGLE.name))?.usage ?? null;
  return usage === null ? Number.NaN : serviceCpu(usage);
}

interface Disk {
  readonly ledger: number;
  readonly log: number;
}

/** Tables with their indexes, of the node that leads; nodes differ little. */
async function diskOf(cluster: MeasuredCluster): Promise<Disk> {
  const { id } = await cluster.leader();
  const session = await SqlSession.open(nodeFiles(ownOf(cluster), id).databaseUrl);
  try {
    const [row] = await session.rows(
      `SELECT sum(pg_total_relation_size(oid)) FILTER (WHERE relnamespace = 'state'::regnamespace) AS ledger,
              sum(pg_total_relation_size(oid)) FILTER (WHERE relnamespace = 'node'::regnamespace) AS log
         FROM pg_class WHERE relkind = 'r'`,
    );
    return { ledger: Number(row?.["ledger"]), log: Number(row?.["log"]) };
  } finally {
    await session.close();
  }
}

/** What an operator runs on one node, while the cluster is idle. */
async function commandTimes(cluster: MeasuredCluster, progress: Progress): Promise<readonly TimesRow[]> {
  const { root } = ownOf(cluster);
  const { id } = await cluster.follower();
  const database = ["--database", join(root, "nodes", id, "control-plane.json")];
  const trustRoot = ["--trust-root", join(root, "trust-root.txt")];
  const folder = mkdtempSync(join(tmpdir(), "anchoring-bench-backup-"));
  const file = join(folder, "backup");
  const run = (title: string, args: readonly string[]): Promise<TimesRow> =>
    progress.reporter.step(title, async () => times(title, await timeOf(() => anchorctl(args))));
  try {
    return [
      await run("anchorctl fsck of one node", ["fsck", ...database, ...trustRoot]),
      await run("anchorctl backup create", ["backup", "create", ...database, "--out", file]),
      await run("anchorctl backup verify", ["backup", "verify", file, ...trustRoot]),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @throws with its last words unless it ends well */
function anchorctl(args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [ANCHORCTL, ...args], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-1000)));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve();
      else reject(new Error(`anchorctl ${args.join(" ")} ended with ${String(code)}: ${said}`));
    });
  });
}

function figure(measure: string, value: number, unit: string): FigureRow {
  return { type: "figure", scenario: NAME, measure, value, unit };
}

function times(measure: string, ms: number): TimesRow {
  return { type: "times", scenario: NAME, measure, ms: [ms] };
}
