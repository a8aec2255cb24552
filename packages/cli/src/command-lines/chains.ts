/** Command lines about responsibility chains. */
import type { Command } from "commander";
import { demoCommand } from "../commands/demo.ts";
import type { ProofOptions } from "../commands/trace-proof.ts";
import { traceCommand } from "../commands/trace.ts";
import { NAMES, namesOf } from "../files/names-file.ts";
import type { NamesFlags } from "../files/names-file.ts";
import { assertWritable } from "../files/read-input.ts";
import type { Target } from "../files/target.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { HELP, repeatable, targetOf, timeoutMsOf, trustOf, withTarget, withTimeout, withTrustRoot } from "./context.ts";
import type { CommandContext, TargetFlags, TimeoutFlags, TrustFlags } from "./context.ts";

interface TraceFlags extends TargetFlags, TrustFlags, TimeoutFlags, NamesFlags {
  readonly asOf?: string;
  readonly proof?: string;
  readonly trustedRoot: readonly string[];
}

type DemoFlags = TargetFlags & TrustFlags & TimeoutFlags;

export function addTrace(program: Command, context: CommandContext): void {
  const { printer, done } = context;
  const command = program
    .command("trace <anchor_id>")
    .description("show who acted, who delegated, and whether it was authorised")
    .option("--as-of <position>", "a sequence or an RFC 3339 time; what counts as now (default: the newest)")
    .addOption(repeatable("--trusted-root <anchor_id>", "claim that a root grant may be by; may be repeated"))
    .option(...NAMES)
    .option("--proof <file>", "have the verdicts proved: verify the proof, and write it here (-: standard output)")
    .option("--json", "print the service's answer as it is")
    .addHelpText("after", HELP);
  withTimeout(withTrustRoot(withTarget(command))).action(async (anchorId: string, flags: TraceFlags) => {
    const target = targetOf(flags, context);
    const options = {
      anchorId,
      asOf: flags.asOf ?? null,
      trustedRoots: flags.trustedRoot,
      timeoutMs: timeoutMsOf(flags, context),
      isJson: flags.json === true,
      names: namesOf(flags).hashes,
      proof: proofOf(flags, target, context),
    };
    done(await traceCommand(options, target, printer));
  });
}

/** Null: none is asked for. @throws CliError `usage` */
function proofOf(flags: TraceFlags, { clusterFolder }: Target, context: CommandContext): ProofOptions | null {
  const { proof, json } = flags;
  if (proof === undefined) return null;
  const out = proof === "-" ? null : proof;
  if (out === null && json === true)
    throw new CliError(EXIT.usage, "two_outputs", "--proof - and --json both write to standard output: give a file");
  if (out !== null) assertWritable(out);
  return { out, trust: { ...trustOf(flags, context), clusterFolder, workingDir: context.io.workingDir } };
}

export function addDemo(program: Command, context: CommandContext): void {
  const { io, printer, done } = context;
  const command = program
    .command("demo")
    .description("play a responsibility chain: register, delegate, act, trace, revoke, act again")
    .option("--json", "print one JSON object: ids and verdicts")
    .addHelpText("after", HELP);
  withTimeout(withTrustRoot(withTarget(command))).action(async (flags: DemoFlags) => {
    const options = {
      ...trustOf(flags, context),
      timeoutMs: timeoutMsOf(flags, context),
      isJson: flags.json === true,
      workingDir: io.workingDir,
    };
    done(await demoCommand(options, targetOf(flags, context), printer));
  });
}
