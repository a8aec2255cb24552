import { parseArgs } from "node:util";

/** What one of a node's two processes says of itself. */
export interface ProcessProgram {
  readonly name: "anchoring-api" | "anchoring-control-plane";
  readonly version: string;
  /** One sentence. */
  readonly summary: string;
  /** The prefix of its environment variables. */
  readonly prefix: string;
  /** What a check reads besides the settings. */
  readonly files: string;
  /** Codes beyond 0, 1 and 2, each with its meaning; empty: none. */
  readonly moreExitCodes: string;
}

/**
 * What the command line of a process asks for.
 * - `start`, `check`: with these settings.
 * - `print`: write the text to standard output, and end with 0.
 * - `refuse`: the command line is wrong, and the text says how.
 */
type ProcessArguments =
  | { readonly action: "start" | "check"; readonly configPath: string }
  | { readonly action: "print"; readonly text: string }
  | { readonly action: "refuse"; readonly text: string };

export function processArguments(args: readonly string[], program: ProcessProgram): ProcessArguments {
  const given = valuesOf(args);
  if (typeof given === "string") return { action: "refuse", text: given };
  if (given.help === true) return { action: "print", text: helpOf(program) };
  if (given.version === true) return { action: "print", text: `${program.name} ${program.version}\n` };
  if (given.config === undefined) return { action: "refuse", text: "--config <file> is required; see --help" };
  return { action: given.check === true ? "check" : "start", configPath: given.config };
}

function valuesOf(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        config: { type: "string" },
        check: { type: "boolean" },
        version: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    }).values;
  } catch (error) {
    return `${error instanceof Error ? error.message : String(error)}; see --help`;
  }
}

function helpOf({ name, summary, prefix, files, moreExitCodes }: ProcessProgram): string {
  return `Usage: ${name} --config <file> [--check]

${summary}

Options:
  --config <file>  the settings: a JSON object, mode 0600. Variables ${prefix}… override it
  --check          read the settings and ${files} as a start would;
                   start nothing, and print every fault on a line of its own
  --version        print the version
  --help           print this

Exit codes: 0 stopped, or nothing is wrong · 1 failed · 2 settings or options are wrong${moreExitCodes}
docs/operating/configuration.md lists all settings.
`;
}

/** What a check has come to: its lines, and the exit code. */
interface CheckReport {
  readonly text: string;
  readonly exitCode: 0 | 2;
}

/** @param faults a line each */
export function checkReport({ name }: ProcessProgram, configPath: string, faults: readonly string[]): CheckReport {
  if (faults.length === 0) return { text: `${name}: ${configPath}: nothing is wrong\n`, exitCode: 0 };
  return { text: faults.map((fault) => `${name}: ${fault}\n`).join(""), exitCode: 2 };
}
