/** Command lines that a person types next, as they are printed: pasted as they are, they do what they say. */
import type { Command } from "commander";
import { shellWord } from "@event-anchoring/provision";

/** Names, arguments and options of a command below `anchorctl`. `<…>` is left for the person to fill in. */
export type NextCommand = (...words: readonly string[]) => string;

/** Options that say which cluster, by which trust root and as whom: the next command takes those of the one before. */
const CARRIED: ReadonlySet<string> = new Set([
  "--api-url",
  "--cluster",
  "--trust-root",
  "--root-thk",
  "--operator-cert",
  "--operator-key",
  "--ca",
  "--node",
]);

const PLACEHOLDER = /^<[^<>]+>$/u;

/** The command that words begin with. */
function commandOf(program: Command, words: readonly string[]): Command {
  const [name, ...rest] = words;
  const found = program.commands.find((command) => command.name() === name);
  return found === undefined ? program : commandOf(found, rest);
}

/** What was given for an option on the command line. Environment and config file are the same for the next command. */
function givenTo(command: Command, name: string): readonly string[] {
  if (command.getOptionValueSource(name) !== "cli") return [];
  const value: unknown = command.getOptionValue(name);
  return (Array.isArray(value) ? value : [value]).filter((item): item is string => typeof item === "string");
}

/** @param current the command that runs */
export function nextCommandOf(program: Command, current: Command): NextCommand {
  return (...words) => {
    const carried = commandOf(program, words).options.flatMap((option) => {
      const { long } = option;
      if (typeof long !== "string" || !CARRIED.has(long) || words.includes(long)) return [];
      return givenTo(current, option.attributeName()).flatMap((value) => [long, value]);
    });
    const shown = [...words, ...carried].map((word) => (PLACEHOLDER.test(word) ? word : shellWord(word)));
    return ["npx --no anchorctl", ...shown].join(" ");
  };
}
