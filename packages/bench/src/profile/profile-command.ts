import { existsSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { SERVICE_VERSION } from "@event-anchoring/dev-cluster";
import type { ClusterFileNode, Terminal } from "@event-anchoring/dev-cluster";
import { until } from "@event-anchoring/testkit";
import { ALL_SCENARIOS } from "../scenarios/all-scenarios.ts";
import type { MeasuredCluster } from "../load/measured-cluster.ts";
import { progressOn } from "../report/progress.ts";
import type { Progress } from "../report/progress.ts";
import { LOAD_COLUMNS, loadCells } from "../report/report-tables.ts";
import { hasFailed } from "../figures/rows.ts";
import type { LoadRow } from "../figures/rows.ts";
import { Runner } from "../run/runner.ts";
import { withCluster } from "../load/with-cluster.ts";
import type { LoadScenario } from "../scenarios/scenario.ts";
import { textHeading, textLine, textTable } from "../figures/table.ts";
import { parseCpuProfile, summarise } from "./cpu-profile.ts";
import { PROFILE_HELP, parseProfileOptions } from "./profile-options.ts";
import type { ProfileOptions } from "./profile-options.ts";
import { profileTables } from "./profile-tables.ts";
import { orderProfile } from "./remote-profile.ts";

/** How long a process may take to write its profile. */
const PATIENCE_MS = 30_000;

/** From packages/testkit/dist/bench/profile. */
const CHECKOUT = pathToFileURL(fileURLToPath(new URL("../../../..", import.meta.url))).href;

/**
 * The command behind `npm run profile`.
 * @returns the exit code: 1 if a request failed, 2 for invalid arguments
 */
export async function profileCommand(args: readonly string[], stdout: Terminal, stderr: Terminal): Promise<number> {
  let options: ProfileOptions | "help" | "version";
  let scenario: LoadScenario;
  try {
    options = parseProfileOptions(args);
    scenario = scenarioOf(typeof options === "string" ? "" : options.load);
  } catch (error) {
    stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 2;
  }
  if (typeof options === "string") {
    stdout.write(options === "help" ? PROFILE_HELP : `npm run profile, event anchoring ${SERVICE_VERSION}\n`);
    return 0;
  }
  const wanted = options;
  const out = wanted.out === null ? mkdtempSync(join(tmpdir(), "anchoring-profile-")) : resolve(wanted.out);
  mkdirSync(out, { recursive: true });
  const progress = progressOn(stdout);
  const use = (cluster: MeasuredCluster): Promise<LoadRow> => profile(cluster, scenario, { ...wanted, out }, progress);
  const row = await withCluster(wanted.cluster, { progress, use, signal: null });
  progress.line(`\nThe .cpuprofile files are in ${out}`);
  return hasFailed(row) ? 1 : 0;
}

/** @throws when no load has such a name */
function scenarioOf(text: string): LoadScenario {
  const loads = ALL_SCENARIOS.flatMap((each) => (each.kind === "load" ? [each] : []));
  const found = loads.find(({ name }) => name.includes(text));
  if (found !== undefined) return found;
  throw new Error(`no load has ${text} in its name; there are\n${loads.map(({ name }) => `  ${name}`).join("\n")}`);
}

interface Profiled {
  /** Such as `n1 control_plane (leader)`. */
  readonly name: string;
  readonly pid: number;
  readonly path: string;
}

async function profile(
  cluster: MeasuredCluster,
  scenario: LoadScenario,
  options: ProfileOptions & { readonly out: string },
  progress: Progress,
): Promise<LoadRow> {
  const { measureMs, leadInMs, intervalUs, top } = options;
  const runner = new Runner({ progress, measureMs, leadInMs, warmUpMs: 0, anchors: 0 }, null);
  const profiled: Profiled[] = [];
  const row = await runner.loadRow(scenario.name, scenario, cluster, async () => {
    profiled.push(...(await chosenProcesses(cluster, options)));
    for (const { pid, path } of profiled) await orderProfile({ pid, path, ms: measureMs, intervalUs });
  });
  progress.line(
    `\n${textHeading({ columns: LOAD_COLUMNS })}\n${textLine(LOAD_COLUMNS, loadCells(row, { ratios: [] }))}`,
  );
  for (const each of profiled) {
    await until(`${each.name} has written its profile`, () => existsSync(each.path), PATIENCE_MS);
    progress.line(`\n${tablesText(each, row, top)}`);
  }
  return row;
}

function tablesText({ name, path }: Profiled, { ratePerSecond }: LoadRow, top: number): string {
  const summary = summarise(parseCpuProfile(readFileSync(path, "utf8")), CHECKOUT);
  const units = (ratePerSecond * summary.totalUs) / 1e6;
  return profileTables(name, summary, units, top).map(textTable).join("\n\n");
}

async function chosenProcesses(
  cluster: MeasuredCluster,
  { nodes, processes, out }: ProfileOptions & { readonly out: string },
): Promise<readonly Profiled[]> {
  const leader = await cluster.leader();
  const chosen = new Map<string, ClusterFileNode>();
  for (const name of nodes) {
    const node =
      name === "leader"
        ? leader
        : name === "follower"
          ? await cluster.follower()
          : cluster.nodes.find(({ id }) => id === name);
    if (node === undefined) throw new Error(`this cluster has no node ${name}`);
    chosen.set(node.id, node);
  }
  return [...chosen.values()].flatMap(({ id, pids }) =>
    processes.map((kind) => {
      const pid = pids[kind];
      if (pid === null) throw new Error(`${id} has no ${kind} process on this machine`);
      const role = id === leader.id ? "leader" : "follower";
      return { name: `${id} ${kind} (${role})`, pid, path: join(out, `${id}-${kind}-${role}.cpuprofile`) };
    }),
  );
}
