/** Command lines about receipts, heads and bundles that a service gives out. */
import { POLICY_FORMATS } from "@event-anchoring/protocol";
import type { Command } from "commander";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { bundleCommand } from "../commands/bundle.ts";
import { latestCommand } from "../commands/latest.ts";
import { policyCommand } from "../commands/policy.ts";
import { receiptCommand } from "../commands/receipt.ts";
import { assertAnchorId } from "../commands/trace.ts";
import { Progress } from "../terminal/progress.ts";
import { Service } from "../service/service.ts";
import { readScope } from "../files/scope-files.ts";
import { apiKeyOf } from "../files/target.ts";
import type { Target } from "../files/target.ts";
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
import type { CommandContext, TargetFlags, TimeoutFlags, TrustFlags } from "./context.ts";

interface ReadingFlags extends TargetFlags, TrustFlags, TimeoutFlags {}

function withReading(command: Command): Command {
  return withTimeout(withTrustRoot(withTarget(command)))
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP);
}

function readingOf(
  flags: ReadingFlags,
  context: CommandContext,
): { target: Target; service: Service; trust: Parameters<typeof latestCommand>[0]["trust"]; timeoutMs: number } {
  const target = targetOf(flags, context);
  const timeoutMs = timeoutMsOf(flags, context);
  const { workingDir } = context.io;
  return {
    target,
    timeoutMs,
    service: new Service({ apiUrls: target.apiUrls, apiKey: apiKeyOf(target), timeoutMs, onWait: target.onWait }),
    trust: { ...trustOf(flags, context), clusterFolder: target.clusterFolder, workingDir },
  };
}

export function addLatest(program: Command, context: CommandContext): void {
  const command = program.command("latest").description("show the latest certified anchor of an origin, verified");
  withReading(withOrigin(command)).action(async (flags: ReadingFlags) => {
    const { target, service, trust } = readingOf(flags, context);
    const options = { originFingerprint: target.originFingerprint, trust, isJson: flags.json === true };
    context.done(await latestCommand(options, service, context.printer));
  });
}

interface ReceiptFlags extends ReadingFlags {
  readonly renew?: string;
  readonly out?: string;
  readonly witnessed?: true;
}

export function addReceipt(program: Command, context: CommandContext): void {
  const command = program
    .command("receipt [anchor_id]")
    .description("fetch the receipt of an anchor, as tlog-proof text or JSON; or renew one")
    .option("--renew <file>", "a receipt that is replaced by one against the newest tree")
    .option("--out <file>", "where to write it (default: standard output; with --renew that file)")
    .option(...WITNESSED);
  withReading(command).action(async (anchorId: string | undefined, flags: ReceiptFlags) => {
    if ((anchorId === undefined) === (flags.renew === undefined)) {
      throw new CliError(EXIT.usage, "anchor_missing", "give one of an anchor id and --renew");
    }
    if (anchorId !== undefined) assertAnchorId("an anchor id", anchorId);
    const { service, trust, timeoutMs } = readingOf(flags, context);
    const options = {
      anchorId: anchorId?.toLowerCase() ?? null,
      renew: flags.renew ?? null,
      out: flags.out ?? null,
      witnessedMs: flags.witnessed === true ? timeoutMs : null,
      isJson: flags.json === true,
      trust,
    };
    context.done(await receiptCommand(options, service, context));
  });
}

interface BundleFlags extends ReadingFlags {
  readonly out?: string;
  readonly small?: true;
  readonly witnessed?: true;
  readonly scope: readonly string[];
}

export function addBundle(program: Command, context: CommandContext): void {
  const command = program
    .command("bundle <anchor_id>")
    .description("fetch everything that a trace needs into one file, which verify judges offline")
    .option("--out <file>", "where to write it (default: <anchor_id>.bundle.json)")
    .addOption(repeatable("--scope <file>", "put in a disclosure of what a grant allows; may be repeated"))
    .option("--small", "leave out the leaves that prove that no revocation is missing: as stated by the service")
    .option("--witnessed", "wait, within --timeout, for heads with as many witnesses as the trust root asks for");
  withReading(command).action(async (text: string, flags: BundleFlags) => {
    assertAnchorId("an anchor id", text);
    const anchorId = text.toLowerCase();
    const { service, trust, timeoutMs } = readingOf(flags, context);
    const out = flags.out ?? `${anchorId}.bundle.json`;
    const scopes = flags.scope.map(readScope);
    const options = {
      anchorId,
      out,
      scopes,
      isSmall: flags.small === true,
      witnessedMs: flags.witnessed === true ? timeoutMs : null,
      isJson: flags.json === true,
      trust,
    };
    const progress = new Progress(context.io.stderr);
    context.done(await bundleCommand(options, service, context.printer, progress));
  });
}

interface PolicyFlags extends TrustFlags {
  readonly cluster?: string;
  readonly format: string;
  readonly witnessed?: true;
  readonly out?: string;
  readonly json?: true;
}

export function addPolicy(program: Command, context: CommandContext): void {
  const command = program
    .command("policy")
    .description("print the quorum rule of the newest trust root as a policy file for tools of others")
    .option("--format <format>", "tlog (C2SP, transparency-dev) or sigsum", "tlog")
    .option("--witnessed", "ask for the witnesses of the trust root as well")
    .option("--out <file>", "where to write it (default: standard output)")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP);
  withCluster(withTrustRoot(command)).action((flags: PolicyFlags) => {
    const format = POLICY_FORMATS.find((each) => each === flags.format);
    if (format === undefined) {
      throw new CliError(EXIT.usage, "format_invalid", `--format is tlog or sigsum, not: ${flags.format}`);
    }
    const { workingDir } = context.io;
    const out = flags.out ?? null;
    const demand = flags.witnessed === true ? ("witnessed" as const) : ("certified" as const);
    const options = { ...offlineTrustOf(flags, context), format, demand, out, isJson: flags.json === true, workingDir };
    context.done(policyCommand(options, context));
  });
}
