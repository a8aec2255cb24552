/** Command lines of kept backups: made, pruned, unpacked and tried again and again. */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { drillBackupCommand } from "../commands/drill-backup.ts";
import { keepBackupCommand, pruneBackupsCommand } from "../commands/keep-backup.ts";
import { backupKeyCommand, readIdentities, unpackBackupCommand } from "../commands/unpack-backup.ts";
import { nodeDatabaseOf } from "../files/node-database.ts";
import { asCliError } from "../files/read-input.ts";
import { KeptFolder } from "../keeping/kept-folder.ts";
import { encrypterTo } from "../keeping/packed-backup.ts";
import type { Retention } from "../keeping/retention.ts";
import { listenAddressOf } from "../monitor/monitor-listener.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { Progress } from "../terminal/progress.ts";
import { HELP, intervalOf, repeatable } from "./context.ts";
import type { CommandContext, CommonFlags } from "./context.ts";
import { withHeld } from "./held-trust-roots.ts";
import type { HeldFlags } from "./held-trust-roots.ts";

interface RetentionFlags extends CommonFlags {
  readonly folder: string;
  readonly last: string;
  readonly daily: string;
  readonly weekly: string;
  readonly monthly: string;
}

interface KeepFlags extends RetentionFlags {
  readonly database: string;
  readonly recipient: readonly string[];
  readonly recipients?: string;
  readonly unsigned?: true;
  readonly interval?: string;
  readonly listen?: string;
  readonly metrics?: string;
}

interface DrillFlags extends HeldFlags {
  readonly folder: string;
  readonly identity: string;
  readonly scratch: string;
  readonly unsigned?: true;
  readonly metrics?: string;
}

/** What the reading of a folder and of a socket needs of the command lines of backups. */
export interface BackupLines {
  /** null: no trust root is named, and there is no cluster folder near. */
  readonly heldIfAny: (flags: HeldFlags, context: CommandContext) => TrustRootChain | null;
  /** @throws CliError `usage`: only an address was given */
  readonly signingSocket: (database: string, context: CommandContext) => string;
}

const FOLDER = ["--folder <folder>", "where kept backups are"] as const;
const METRICS = ["--metrics <file>", "metrics of the folder for a collector, such as the node exporter's"] as const;
const COUNT_MAX = 10_000;

const progressOf = ({ io }: CommandContext): Progress => new Progress(io.stderr);

export function addKeptBackups(backup: Command, context: CommandContext, lines: BackupLines): void {
  addKey(backup, context);
  addKeep(backup, context, lines);
  addPrune(backup, context);
  addUnpack(backup, context);
  addDrill(backup, context, lines);
}

function addKey(backup: Command, context: CommandContext): void {
  backup
    .command("key <file>")
    .description("make a key of age that kept backups are encrypted to, as age-keygen does")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP)
    .action(async (path: string, flags: CommonFlags) => {
      context.done(await backupKeyCommand(path, flags.json === true, context.printer));
    });
}

function withRetention(command: Command): Command {
  return command
    .requiredOption(...FOLDER)
    .option("--last <n>", "how many of the newest stay", "3")
    .option("--daily <n>", "of how many days the last one stays", "7")
    .option("--weekly <n>", "of how many weeks the last one stays", "5")
    .option("--monthly <n>", "of how many months the last one stays", "12");
}

function addKeep(backup: Command, context: CommandContext, lines: BackupLines): void {
  withRetention(backup.command("keep"))
    .description("add one more backup to a folder, compressed and encrypted; then remove those that are too many")
    .requiredOption("--database <address or settings file>", "the node's database")
    .addOption(repeatable("--recipient <age1…>", "who can read it; may be repeated"))
    .option("--recipients <file>", "recipients of age, one a line")
    .option("--unsigned", "make it without the cluster's signatures, which prove its API keys, members and endings")
    .option("--interval <duration>", "go on: another one when the newest is so old, for example 24h (default: once)")
    .option("--listen <address>", "with --interval: metrics at host:port, such as 127.0.0.1:9111")
    .option(...METRICS)
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP)
    .action(async (flags: KeepFlags) => {
      const { io, printer } = context;
      const intervalMs = intervalOf(flags.interval);
      if (flags.listen !== undefined && intervalMs === null) {
        throw new CliError(EXIT.usage, "interval_missing", "--listen needs --interval");
      }
      const options = {
        database: nodeDatabaseOf(flags.database, io.environment),
        controlSocket: flags.unsigned === true ? null : lines.signingSocket(flags.database, context),
        folder: new KeptFolder(flags.folder),
        recipients: recipientsOf(flags),
        retention: retentionOf(flags),
        intervalMs,
        listen: flags.listen === undefined ? null : listenAddressOf(flags.listen),
        metricsPath: flags.metrics ?? null,
        isJson: flags.json === true,
        signal: io.signal ?? null,
      };
      context.done(await keepBackupCommand(options, printer, progressOf(context)));
    });
}

