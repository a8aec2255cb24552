/** Command lines that anchor and verify files, and look at the nodes. */
import type { Command } from "commander";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { anchorCommand } from "../commands/anchor.ts";
import { anchorFilesCommand } from "../commands/anchor-files.ts";
import { statusCommand } from "../commands/status.ts";
import { assertAnchorId } from "../commands/trace.ts";
import { verifyBundleCommand } from "../commands/verify-bundle.ts";
import { verifyCommand } from "../commands/verify.ts";
import { areManyMeant, verifyFilesCommand } from "../commands/verify-files.ts";
import { actOf } from "../drafts/event-act.ts";
import { looksLikeBundle } from "../files/bundle-file.ts";
import { NAMES, namesOf } from "../files/names-file.ts";
import type { NamesFlags } from "../files/names-file.ts";
import { expandPatterns, isPattern } from "../files/file-patterns.ts";
import { readSigner } from "../files/key-files.ts";
import { Progress } from "../terminal/progress.ts";
import { readPathList } from "../files/read-path-list.ts";
import {
  HELP,
  WITNESSED,
  offlineTrustOf,
  repeatable,
  targetOf,
  timeoutMsOf,
  trustOf,
  withCluster,
  withOrigin,
  withTarget,
  withTimeout,
  withTrustRoot,
} from "./context.ts";
import type { CommandContext, CommonFlags, TargetFlags, TimeoutFlags, TrustFlags } from "./context.ts";
import { semanticAnchorFields, withReferences } from "./record-flags.ts";
import type { ReferenceFlags } from "./record-flags.ts";

const CHECK_EVENT_ID = /^[\x20-\x7e]{1,128}$/u;

interface AnchorFlags extends TargetFlags, TrustFlags, TimeoutFlags, ReferenceFlags {
  readonly actorKey?: string;
  readonly eventId?: string;
  readonly out?: string;
  readonly stdin?: true;
  readonly null?: true;
  readonly report?: string;
  readonly witnessed?: true;
}

interface VerifyFlags extends CommonFlags, TrustFlags, NamesFlags {
  readonly cluster?: string;
  readonly proof?: string;
  readonly bundle?: string;
  readonly anchorId?: string;
  readonly scope: readonly string[];
  readonly requireCurrent?: true;
  readonly witnessed?: true;
}

const BATCH_HELP = `
Several files, a pattern in quotes ('logs/**/*.gz'), or --stdin (one path a line) are anchored in batches of up to
1,000. What became of each is appended to a report; the same command again with the same report goes on where it
stopped, and anchors nothing twice.

The references say on whose behalf an act is done, and are the same for all files. With --actor-key the event bears the
signature of who acts: the private key of the claim in --iris-ref, mode 600. The service never sees it.
`;

export function addAnchor(program: Command, context: CommandContext): void {
  const { io, printer, done } = context;
  const command = program
    .command("anchor [files...]")
    .description("anchor the SHA-256 of files, and write <file>.tlog-proof for each")
    .option("--event-id <id>", "client_event_id: the same id and file are anchored once (default: a random one)")
    .option("--out <file>", "where to write the receipt")
    .option("--stdin", "read paths from standard input, one a line")
    .option("-0, --null", "paths on standard input end in NUL")
    .option("--report <file>", "report of many files (default: anchorctl-report.jsonl)")
    .option("--actor-key <file>", "private key of the actor, to sign the event (default: unsigned)")
    .option(...WITNESSED)
    .option("--json", "print one JSON object")
    .addHelpText("after", BATCH_HELP + HELP);
  withTimeout(withTrustRoot(withOrigin(withTarget(withReferences(command))))).action(
    async (given: readonly string[], flags: AnchorFlags) => {
      const timeoutMs = timeoutMsOf(flags, context);
      const actor = flags.actorKey === undefined ? null : readSigner(flags.actorKey);
      const common = {
        ...trustOf(flags, context),
        act: actOf(semanticAnchorFields(flags), actor),
        timeoutMs,
        isWitnessed: flags.witnessed === true,
        isJson: flags.json === true,
        workingDir: io.workingDir,
      };
      const isBatch =
        flags.stdin === true || flags.report !== undefined || given.length > 1 || given.some((path) => isPattern(path));
      const [file] = given;
      if (!isBatch && file !== undefined) {
        const eventId = checkedEventId(flags.eventId);
        const options = { ...common, file, eventId, out: flags.out ?? null };
        done(await anchorCommand(options, targetOf(flags, context), printer, new Progress(io.stderr)));
        return;
      }
      const files = await filesOf(given, flags, context);
      const options = { ...common, files, report: flags.report ?? "anchorctl-report.jsonl" };
      const progress = new Progress(io.stderr);
      done(await anchorFilesCommand(options, targetOf(flags, context), printer, progress));
    },
  );
}

