/** Command lines that record events as envelopes, and keep them with their receipts. */
import type { Command } from "commander";
import { recordEventsCommand } from "../commands/record-events.ts";
import type { RecordEventsOptions } from "../commands/record-events.ts";
import { tailCommand } from "../commands/tail.ts";
import { actOf } from "../drafts/event-act.ts";
import { readSigner } from "../files/key-files.ts";
import type { Target } from "../files/target.ts";
import type { RecordingOptions } from "../recording/open-recorder.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { Progress } from "../terminal/progress.ts";
import { HELP, targetOf, timeoutMsOf, trustOf, withOrigin, withTarget, withTimeout, withTrustRoot } from "./context.ts";
import type { CommandContext, TargetFlags, TimeoutFlags, TrustFlags } from "./context.ts";
import { semanticAnchorFields, withReferences } from "./record-flags.ts";
import type { ReferenceFlags } from "./record-flags.ts";

interface RecordingFlags extends TargetFlags, TrustFlags, TimeoutFlags, ReferenceFlags {
  readonly what: string;
  readonly who?: string;
  readonly contentType?: string;
  readonly salt?: true;
  readonly folder: string;
  readonly actorKey?: string;
}

interface RecordFlags extends RecordingFlags {
  readonly value?: string;
  readonly stdin?: true;
}

interface TailFlags extends RecordingFlags {
  readonly follow?: true;
}

function withRecording(command: Command): Command {
  command
    .requiredOption("--what <type>", "type of the event, such as tool.call")
    .option("--who <name>", "who acted")
    .option("--content-type <type>", "media type of the content (default: JSON, or bytes)")
    .option("--salt", "give each envelope a salt, so that nobody can guess its content by its hash")
    .option("--folder <folder>", "where events wait and are kept", "recorded")
    .option("--actor-key <file>", "private key of the actor, to sign the event (default: unsigned)")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP);
  return withTimeout(withTrustRoot(withOrigin(withTarget(withReferences(command)))), 60);
}

function recordingOf(flags: RecordingFlags, context: CommandContext): { options: RecordingOptions; target: Target } {
  const target = targetOf(flags, context);
  const { workingDir } = context.io;
  const actor = flags.actorKey === undefined ? null : readSigner(flags.actorKey);
  return {
    target,
    options: {
      what: flags.what,
      who: flags.who ?? null,
      contentType: flags.contentType ?? null,
      isSalted: flags.salt === true,
      folder: flags.folder,
      act: actOf(semanticAnchorFields(flags), actor),
      timeoutMs: timeoutMsOf(flags, context, 60),
      trust: { ...trustOf(flags, context), clusterFolder: target.clusterFolder, workingDir },
      isJson: flags.json === true,
    },
  };
}

function sourceOf(
  file: string | undefined,
  { value, stdin }: RecordFlags,
  { io }: CommandContext,
): RecordEventsOptions["source"] {
  const given = [file !== undefined, value !== undefined, stdin === true].filter(Boolean).length;
  if (given === 1) {
    if (file !== undefined) return { file };
    if (value !== undefined) return { value };
    if (io.stdin !== undefined) return { lines: io.stdin };
  }
  throw new CliError(EXIT.usage, "source_missing", "give one of a file, --value <json> and --stdin");
}

export function addRecord(program: Command, context: CommandContext): void {
  const command = program
    .command("record [file]")
    .description("record an event, or one for each line of standard input, and keep it with its receipt")
    .option("--value <json>", "the content, as JSON")
    .option("--stdin", "a line of JSON for each event; another line is recorded as text");
  withRecording(command).action(async (file: string | undefined, flags: RecordFlags) => {
    const source = sourceOf(file, flags, context);
    const { options, target } = recordingOf(flags, context);
    const progress = new Progress(context.io.stderr);
    context.done(await recordEventsCommand({ ...options, source }, target, context.printer, progress));
  });
}

export function addTail(program: Command, context: CommandContext): void {
  const command = program
    .command("tail <file>")
    .description("record every line of a file of JSON lines, from where the last run has ended")
    .option("-f, --follow", "wait for more lines, also if the file is rotated");
  withRecording(command).action(async (file: string, flags: TailFlags) => {
    const { options, target } = recordingOf(flags, context);
    const { workingDir, signal = null } = context.io;
    const progress = new Progress(context.io.stderr);
    const tail = { ...options, file, isFollowing: flags.follow === true, signal, workingDir };
    context.done(await tailCommand(tail, target, context.printer, progress));
  });
}
