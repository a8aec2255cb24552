import type { Command } from "commander";
import { CliError, EXIT } from "../terminal/cli-error.ts";

/** `anchorctl help root fetch` is `anchorctl root fetch --help`. Commander's own takes one word and drops the rest. */
export function addHelp(program: Command): void {
  program
    .helpCommand(false)
    .command("help [command...]")
    .description("display help for a command")
    .action((names: readonly string[]) => {
      commandOf(program, names).outputHelp();
    });
}

/** @throws CliError `command_unknown` */
function commandOf(program: Command, names: readonly string[]): Command {
  return names.reduce((within, name, at) => {
    const found = within.commands.find((command) => command.name() === name);
    if (found !== undefined) return found;
    throw new CliError(EXIT.usage, "command_unknown", `there is no command ${names.slice(0, at + 1).join(" ")}`);
  }, program);
}