function checkedEventId(eventId: string | undefined): string | null {
  if (eventId === undefined || CHECK_EVENT_ID.test(eventId)) return eventId ?? null;
  throw new CliError(EXIT.usage, "event_id_invalid", "--event-id must be 1 to 128 printable ASCII characters");
}

async function filesOf(
  given: readonly string[],
  flags: AnchorFlags,
  { io }: CommandContext,
): Promise<readonly string[]> {
  if (flags.eventId !== undefined || flags.out !== undefined) {
    throw new CliError(EXIT.usage, "single_file_only", "--event-id and --out are for a single file");
  }
  const { stdin, workingDir } = io;
  if (flags.stdin === true && stdin === undefined) {
    throw new CliError(EXIT.usage, "no_stdin", "there is no standard input to read paths from");
  }
  const listed = flags.stdin === true && stdin !== undefined ? await readPathList(stdin, flags.null === true) : [];
  const files = [...new Set([...expandPatterns(given, workingDir), ...listed])];
  if (files.length > 0) return files;
  throw new CliError(EXIT.usage, "no_files", "no files: give some, a pattern that matches some, or --stdin");
}

export function addVerify(program: Command, context: CommandContext): void {
  const { io, printer, done } = context;
  const command = program
    .command("verify [files...]")
    .description("check files against their receipts, whole folders, or a bundle, offline")
    .option("--proof <file>", "the receipt (default: <file>.tlog-proof)")
    .option("--bundle <file>", "a bundle instead; with <file>, its subject must be the event of that file")
    .option("--anchor-id <id>", "the anchor that the bundle must be about")
    .addOption(repeatable("--scope <file>", "a disclosure of what a grant in the bundle allows; may be repeated"))
    .option(...NAMES)
    .option("--require-current", "fail if only an older trust root is satisfied")
    .option("--witnessed", "fail unless as many witnesses have signed as the trust root asks for")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP);
  withCluster(withTrustRoot(command)).action(async (given: readonly string[], flags: VerifyFlags) => {
    const [file] = given;
    const { workingDir } = io;
    const progress = new Progress(io.stderr);
    const common = { ...offlineTrustOf(flags, context), isJson: flags.json === true, workingDir };
    const demand = {
      isCurrentRequired: flags.requireCurrent === true,
      isWitnessedRequired: flags.witnessed === true,
    };
    if (areManyMeant(given, workingDir)) {
      assertNoneOfOne(flags);
      done(await verifyFilesCommand({ ...common, ...demand, given }, printer, progress));
      return;
    }
    const isBundleItself =
      file !== undefined && flags.bundle === undefined && flags.proof === undefined && looksLikeBundle(file);
    const bundle = isBundleItself ? file : flags.bundle;
    if (bundle !== undefined) {
      if (flags.anchorId !== undefined) assertAnchorId("--anchor-id", flags.anchorId);
      const about = { file: isBundleItself ? null : (file ?? null), anchorId: flags.anchorId ?? null };
      const options = { ...common, bundle, ...about, ...demand, scopes: flags.scope, names: namesOf(flags) };
      done(await verifyBundleCommand(options, printer, progress));
      return;
    }
    if (flags.scope.length > 0)
      throw new CliError(
        EXIT.usage,
        "scope_bundles_only",
        "--scope is for bundles: a receipt shows no grant of an act",
      );
    if (file === undefined) throw new CliError(EXIT.usage, "no_file", "give a file, or --bundle <file>");
    const options = { ...common, ...demand, file, proof: flags.proof ?? null, names: namesOf(flags) };
    done(await verifyCommand(options, printer, progress));
  });
}

/** Options about one receipt or bundle. */
function assertNoneOfOne({ proof, bundle, anchorId, scope, names }: VerifyFlags): void {
  const isNone = [proof, bundle, anchorId, names].every((flag) => flag === undefined);
  if (isNone && scope.length === 0) return;
  const message = "--proof, --bundle, --anchor-id, --scope and --names are for a single file";
  throw new CliError(EXIT.usage, "single_file_only", message);
}

export function addStatus(program: Command, context: CommandContext): void {
  const command = program
    .command("status")
    .description("show all nodes: role, term, lag, trust root, when certificates expire")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP);
  withTarget(command).action(async (flags: TargetFlags) => {
    const target = targetOf(flags, context);
    context.done(await statusCommand({ isJson: flags.json === true, nowMs: Date.now() }, target, context.printer));
  });
}
