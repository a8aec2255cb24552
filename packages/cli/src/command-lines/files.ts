/** Command lines that anchor and verify files, and look at the nodes. */
import type { Command } from "commander";
import { CliError, EXIT } from "../cli-error.ts";
import { anchorCommand } from "../commands/anchor.ts";
import { statusCommand } from "../commands/status.ts";
import { verifyCommand } from "../commands/verify.ts";
import { HELP, targetOf, timeoutMsOf, withTarget, withTrustRoot } from "./context.ts";
import type { CommandContext, CommonFlags, TargetFlags, TimeoutFlags, TrustFlags } from "./context.ts";

const CHECK_EVENT_ID = /^[\x20-\x7e]{1,128}$/u;

interface AnchorFlags extends TargetFlags, TrustFlags, TimeoutFlags {
  readonly eventId?: string;
  readonly out?: string;
}

interface VerifyFlags extends CommonFlags, TrustFlags {
  readonly proof?: string;
  readonly requireCurrent?: true;
}

export function addAnchor(program: Command, { surroundings, printer, done }: CommandContext): void {
  const command = program
    .command("anchor <file>")
    .description("anchor the SHA-256 of a file and write <file>.tlog-proof")
    .option("--event-id <id>", "client_event_id: the same id and file are anchored once (default: a random one)")
    .option("--out <file>", "where to write the receipt")
    .option("--timeout <seconds>", "how long to try, over all nodes", "30")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP);
  withTrustRoot(withTarget(command)).action(async (file: string, flags: AnchorFlags) => {
    const timeoutMs = timeoutMsOf(flags);
    if (flags.eventId !== undefined && !CHECK_EVENT_ID.test(flags.eventId)) {
      throw new CliError(EXIT.usage, "event_id_invalid", "--event-id must be 1 to 128 printable ASCII characters");
    }
    const options = {
      file,
      eventId: flags.eventId ?? null,
      out: flags.out ?? null,
      trustRoots: flags.trustRoot,
      rootThk: flags.rootThk ?? null,
      timeoutMs,
      isJson: flags.json === true,
      workingDir: surroundings.workingDir,
    };
    done(await anchorCommand(options, targetOf(flags, surroundings), printer));
  });
}

export function addVerify(program: Command, { surroundings, printer, done }: CommandContext): void {
  const command = program
    .command("verify <file>")
    .description("check a file against its receipt, offline")
    .option("--proof <file>", "the receipt (default: <file>.tlog-proof)")
    .option("--require-current", "fail if only an older trust root is satisfied")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP);
  withTrustRoot(command).action(async (file: string, flags: VerifyFlags) => {
    const options = {
      file,
      proof: flags.proof ?? null,
      trustRoots: flags.trustRoot,
      rootThk: flags.rootThk ?? null,
      isCurrentRequired: flags.requireCurrent === true,
      isJson: flags.json === true,
      workingDir: surroundings.workingDir,
    };
    done(await verifyCommand(options, printer));
  });
}

export function addStatus(program: Command, { surroundings, printer, done }: CommandContext): void {
  const command = program
    .command("status")
    .description("show each node's role and readiness")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP);
  withTarget(command).action(async (flags: TargetFlags) => {
    done(await statusCommand({ isJson: flags.json === true }, targetOf(flags, surroundings), printer));
  });
}
