/** What every command line shares: options that mean the same everywhere, and where results go. */
import type { Command } from "commander";
import { CliError, EXIT } from "../cli-error.ts";
import type { ExitCode } from "../cli-error.ts";
import type { Output, Printer } from "../printer.ts";
import { API_KEY_VARIABLE, findTarget } from "../target.ts";
import type { Target } from "../target.ts";

/** What the program needs of the world. */
export interface Surroundings {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly workingDir: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface CommandContext {
  readonly surroundings: Surroundings;
  readonly printer: Printer;
  /** Takes the exit code of the command that was run. */
  readonly done: (code: ExitCode) => void;
}

export const HELP = `
Exit codes:
   0  done; the receipt is valid (warnings included)
   1  not valid: file, receipt and trust root do not fit together, one is damaged, or a trace shows a violation
   2  wrong usage, or a file cannot be read or written
   3  the service refused the request (the code says why)
   4  the service is unavailable, or the outcome is unknown: ask again (anchor: with the same --event-id)
  70  a fault of this program

Environment:
  ${API_KEY_VARIABLE}  API key; wins over that of the cluster folder
  NO_COLOR           no colours on a terminal either
`;

export interface CommonFlags {
  readonly json?: true;
}

export interface TargetFlags extends CommonFlags {
  readonly apiUrl: readonly string[];
  readonly cluster?: string;
}

export interface TrustFlags {
  readonly trustRoot: readonly string[];
  readonly rootThk?: string;
}

export interface TimeoutFlags {
  readonly timeout: string;
}

export const collect = (value: string, earlier: readonly string[]): readonly string[] => [...earlier, value];

export function withTarget(command: Command): Command {
  return command
    .option("--api-url <address>", "base address of a node; may be repeated", collect, [])
    .option("--cluster <folder>", "folder with cluster.json (default: the nearest .anchoring)");
}

export function withTrustRoot(command: Command): Command {
  return command
    .option("--trust-root <file>", "signed trust root; repeat for later versions, oldest first", collect, [])
    .option("--root-thk <hex>", "pinned hash of the first trust root (default: root-thk.txt beside it, if there)");
}

export function targetOf(flags: TargetFlags, { workingDir, environment }: Surroundings): Target {
  return findTarget({ apiUrls: flags.apiUrl, cluster: flags.cluster ?? null, workingDir, environment });
}

/** @returns milliseconds @throws CliError `usage` */
export function timeoutMsOf({ timeout }: TimeoutFlags): number {
  const seconds = Number(timeout);
  if (seconds > 0 && seconds <= 3600) return seconds * 1000;
  throw new CliError(EXIT.usage, "timeout_invalid", "--timeout must be a number of seconds from 1 to 3600");
}
