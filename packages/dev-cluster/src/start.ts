import { isAbsolute, join, relative } from "node:path";
import { parseArgs, styleText } from "node:util";
import { shellWord } from "@event-anchoring/provision";
import { EmbeddedCluster, NODES_DEFAULT, NODES_MAX } from "./embedded-cluster.ts";
import type { EmbeddedClusterOptions } from "./embedded-cluster.ts";
import { AlreadySupervisedError } from "./supervisor-lock.ts";
import { terminalReporter, wantsColour } from "./terminal-reporter.ts";
import type { Terminal } from "./terminal-reporter.ts";

const START_HELP = `Usage: npm start -- [options]

Brings up a real cluster on this machine, each node with its own Postgres, and keeps it running until Ctrl-C.
The next start resumes the same data.

Options:
  --data <folder>   where everything is kept (default: .anchoring)
  --nodes <n>       nodes of a new cluster, 1 to ${NODES_MAX} (default: ${NODES_DEFAULT})
  --fresh           delete the cluster in this folder and begin a new one
  --help            print this

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
    if (parsed === "help") {
      terminal.write(START_HELP);
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

function parseOptions(args: readonly string[]): Omit<EmbeddedClusterOptions, "reporter"> | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      data: { type: "string", default: ".anchoring" },
      nodes: { type: "string" },
      fresh: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  const base = { folder: values.data, isFresh: values.fresh };
  if (values.nodes === undefined) return base;
  const nodes = Number(values.nodes);
  if (!Number.isInteger(nodes) || nodes < 1 || nodes > NODES_MAX) {
    throw new Error(`--nodes must be a whole number from 1 to ${NODES_MAX}, not ${values.nodes}`);
  }
  return { ...base, nodes };
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

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
