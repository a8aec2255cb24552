import { mkdtempSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { EmbeddedCluster, readClusterFile, terminalReporter } from "@event-anchoring/dev-cluster";
import type { ClusterFile, Terminal } from "@event-anchoring/dev-cluster";
import { cpuPerAnchor, cpuTime } from "./cpu-time.ts";
import type { CpuTime } from "./cpu-time.ts";
import { eventBatches, singleEvents } from "./event-workloads.ts";
import type { Origins } from "./event-workloads.ts";
import { QUESTIONS, chainQuestions, newClaims, newGrants } from "./responsibility-workloads.ts";
import type { WorkloadSetup } from "./responsibility-workloads.ts";
import { runScenario } from "./scenarios.ts";
import type { Measurement, Scenario } from "./scenarios.ts";
import { trustRootsOf, verifySamples } from "./verify-samples.ts";

export const BENCH_HELP = `Usage: npm run bench -- [options]

Measures certified writes: every request counted was answered with a receipt that a quorum of nodes has cosigned.
Starts a cluster of its own in a temporary folder, and deletes it afterwards.

Options:
  --cluster <folder>   measure the running cluster of this folder instead
  --seconds <n>        length of each measurement (default: 8)
  --only <text>        only the measurements whose name has this in it
  --json               print one JSON object; progress goes to stderr
  --help               print this
`;

/** Until the hot paths of six new processes are compiled; before that a write costs twice the processor time. */
const WARM_UP_MS = 10_000;

/** Claims and grants signed in advance for each second of a measurement, over all nodes. */
const PREPARED_PER_SECOND = 2500;

interface Row extends Measurement {
  /** Processor time of all nodes together, per anchor; null where the system does not tell. */
  readonly cpuMicrosPerAnchor: CpuTime | null;
}

interface Options {
  readonly cluster: string | null;
  readonly seconds: number;
  /** Empty: everything. */
  readonly only: string;
  readonly isJson: boolean;
}

/** The command behind `npm run bench`. @returns the exit code: 1 if a request failed or a receipt does not verify */
export async function benchCommand(args: readonly string[], stdout: Terminal, stderr: Terminal): Promise<number> {
  const options = parseOptions(args);
  if (options === "help") {
    stdout.write(BENCH_HELP);
    return 0;
  }
  const progress = options.isJson ? stderr : stdout;
  const reporter = terminalReporter(progress);
  if (options.cluster !== null) {
    const file = readClusterFile(join(options.cluster, "cluster.json"));
    if (file === null) throw new Error(`there is no cluster in ${options.cluster}`);
    return measure(file, options, stdout, progress);
  }
  const folder = mkdtempSync(join(tmpdir(), "anchoring-bench-"));
  const cluster = await EmbeddedCluster.start({ folder, reporter });
  try {
    return await measure(cluster.file, options, stdout, progress);
  } finally {
    await reporter.step("stopping", () => cluster.erase());
  }
}

function parseOptions(args: readonly string[]): Options | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      cluster: { type: "string" },
      seconds: { type: "string", default: "8" },
      only: { type: "string", default: "" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  const seconds = Number(values.seconds);
  if (!(seconds > 0 && seconds <= 3600)) throw new Error("--seconds must be a number from 1 to 3600");
  return { cluster: values.cluster ?? null, seconds, only: values.only, isJson: values.json };
}

async function measure(file: ClusterFile, options: Options, stdout: Terminal, progress: Terminal): Promise<number> {
  const { api_key: apiKey, nodes } = file;
  if (apiKey === null) throw new Error("the cluster has no API key yet");
  const apiUrls = nodes.map((node) => node.api_url);
  const origins = new Map(nodes.map((node) => [node.api_url, node.origin_fingerprint]));
  const samples: string[] = [];
  const target = { apiKey, onSample: (answer: string) => samples.push(answer) };
  const leader = await leaderUrl(apiUrls);
  const follower = apiUrls.find((apiUrl) => apiUrl !== leader) ?? leader;
  const reporter = terminalReporter(progress);
  const warmUp = { ...singleEvents(origins), clients: 64, apiUrls, durationMs: WARM_UP_MS };
  await reporter.step("warming up", () => runScenario(warmUp, target));
  const durationMs = options.seconds * 1000;
  const setup = { apiKey, origins, perNode: Math.ceil((options.seconds * PREPARED_PER_SECOND) / nodes.length) };
  const rows = [
    ...eventRows(origins, { apiUrls, leader, follower }),
    ...(await responsibilityRows(setup, { apiUrls, leader, follower }, options.only, reporter)),
  ].filter(({ name }) => name.includes(options.only));
  const measurements: Row[] = [];
  progress.write(`\n${heading()}\n`);
  for (const each of rows) {
    const before = cpuTime(nodes);
    const measured = await runScenario({ ...each, durationMs }, target);
    const count = measured.requests * measured.anchorsPerRequest;
    const measurement = { ...measured, cpuMicrosPerAnchor: cpuPerAnchor(before, cpuTime(nodes), count) };
    measurements.push(measurement);
    progress.write(`${row(measurement)}\n`);
  }
  const verified = verifySamples(samples, trustRootsOf(file.trust_root));
  progress.write(`\n${verified} receipts of ${samples.length} sampled answers verified offline\n`);
  if (options.isJson) stdout.write(`${JSON.stringify({ machine: machine(), verified, measurements }, null, 2)}\n`);
  return measurements.every(({ failures }) => Object.keys(failures).length === 0) && verified > 0 ? 0 : 1;
}

type Planned = Omit<Scenario, "durationMs">;

interface Places {
  readonly apiUrls: readonly string[];
  readonly leader: string;
  readonly follower: string;
}

function eventRows(origins: Origins, { apiUrls, leader, follower }: Places): Planned[] {
  const events = singleEvents(origins);
  const batches = eventBatches(origins, 500);
  return [
    { ...events, name: "one client, to the leader", clients: 1, apiUrls: [leader] },
    { ...events, name: "one client, to a follower", clients: 1, apiUrls: [follower] },
    { ...events, name: "64 clients, over all nodes", clients: 64, apiUrls },
    { ...events, name: "64 clients, to the leader", clients: 64, apiUrls: [leader] },
    { ...batches, name: "batches of 500, 4 clients, over all nodes", clients: 4, apiUrls },
    { ...batches, name: "batches of 500, 4 clients, to the leader", clients: 4, apiUrls: [leader] },
  ];
}

/** What is signed and registered for these takes its time: only what is asked for is prepared. */
async function responsibilityRows(
  setup: WorkloadSetup,
  { apiUrls, follower }: Places,
  only: string,
  reporter: ReturnType<typeof terminalReporter>,
): Promise<Planned[]> {
  const rows: Planned[] = [];
  const isWanted = (name: string): boolean => name.includes(only);
  if (isWanted(CLAIMS))
    await reporter.step("signing claims", async () => {
      rows.push({ ...newClaims(setup), name: CLAIMS, clients: 64, apiUrls });
    });
  if (isWanted(GRANTS))
    await reporter.step("registering parties, signing grants", async () => {
      rows.push({ ...(await newGrants(setup)), name: GRANTS, clients: 64, apiUrls });
    });
  if (QUESTIONS.some(isWanted))
    await reporter.step("delegating along a chain", async () => {
      const questions = await chainQuestions(setup);
      rows.push(...questions.map((each) => ({ ...each, clients: 1, apiUrls: [follower] })));
    });
  return rows;
}

const CLAIMS = "claims, 64 clients, over all nodes";
const GRANTS = "grants, 64 clients, over all nodes";

/** Any node knows the leader; the first that names it by its own role is taken. */
async function leaderUrl(apiUrls: readonly string[]): Promise<string> {
  for (const apiUrl of apiUrls) {
    const health: unknown = await (await fetch(`${apiUrl}/healthz`)).json();
    if (JSON.stringify(health).includes('"role":"leader"')) return apiUrl;
  }
  throw new Error("no node says that it is the leader");
}

function machine(): object {
  const { model } = cpus()[0] ?? { model: "unknown" };
  return { cores: availableParallelism(), model, node: process.version, platform: process.platform };
}

const COLUMNS = [
  "anchors/s",
  "p50 ms",
  "p99 ms",
  "max ms",
  "failed",
  "cpu µs: api",
  "control pl.",
  "postgres",
  "client",
];
const NAME_WIDTH = 43;
const CELL_WIDTH = 12;

function heading(): string {
  return `${"".padEnd(NAME_WIDTH)}${COLUMNS.map((name) => name.padStart(CELL_WIDTH)).join("")}`;
}

function row(measurement: Row): string {
  const { scenario: name, anchorsPerSecond, p50Ms, p99Ms, maxMs, failures, cpuMicrosPerAnchor: cpu } = measurement;
  const goal = measurement.goal === null ? "" : `   goal: ${measurement.goal}`;
  const failed = Object.entries(failures).map(([status, count]) => `${count}×${status}`);
  const cells = [
    anchorsPerSecond.toFixed(0),
    p50Ms.toFixed(2),
    p99Ms.toFixed(2),
    maxMs.toFixed(1),
    failed.join(",") || "0",
    ...(cpu === null ? [] : [cpu.api, cpu.control_plane, cpu.postgres, cpu.client].map(String)),
  ];
  return `${name.padEnd(NAME_WIDTH)}${cells.map((cell) => cell.padStart(CELL_WIDTH)).join("")}${goal}`;
}
