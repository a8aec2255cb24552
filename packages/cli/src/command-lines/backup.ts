/** Command lines of those who keep backups, and of those who need one. */
import type { Command } from "commander";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { createBackupCommand, showBackupCommand, verifyBackupCommand } from "../commands/backup.ts";
import { restorePlanCommand } from "../commands/restore-plan.ts";
import { restoreClusterCommand, restoreNodeCommand } from "../commands/restore.ts";
import { controlSocketOf, nodeDatabaseOf, readNodeSettings } from "../files/node-database.ts";
import { Progress } from "../terminal/progress.ts";
import { parseExpiry } from "../terminal/time-options.ts";
import { HELP, collect, trustOf } from "./context.ts";
import type { CommandContext, CommonFlags } from "./context.ts";
import { countOf } from "./first-trust-root.ts";
import { folderOf, heldChain, withHeld } from "./held-trust-roots.ts";
import type { HeldFlags } from "./held-trust-roots.ts";
import { addKeptBackups } from "./kept-backups.ts";

interface CreateBackupFlags extends CommonFlags {
  readonly database: string;
  readonly out: string;
  readonly unsigned?: true;
}

interface VerifyBackupFlags extends HeldFlags {
  readonly trustRootsOut?: string;
}

interface PlanFlags extends HeldFlags {
  readonly backup: string;
  readonly promiseFile: readonly string[];
  readonly checkpoint: readonly string[];
  readonly addActive: readonly string[];
  readonly quorum?: string;
  readonly expires?: string;
  readonly out: string;
}

interface RestoreFlags extends CommonFlags {
  readonly backup: string;
  readonly node: string;
  readonly unsigned?: true;
}

const progressOf = ({ io }: CommandContext): Progress => new Progress(io.stderr);

export function addBackup(program: Command, context: CommandContext): void {
  const backup = program
    .command("backup")
    .description("the state of a cluster in one file: take, keep, verify and try it");
  backup
    .command("create")
    .description("write the state of one node, which every node has alike, as a quorum of the cluster signs it")
    .requiredOption("--database <address or settings file>", "the node's database")
    .requiredOption("--out <file>", "where the backup goes; never overwritten")
    .option("--unsigned", "make it without the cluster's signatures, which prove its API keys, members and endings")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP)
    .action(async (flags: CreateBackupFlags) => {
      const database = nodeDatabaseOf(flags.database, context.io.environment);
      const controlSocket = flags.unsigned === true ? null : signingSocket(flags.database, context);
      const options = { database, controlSocket, out: flags.out, isJson: flags.json === true };
      context.done(await createBackupCommand(options, context.printer, progressOf(context)));
    });
  backup
    .command("show <file>")
    .description("what a backup says of itself")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP)
    .action(async (path: string, flags: CommonFlags) => {
      context.done(await showBackupCommand(path, flags.json === true, context.printer));
    });
  const verify = backup
    .command("verify <file>")
    .description("hash every leaf of a backup again, rebuild every tree, verify every signature")
    .option("--trust-roots-out <folder>", "write the trust roots that it holds there, once it is sound")
    .option("--json", "print one JSON object");
  withHeld(verify)
    .addHelpText("after", HELP)
    .action(async (path: string, flags: VerifyBackupFlags) => {
      const options = {
        path,
        held: heldIfAny(flags, context),
        trustRootsOut: flags.trustRootsOut ?? null,
        isJson: flags.json === true,
      };
      context.done(await verifyBackupCommand(options, context.printer, progressOf(context)));
    });
  addKeptBackups(backup, context, { heldIfAny, signingSocket });
}

/** @throws CliError `usage`: only an address was given */
function signingSocket(database: string, { io }: CommandContext): string {
  const socket = controlSocketOf(database, io.environment);
  if (socket !== null) return socket;
  const message =
    "an address names no control plane that could have the cluster sign: give the settings file, or --unsigned";
  throw new CliError(EXIT.usage, "no_control_plane", message);
}

