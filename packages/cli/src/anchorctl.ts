import { Command, CommanderError } from "commander";
import { SERVICE_VERSION } from "@event-anchoring/control-contract";
import { PrivateFileError } from "@event-anchoring/provision";
import { CliError, EXIT } from "./terminal/cli-error.ts";
import type { ExitCode } from "./terminal/cli-error.ts";
import { addBackup, addRestore } from "./command-lines/backup.ts";
import { addDemo, addTrace } from "./command-lines/chains.ts";
import { addCheck } from "./command-lines/check.ts";
import { HELP } from "./command-lines/context.ts";
import type { CommandContext } from "./command-lines/context.ts";
import type { ProgramIo } from "./terminal/program-io.ts";
import { addAnchor, addStatus, addVerify } from "./command-lines/files.ts";
import { addDeploy } from "./command-lines/deploy.ts";
import { addDoctor } from "./command-lines/doctor.ts";
import { addEvidence } from "./command-lines/evidence.ts";
import { addHelp } from "./command-lines/help.ts";
import { addHistory } from "./command-lines/history.ts";
import { addExport } from "./command-lines/export.ts";
import { addFsck } from "./command-lines/fsck.ts";
import { addCompletion } from "./command-lines/completion.ts";
import { addKeys } from "./command-lines/keys.ts";
import { addMonitor } from "./command-lines/monitor.ts";
import { addOperator } from "./command-lines/operator.ts";
import { addBundle, addLatest, addPolicy, addReceipt } from "./command-lines/receipts.ts";
import { addClaim, addGrant, addKeygen, addRevoke } from "./command-lines/records.ts";
import { addMember } from "./command-lines/member.ts";
import { addRecord, addTail } from "./command-lines/recording.ts";
import { addRoot } from "./command-lines/root.ts";
import { addScope } from "./command-lines/scope.ts";
import { addPrepare, addSign, addSubmit } from "./command-lines/split-signing.ts";
import { nextCommandOf } from "./terminal/next-command.ts";
import { Printer } from "./terminal/printer.ts";
import { asCliError } from "./files/read-input.ts";
import { readSettings } from "./files/settings.ts";
import type { Settings } from "./files/settings.ts";

/** Runs one command line. Nothing is thrown: what went wrong is printed and becomes the exit code. */
export async function anchorctl(args: readonly string[], io: ProgramIo): Promise<ExitCode> {
  const printer = new Printer(io.stdout, io.environment);
  let exitCode: ExitCode = EXIT.ok;
  let settings: Settings | null = null;
  const program = buildProgram(args, {
    io,
    printer,
    aside: new Printer(io.stderr, io.environment),
    settings: () => (settings ??= readSettings(io.environment)),
    done: (code) => {
      exitCode = code;
    },
  });
  try {
    await program.parseAsync([...args], { from: "user" });
    return exitCode;
  } catch (error) {
    const isJson = args.includes("--json");
    if (error instanceof CommanderError) {
      // Help, the version, or a check.
      if (error.exitCode === 0) return exitCode;
      // What is wrong stands on stderr already.
      if (isJson) printer.json({ failure: "usage", detail: usageFault(error.message) });
      return EXIT.usage;
    }
    return report(error, isJson, printer, new Printer(io.stderr, io.environment));
  }
}

/** What commander says of a command line, on one line. */
function usageFault(text: string): string {
  return text
    .trim()
    .replace(/^error: /u, "")
    .replaceAll(/\s*\n\s*/gu, " ");
}

/** A file that the system refuses, wherever it was asked for: the mistake is not this program's. */
function asExpected(error: unknown): unknown {
  if (error instanceof PrivateFileError) return new CliError(EXIT.usage, "cannot_access", error.message, error);
  if (!(typeof error === "object" && error !== null && "syscall" in error && "path" in error)) return error;
  const { path, syscall } = error;
  // A socket that nobody listens on is no file that the person has named.
  return typeof path === "string" && syscall !== "connect" ? asCliError(path, "access", error) : error;
}

function report(thrown: unknown, isJson: boolean, stdout: Printer, stderr: Printer): ExitCode {
  const error = asExpected(thrown);
  const isExpected = error instanceof CliError;
  const exitCode = isExpected ? error.exitCode : EXIT.internal;
  const code = isExpected ? error.code : "internal_error";
  const message = error instanceof Error ? error.message : String(error);
  if (isJson) stdout.json({ ...(exitCode === EXIT.invalid ? { valid: false } : {}), failure: code, detail: message });
  else stderr.verdict("fail", `${exitCode === EXIT.invalid ? "NOT VALID: " : "anchorctl: "}${message}`);
  return exitCode;
}

function buildProgram(args: readonly string[], context: CommandContext): Command {
  const { io } = context;
  const program = new Command("anchorctl")
    .description("Anchors files and acts with an event anchoring service, traces them, and checks receipts offline.")
    .exitOverride()
    // A command may have an option of the same name: `monitor --check`.
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
    })
    .version(`anchorctl ${SERVICE_VERSION}`, "--version", "print the version")
    .addHelpText("after", HELP);
  addCheck(program, args, context);
  addAnchor(program, context);
  addVerify(program, context);
  addRecord(program, context);
  addTail(program, context);
  addReceipt(program, context);
  addBundle(program, context);
  addTrace(program, context);
  addHistory(program, context);
  addLatest(program, context);
  addMonitor(program, context);
  addExport(program, context);
  addPolicy(program, context);
  addClaim(program, context);
  addGrant(program, context);
  addRevoke(program, context);
  addKeygen(program, context);
  addPrepare(program, context);
  addSign(program, context);
  addSubmit(program, context);
  addKeys(program, context);
  addOperator(program, context);
  addScope(program, context);
  addRoot(program, context);
  addMember(program, context);
  addBackup(program, context);
  addRestore(program, context);
  addFsck(program, context);
  addEvidence(program, context);
  addStatus(program, context);
  addDeploy(program, context);
  addDoctor(program, context);
  addDemo(program, context);
  addCompletion(program, context);
  addHelp(program);
  program.hook("preAction", (_program, command) => context.printer.follow(nextCommandOf(program, command)));
  sayOnOneLine(program, "anchorctl");
  return program;
}

/** A wrong command line gets one line of explanation; the help is a page, and is printed only on request. */
function sayOnOneLine(command: Command, name: string): void {
  command.configureOutput({
    outputError: (text, write) => write(`anchorctl: ${usageFault(text)}; see ${name} --help\n`),
  });
  for (const each of command.commands) sayOnOneLine(each, `${name} ${each.name()}`);
}
