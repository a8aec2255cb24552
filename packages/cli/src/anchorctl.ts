import { Command, CommanderError } from "commander";
import { CliError, EXIT } from "./cli-error.ts";
import type { ExitCode } from "./cli-error.ts";
import { anchorCommand } from "./commands/anchor.ts";
import { statusCommand } from "./commands/status.ts";
import { verifyCommand } from "./commands/verify.ts";
import { Printer } from "./printer.ts";
import type { Output } from "./printer.ts";
import { API_KEY_VARIABLE, findTarget } from "./target.ts";
import type { Target } from "./target.ts";

/** What the program needs of the world. */
export interface Surroundings {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly workingDir: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const HELP = `
Exit codes:
   0  done; the receipt is valid (warnings included)
   1  not valid: file, receipt and trust root do not fit together, or one is damaged
   2  wrong usage, or a file cannot be read or written
   3  the service refused the request (the code says why)
   4  the service is unavailable, or the outcome is unknown: ask again with the same --event-id
  70  a fault of this program

Environment:
  ${API_KEY_VARIABLE}  API key; wins over that of the cluster folder
  NO_COLOR           no colours on a terminal either
`;

const CHECK_EVENT_ID = /^[\x20-\x7e]{1,128}$/u;

interface CommonFlags {
  readonly json?: true;
}

interface TargetFlags extends CommonFlags {
  readonly apiUrl: readonly string[];
  readonly cluster?: string;
}

interface TrustFlags {
  readonly trustRoot: readonly string[];
  readonly rootThk?: string;
}

interface AnchorFlags extends TargetFlags, TrustFlags {
  readonly eventId?: string;
  readonly out?: string;
  readonly timeout: string;
}

interface VerifyFlags extends CommonFlags, TrustFlags {
  readonly proof?: string;
  readonly requireCurrent?: true;
}

/** Runs one command line. Nothing is thrown: what went wrong is printed and becomes the exit code. */
export async function anchorctl(args: readonly string[], surroundings: Surroundings): Promise<ExitCode> {
  const printer = new Printer(surroundings.stdout, surroundings.environment);
  let exitCode: ExitCode = EXIT.ok;
  const program = buildProgram(surroundings, printer, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync([...args], { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return report(error, args.includes("--json"), printer, new Printer(surroundings.stderr, surroundings.environment));
  }
}

function report(error: unknown, isJson: boolean, stdout: Printer, stderr: Printer): ExitCode {
  const isExpected = error instanceof CliError;
  const exitCode = isExpected ? error.exitCode : EXIT.internal;
  const code = isExpected ? error.code : "internal_error";
  const message = error instanceof Error ? error.message : String(error);
  if (isJson) stdout.json({ ...(exitCode === EXIT.invalid ? { valid: false } : {}), failure: code, detail: message });
  else stderr.verdict("fail", `${exitCode === EXIT.invalid ? "NOT VALID: " : "anchorctl: "}${message}`);
  return exitCode;
}

function buildProgram(surroundings: Surroundings, printer: Printer, done: (code: ExitCode) => void): Command {
  const program = new Command("anchorctl")
    .description("Anchors files with an event anchoring service and checks receipts offline.")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => surroundings.stdout.write(text),
      writeErr: (text) => surroundings.stderr.write(text),
    })
    .showHelpAfterError()
    .addHelpText("after", HELP);
  addAnchor(program, surroundings, printer, done);
  addVerify(program, surroundings, printer, done);
  addStatus(program, surroundings, printer, done);
  return program;
}

const collect = (value: string, earlier: readonly string[]): readonly string[] => [...earlier, value];

function withTarget(command: Command): Command {
  return command
    .option("--api-url <address>", "base address of a node; may be repeated", collect, [])
    .option("--cluster <folder>", "folder with cluster.json (default: the nearest .anchoring)");
}

function withTrustRoot(command: Command): Command {
  return command
    .option("--trust-root <file>", "signed trust root; repeat for later versions, oldest first", collect, [])
    .option("--root-thk <hex>", "pinned hash of the first trust root (default: root-thk.txt beside it, if there)");
}

function targetOf(flags: TargetFlags, { workingDir, environment }: Surroundings): Target {
  return findTarget({ apiUrls: flags.apiUrl, cluster: flags.cluster ?? null, workingDir, environment });
}

function addAnchor(
  program: Command,
  surroundings: Surroundings,
  printer: Printer,
  done: (code: ExitCode) => void,
): void {
  const command = program
    .command("anchor <file>")
    .description("anchor the SHA-256 of a file and write <file>.tlog-proof")
    .option("--event-id <id>", "client_event_id: the same id and file are anchored once (default: a random one)")
    .option("--out <file>", "where to write the receipt")
    .option("--timeout <seconds>", "how long to try, over all nodes", "30")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP);
  withTrustRoot(withTarget(command)).action(async (file: string, flags: AnchorFlags) => {
    const timeoutS = Number(flags.timeout);
    if (!(timeoutS > 0 && timeoutS <= 3600)) {
      throw new CliError(EXIT.usage, "timeout_invalid", "--timeout must be a number of seconds from 1 to 3600");
    }
    if (flags.eventId !== undefined && !CHECK_EVENT_ID.test(flags.eventId)) {
      throw new CliError(EXIT.usage, "event_id_invalid", "--event-id must be 1 to 128 printable ASCII characters");
    }
    const options = {
      file,
      eventId: flags.eventId ?? null,
      out: flags.out ?? null,
      trustRoots: flags.trustRoot,
      rootThk: flags.rootThk ?? null,
      timeoutMs: timeoutS * 1000,
      isJson: flags.json === true,
      workingDir: surroundings.workingDir,
    };
    done(await anchorCommand(options, targetOf(flags, surroundings), printer));
  });
}

function addVerify(
  program: Command,
  surroundings: Surroundings,
  printer: Printer,
  done: (code: ExitCode) => void,
): void {
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

function addStatus(
  program: Command,
  surroundings: Surroundings,
  printer: Printer,
  done: (code: ExitCode) => void,
): void {
  const command = program
    .command("status")
    .description("show each node's role and readiness")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP);
  withTarget(command).action(async (flags: TargetFlags) => {
    done(await statusCommand({ isJson: flags.json === true }, targetOf(flags, surroundings), printer));
  });
}
