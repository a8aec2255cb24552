/** What every command line shares: options that mean the same everywhere, and where results go. */
import { Option } from "commander";
import type { Command } from "commander";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import type { Printer } from "../terminal/printer.ts";
import { parseDuration } from "../terminal/time-options.ts";
import type { ProgramIo } from "../terminal/program-io.ts";
import { Progress } from "../terminal/progress.ts";
import { VARIABLES } from "../files/settings.ts";
import type { Settings } from "../files/settings.ts";
import { findTarget } from "../files/target.ts";
import type { Target } from "../files/target.ts";
import { trustRootFilesIn } from "../files/trust-roots.ts";
import type { GivenPin } from "../files/trust-roots.ts";

export interface CommandContext {
  readonly io: ProgramIo;
  readonly printer: Printer;
  /** For what is not the result: progress, and what a script should not read. */
  readonly aside: Printer;
  /** Read when first asked for: help needs none. @throws CliError `usage` */
  readonly settings: () => Settings;
  /** Takes the exit code of the command that was run. */
  readonly done: (code: ExitCode) => void;
}

const variableLines = Object.entries(VARIABLES)
  .map(([name, purpose]) => `  ${name.padEnd(22)} ${purpose}`)
  .join("\n");

export const HELP = `
Exit codes:
   0  done; the receipt is valid (warnings included)
   1  not valid: file, receipt and trust root do not fit together, one is damaged, a trace shows a violation, a
      monitored log was rolled back or split, a node's tables are not what its leaves make them, or doctor found a
      mistake
   2  wrong usage, or a file cannot be read or written
   3  the service refused the request (the code says why); of many files, at least one
   4  the service is unavailable, or the outcome is unknown: ask again (anchor: with the same --event-id)
   5  a bundle or a backup is not wrong, but a part of it rests on the word of the service, or is unsigned
   6  verify, backup verify: nothing is wrong, and no pinned RootTHK says whose trust root it was judged by
  70  a fault of this program

Environment:
${variableLines}

Command line before environment before config file before the nearest .anchoring.
`;

export interface CommonFlags {
  readonly json?: true;
}

export interface TargetFlags extends CommonFlags {
  readonly apiUrl: readonly string[];
  readonly cluster?: string;
  readonly origin?: string;
}

export interface TrustFlags {
  readonly trustRoot: readonly string[];
  readonly rootThk?: string;
}

export interface TimeoutFlags {
  readonly timeout?: string;
}

export const collect = (value: string, earlier: readonly string[]): readonly string[] => [...earlier, value];

/** An option that may be given more than once, and need not be given. */
export function repeatable(flags: string, description: string): Option {
  return new Option(flags, description).argParser(collect).default([], "none");
}

const CLUSTER = ["--cluster <folder>", "folder with cluster.json (default: the nearest .anchoring)"] as const;

export function withTarget(command: Command): Command {
  return command
    .addOption(repeatable("--api-url <address>", "base address of a node; may be repeated"))
    .option(...CLUSTER);
}

/** For offline commands: only the trust root is taken from there. */
export function withCluster(command: Command): Command {
  return command.option(...CLUSTER);
}

/** For what is written: where to. */
export function withOrigin(command: Command): Command {
  return command.option("--origin <fingerprint>", "origin to write to (default: that of the node that answers)");
}

export function withTrustRoot(command: Command): Command {
  return command
    .addOption(repeatable("--trust-root <file>", "signed trust root; repeat for later versions, oldest first"))
    .option("--root-thk <hex>", "pinned hash of the first trust root (default: root-thk.txt beside it, if there)");
}

export function withTimeout(command: Command, defaultS = 30): Command {
  return command.option("--timeout <seconds>", `how long to try, over all nodes (default: ${defaultS})`);
}

/** For commands that fetch or make receipts. */
export const WITNESSED = [
  "--witnessed",
  "wait, within --timeout, for a receipt with as many witnesses as the trust root asks for",
] as const;

const INTERVAL_MS_MIN = 1000;

/** Null: once. @throws CliError `usage` */
export function intervalOf(interval: string | undefined): number | null {
  if (interval === undefined) return null;
  const intervalMs = parseDuration("--interval", interval);
  if (intervalMs >= INTERVAL_MS_MIN) return intervalMs;
  throw new CliError(EXIT.usage, "interval_invalid", "--interval is at least 1s");
}

export function targetOf(flags: TargetFlags, { io, settings }: CommandContext): Target {
  const { apiUrl: apiUrls, cluster = null, origin: originFingerprint = null } = flags;
  const { workingDir, stderr } = io;
  const found = findTarget({ flags: { apiUrls, cluster, originFingerprint }, settings: settings(), workingDir });
  // Lines, also on a terminal: what follows is not to be written over.
  const progress = new Progress({ isTTY: false, write: (text) => stderr.write(text) });
  return { ...found, onWait: (reason) => progress.say(`no answer yet, trying on: ${reason}`) };
}

/** Which trust roots a command judges by. */
export interface TrustChoice {
  /** Files, oldest first; empty: those of the cluster folder. */
  readonly trustRoots: readonly string[];
  /** Null: the file beside the first one, if there is one. */
  readonly pin: GivenPin | null;
}

/** A pin belongs to the documents that it was set with: one of lower priority does not apply to those of a higher. */
export function trustOf(flags: TrustFlags, { settings }: CommandContext): TrustChoice {
  const { environment, file } = settings();
  let pin: GivenPin | null = null;
  for (const { source, trustRoots, rootThk } of [
    { source: "flag", trustRoots: flags.trustRoot, rootThk: flags.rootThk ?? null },
    { source: "environment", ...environment },
    { source: "config", ...file },
  ] as const) {
    if (rootThk !== null) pin ??= { rootThk, source };
    if (trustRoots.length > 0) return { trustRoots, pin };
  }
  return { trustRoots: [], pin };
}

/** For offline commands: without a trust root option, the trust roots of the named cluster folder. */
export function offlineTrustOf(flags: TrustFlags & Pick<TargetFlags, "cluster">, context: CommandContext): TrustChoice {
  const choice = trustOf(flags, context);
  const { environment, file } = context.settings();
  const cluster = flags.cluster ?? environment.cluster ?? file.cluster;
  if (choice.trustRoots.length > 0 || cluster === null) return choice;
  return { ...choice, trustRoots: trustRootFilesIn(cluster) };
}

/** @returns milliseconds @throws CliError `usage` */
export function timeoutMsOf({ timeout }: TimeoutFlags, { settings }: CommandContext, defaultS = 30): number {
  const { environment, file } = settings();
  return parseTimeout(timeout ?? environment.timeoutS ?? file.timeoutS ?? String(defaultS));
}

/** @returns milliseconds @throws CliError `usage` */
export function parseTimeout(text: string): number {
  const seconds = Number(text);
  if (seconds > 0 && seconds <= 3600) return seconds * 1000;
  throw new CliError(EXIT.usage, "timeout_invalid", "--timeout must be a number of seconds from 1 to 3600");
}