/** null: no trust root is named, and there is no cluster folder near. */
function heldIfAny(flags: HeldFlags, context: CommandContext): TrustRootChain | null {
  const isAny = trustOf(flags, context).trustRoots.length > 0 || folderOf(flags, context) !== null;
  return isAny ? heldChain(flags, context) : null;
}

export function addRestore(program: Command, context: CommandContext): void {
  const restore = program.command("restore").description("put a backup into place: of one node, or of a whole cluster");
  addRestoreNode(restore, context);
  addRestorePlan(restore, context);
  addRestoreCluster(restore, context);
}

function withBackupAndNode(command: Command): Command {
  return command
    .requiredOption("--backup <file>", "the backup")
    .requiredOption("--node <settings file>", "the control plane's settings of a new node, with an empty database")
    .option("--unsigned", "take a backup that no quorum has signed: you vouch for its API keys, members and endings")
    .option("--json", "print one JSON object");
}

function restoreOptions({ backup, node, unsigned, json }: RestoreFlags, { io }: CommandContext) {
  const settings = readNodeSettings(node, io.environment);
  return { backup, settings, mayBeUnsigned: unsigned === true, isJson: json === true };
}

function addRestoreNode(restore: Command, context: CommandContext): void {
  withBackupAndNode(restore.command("node"))
    .description("let a new node of a living cluster begin with the state of a backup")
    .addHelpText("after", HELP)
    .action(async (flags: RestoreFlags) => {
      const options = restoreOptions(flags, context);
      context.done(await restoreNodeCommand(options, context.printer, progressOf(context)));
    });
}

function addRestoreCluster(restore: Command, context: CommandContext): void {
  withBackupAndNode(restore.command("cluster"))
    .description("let a new node begin with the state of a backup, as one of the group that takes the lost one's place")
    .requiredOption(
      "--trust-root <file>",
      "the signed versions that follow those in the backup; the last one raises the epoch",
      collect,
      [],
    )
    .addHelpText("after", HELP)
    .action(async (flags: RestoreFlags & { readonly trustRoot: readonly string[] }) => {
      const options = { ...restoreOptions(flags, context), trustRoots: flags.trustRoot };
      context.done(await restoreClusterCommand(options, context.printer, progressOf(context)));
    });
}

function addRestorePlan(restore: Command, context: CommandContext): void {
  const command = restore
    .command("plan")
    .description(
      "work out what becomes of each origin when a whole cluster is restored, and write the trust root for it",
    )
    .requiredOption("--backup <file>", "the backup")
    .option("--promise-file <file>", "of an old node that never runs again; may be repeated", collect, [])
    .option(
      "--checkpoint <file>",
      "a certified checkpoint or receipt that somebody has kept; may be repeated",
      collect,
      [],
    )
    .option("--add-active <card>", "a node of the new group; may be repeated", collect, [])
    .option("--quorum <n>", "how many nodes must cosign (default: as many as before)")
    .option("--expires <when>", "a duration such as 365d, or an RFC 3339 time (default: as long as before)")
    .requiredOption("--out <file>", "where the proposal goes")
    .option("--json", "print one JSON object");
  withHeld(command)
    .addHelpText("after", HELP)
    .action(async (flags: PlanFlags) => {
      const nowMs = Date.now();
      const expiresMs = flags.expires === undefined ? null : parseExpiry("--expires", flags.expires, nowMs);
      if (expiresMs === 0) throw new CliError(EXIT.usage, "expiry_invalid", "a trust root always expires");
      const options = {
        backup: flags.backup,
        chain: heldChain(flags, context),
        promiseFiles: flags.promiseFile,
        checkpoints: flags.checkpoint,
        cards: flags.addActive,
        quorum: flags.quorum === undefined ? null : countOf("--quorum", flags.quorum),
        issuedS: Math.floor(nowMs / 1000),
        expiresS: expiresMs === null ? null : Math.floor(expiresMs / 1000),
        out: flags.out,
        isJson: flags.json === true,
      };
      context.done(await restorePlanCommand(options, context.printer, progressOf(context)));
    });
}
