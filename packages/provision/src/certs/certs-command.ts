/** The commands of the folder certs/: each is one function of arguments and a terminal, and answers an exit code. */
import { SERVICE_VERSION } from "@event-anchoring/control-contract";
import { RolloverError } from "../authorities.ts";
import { PrivateFileError } from "../files.ts";
import { authorityCommand } from "./authority-command.ts";
import { ceremonyCommand } from "./ceremony-command.ts";
import { CertsUsageError } from "./certs-arguments.ts";
import type { CertsTerminal } from "./certs-arguments.ts";
import { configureCommand } from "./configure-command.ts";
import { installCommand, requestCommand } from "./foreign-commands.ts";
import { issueCommand } from "./issue-command.ts";
import { renewCommand } from "./renew-command.ts";
import { showCommand } from "./show-command.ts";

const COMMANDS = {
  ceremony: ceremonyCommand,
  configure: configureCommand,
  renew: renewCommand,
  issue: issueCommand,
  authority: authorityCommand,
  request: requestCommand,
  install: installCommand,
  show: showCommand,
} as const;

export type CertsCommandName = keyof typeof COMMANDS;

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

/**
 * Runs one of them.
 * @returns 0 done, 1 refused or failed (standard error says why, nothing was half done), 2 wrong usage
 */
export async function certsCommand(
  name: CertsCommandName,
  args: readonly string[],
  terminal: CertsTerminal,
): Promise<number> {
  if (args.includes("--version")) {
    terminal.write(`certs/${name}.js ${SERVICE_VERSION}\n`);
    return 0;
  }
  try {
    return await COMMANDS[name](args, terminal);
  } catch (error) {
    if (error instanceof CertsUsageError || isArgumentError(error)) {
      terminal.error(`${error.message}\n`);
      return EXIT_USAGE;
    }
    if (error instanceof PrivateFileError || error instanceof RolloverError || error instanceof RangeError) {
      terminal.error(`${error.message}\n`);
      return EXIT_FAILED;
    }
    throw error;
  }
}

/** What the parser of arguments throws. */
function isArgumentError(error: unknown): error is { readonly message: string } {
  if (typeof error !== "object" || error === null || !("code" in error)) return false;
  return typeof error.code === "string" && error.code.startsWith("ERR_PARSE_ARGS");
}
