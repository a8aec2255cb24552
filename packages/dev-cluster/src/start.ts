import { isAbsolute, join, relative, resolve } from "node:path";
import { parseArgs, styleText } from "node:util";
import { SERVICE_VERSION } from "@event-anchoring/control-contract";
import { isClusterName } from "@event-anchoring/protocol";
import { shellWord } from "@event-anchoring/provision";
import type { ClusterFile } from "./cluster-file.ts";
import { EmbeddedCluster, NAME_DEFAULT, NODES_DEFAULT, NODES_MAX } from "./embedded-cluster.ts";
import type { EmbeddedClusterOptions } from "./embedded-cluster.ts";
import { FIRST_PORT, FIRST_PORT_MAX } from "./ports.ts";
import { AlreadySupervisedError } from "./supervisor-lock.ts";
import { terminalReporter, wantsColour } from "./terminal-reporter.ts";
import type { Terminal } from "./terminal-reporter.ts";

const START_HELP = `Usage: npm start -- [options]

Brings up a real cluster on this machine, each node with its own Postgres, and keeps it running until Ctrl-C.
The next start resumes the same data.

Options:
  --data <folder>   where everything is kept (default: .anchoring)
  --nodes <n>       nodes of a new cluster, 1 to ${NODES_MAX} (default: ${NODES_DEFAULT})
  --name <name>     name of a new cluster (default: ${NAME_DEFAULT})
  --port <n>        where the ports of a new cluster begin (default: ${FIRST_PORT})
  --witness-logs <file>
                    be a witness of the logs in this list: docs/operating/witness.md
  --fresh           delete the cluster in this folder and begin a new one
  --help, --version print this, or the version

Exit codes: 0 stopped cleanly · 1 could not start · 2 wrong usage · 3 the folder is served by another process
`;

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
const EXIT_SUPERVISED = 3;

/** The command behind `npm start`. @returns the exit code, when the cluster has been stopped */
export async function startCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  let options: Omit<EmbeddedClusterOptions, "reporter">;
  try {
    const parsed = parseOptions(args);
    if (typeof parsed === "string") {
      terminal.write(parsed);
      return 0;
    }
    options = parsed;
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n\n${START_HELP}`);
    return EXIT_USAGE;
  }
  const interrupt = new AbortController();
  const interrupted = new Promise<void>((resolve) => {
    interrupt.signal.addEventListener("abort", () => resolve());
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => interrupt.abort(new Error(`stopped by ${signal}`)));
  }
  const reporter = terminalReporter(terminal);
  try {
    const cluster = await EmbeddedCluster.start({ ...options, reporter }, interrupt.signal);
    if (!interrupt.signal.aborted) terminal.write(greeting(cluster, wantsColour(terminal)));
    await interrupted;
    terminal.write("\n");
    await reporter.step("stopping", () => cluster.stop());
    terminal.write("  Stopped. The next npm start resumes the same cluster.\n");
    return 0;
  } catch (error) {
    if (interrupt.signal.aborted) {
      terminal.write("  Stopped before the cluster was up.\n");
      return 0;
    }
    process.stderr.write(`\n${messageOf(error)}\n`);
    return error instanceof AlreadySupervisedError ? EXIT_SUPERVISED : EXIT_FAILED;
  }
}

/** @returns a text to be printed instead, if one is asked for */
function parseOptions(args: readonly string[]): Omit<EmbeddedClusterOptions, "reporter"> | string {
  const { values } = parseArgs({
    args: [...args],
    options: {
      data: { type: "string", default: ".anchoring" },
      nodes: { type: "string" },
      name: { type: "string" },
      port: { type: "string" },
      "witness-logs": { type: "string" },
      fresh: { type: "boolean", default: false },
      version: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return START_HELP;
  if (values.version) return `npm start, event anchoring ${SERVICE_VERSION}\n`;
  const { nodes, name, port, "witness-logs": witnessLogs } = values;
  if (name !== undefined && !isClusterName(name)) throw new Error(`--name cannot be ${name}`);
  return {
    folder: values.data,
    isFresh: values.fresh,
    ...(nodes === undefined ? {} : { nodes: wholeNumber("--nodes", nodes, 1, NODES_MAX) }),
    ...(name === undefined ? {} : { name }),
    ...(port === undefined ? {} : { firstPort: wholeNumber("--port", port, 1024, FIRST_PORT_MAX) }),
    ...(witnessLogs === undefined ? {} : { witnessLogs: resolve(witnessLogs) }),
  };
}

function wholeNumber(option: string, given: string, min: number, max: number): number {
  const value = Number(given);
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new Error(`${option} must be a whole number from ${min} to ${max}, not ${given}`);
}

function greeting(cluster: EmbeddedCluster, isColoured: boolean): string {
  const bold = (text: string): string => (isColoured ? styleText("bold", text) : text);
  const { nodes, api_key: apiKey } = cluster.file;
  const root = relative(process.cwd(), cluster.root);
  const folder = root === "" || root.startsWith("..") || isAbsolute(root) ? cluster.root : root;
  // Found without being named only from the folder it lies in.
  const named = folder === ".anchoring" ? "" : ` --cluster ${shellWord(folder)}`;
  const pinned = folder === ".anchoring" ? "" : ` --trust-root ${shellWord(join(folder, "trust-root.txt"))}`;
  return [
    "",
    `  ${bold("The cluster is running.")}`,
    "",
    ...nodes.map((node) => `  ${node.id}        ${node.api_url}   origin ${node.origin_fingerprint.slice(0, 16)}…`),
    `  API key   ${apiKey ?? ""}`,
    `  Folder    ${folder} (keys, certificates, databases, logs; cluster.json says all this to programs)`,
    ...witnessLines(nodes),
    "",
    "  Next, in another terminal:",
    "",
    `    ${bold(`npx --no anchorctl demo${named}`)}                  plays a responsibility chain`,
    `    ${bold(`npx --no anchorctl anchor README.md${named}`)}      anchors a file and writes README.md.tlog-proof`,
    `    ${bold(`npx --no anchorctl verify README.md${pinned}`)}      checks that receipt offline`,
    "",
    "  This is a cluster for one machine: all nodes share its disk, and so do their promise files and databases.",
    "  Ctrl-C stops it.",
    "",
  ].join("\n");
}

/** What a log needs to have its checkpoints cosigned here. */
function witnessLines(nodes: ClusterFile["nodes"]): readonly string[] {
  const lines = nodes.flatMap(({ id, witness }) =>
    witness === null ? [] : [`    ${id}      ${witness.vkey} ${witness.url}`],
  );
  return lines.length === 0 ? [] : ["", "  As witnesses of other logs, for their trust roots:", "", ...lines];
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
