/** Command lines about responsibility chains. */
import type { Command } from "commander";
import { demoCommand } from "../commands/demo.ts";
import { traceCommand } from "../commands/trace.ts";
import { HELP, repeatable, targetOf, timeoutMsOf, trustOf, withTarget, withTimeout, withTrustRoot } from "./context.ts";
import type { CommandContext, TargetFlags, TimeoutFlags, TrustFlags } from "./context.ts";

interface TraceFlags extends TargetFlags, TimeoutFlags {
  readonly asOf?: string;
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
    .option("--json", "print the service's answer as it is")
    .addHelpText("after", HELP);
  withTimeout(withTarget(command)).action(async (anchorId: string, flags: TraceFlags) => {
    const options = {
      anchorId,
      asOf: flags.asOf ?? null,
      trustedRoots: flags.trustedRoot,
      timeoutMs: timeoutMsOf(flags, context),
      isJson: flags.json === true,
    };
    done(await traceCommand(options, targetOf(flags, context), printer));
  });
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