function addPrune(backup: Command, context: CommandContext): void {
  withRetention(backup.command("prune"))
    .description("remove the kept backups that are too many, as keep does")
    .option("--dry-run", "only say which")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP)
    .action(async (flags: RetentionFlags & { readonly dryRun?: true }) => {
      const options = {
        folder: new KeptFolder(flags.folder),
        retention: retentionOf(flags),
        isDry: flags.dryRun === true,
        isJson: flags.json === true,
      };
      context.done(await pruneBackupsCommand(options, context.printer));
    });
}

function addUnpack(backup: Command, context: CommandContext): void {
  backup
    .command("unpack <file>")
    .description("decrypt and decompress a kept backup into the file that verify and restore take")
    .requiredOption("--identity <file>", "secret keys of age, one a line")
    .requiredOption("--out <file>", "where the backup goes; never overwritten")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP)
    .action(async (path: string, flags: CommonFlags & { readonly identity: string; readonly out: string }) => {
      const { identity, out, json } = flags;
      const options = { path, identities: readIdentities(identity), out, isJson: json === true };
      context.done(await unpackBackupCommand(options, context.printer, progressOf(context)));
    });
}

function addDrill(backup: Command, context: CommandContext, lines: BackupLines): void {
  const drill = backup
    .command("drill")
    .description("restore the newest kept backup into a database that is made for it, check everything, and drop it")
    .requiredOption(...FOLDER)
    .requiredOption("--identity <file>", "secret keys of age, one a line")
    .option(
      "--scratch <address>",
      "a Postgres server on which the role may create databases (default: the one that PGHOST, PGPORT, … name)",
      "postgresql:///postgres",
    )
    .option("--unsigned", "drill a backup that no quorum has signed")
    .option(...METRICS)
    .option("--json", "print one JSON object");
  withHeld(drill)
    .addHelpText("after", HELP)
    .action(async (flags: DrillFlags) => {
      const options = {
        folder: new KeptFolder(flags.folder),
        identities: readIdentities(flags.identity),
        held: lines.heldIfAny(flags, context),
        scratchUrl: flags.scratch,
        mayBeUnsigned: flags.unsigned === true,
        metricsPath: flags.metrics ?? null,
        isJson: flags.json === true,
      };
      context.done(await drillBackupCommand(options, context.printer, progressOf(context)));
    });
}

/** @throws CliError `recipient_missing`, `recipient_invalid` */
function recipientsOf({ recipient, recipients: path }: KeepFlags): readonly string[] {
  const lines = path === undefined ? [] : readLines(path);
  const all = [
    ...recipient,
    ...lines.map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("#")),
  ];
  if (all.length === 0) {
    const message =
      "give --recipient age1… or --recipients <file>: a backup contains API clients and event ids in clear";
    throw new CliError(EXIT.usage, "recipient_missing", message);
  }
  encrypterTo(all);
  return all;
}

function readLines(path: string): readonly string[] {
  try {
    return readFileSync(path, "utf8").split("\n");
  } catch (error) {
    throw asCliError(path, "read", error);
  }
}

function retentionOf({ last, daily, weekly, monthly }: RetentionFlags): Retention {
  const count = (option: string, text: string): number => {
    const value = Number(text);
    if (/^\d+$/u.test(text) && value <= COUNT_MAX) return value;
    throw new CliError(EXIT.usage, "count_invalid", `${option} takes a number from 0 to ${COUNT_MAX}`);
  };
  return {
    last: count("--last", last),
    daily: count("--daily", daily),
    weekly: count("--weekly", weekly),
    monthly: count("--monthly", monthly),
  };
}
