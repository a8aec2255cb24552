/** Shell completion, made from the command lines themselves: it cannot name an option that does not exist. */
import type { Command } from "commander";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { CommandContext } from "./context.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

const USE = `
  bash  source <(anchorctl completion bash)
  zsh   source <(anchorctl completion zsh)
  fish  anchorctl completion fish | source
`;

interface Completed {
  /** Words that lead to it, without the program's name: `prepare claim`; empty for the program. */
  readonly path: string;
  readonly description: string;
  readonly words: readonly string[];
  readonly options: readonly { readonly long: string; readonly description: string; readonly takesValue: boolean }[];
}

export function addCompletion(program: Command, { io, done }: CommandContext): void {
  program
    .command("completion <shell>")
    .description(`print completions for ${SHELLS.join(", ")}`)
    .addHelpText("after", USE)
    .action((shell: string) => {
      io.stdout.write(scriptOf(shell, program));
      done(EXIT.ok);
    });
}

function scriptOf(shell: string, program: Command): string {
  const completed = completedOf(program, "");
  if (shell === "bash") return bashScript(completed);
  if (shell === "zsh") return `autoload -U +X bashcompinit && bashcompinit\n${bashScript(completed)}`;
  if (shell === "fish") return fishScript(completed);
  throw new CliError(EXIT.usage, "shell_unknown", `completion is for ${SHELLS.join(", ")}, not for ${shell}`);
}

function completedOf(command: Command, path: string): readonly Completed[] {
  const own: Completed = {
    path,
    description: command.description(),
    words: command.commands.map((each) => each.name()),
    options: command.options.flatMap(({ long, description, required, optional }) =>
      long === undefined || long === null ? [] : [{ long, description, takesValue: required || optional }],
    ),
  };
  const below = command.commands.flatMap((each) => completedOf(each, `${path} ${each.name()}`.trim()));
  return [own, ...below];
}

function bashScript(completed: readonly Completed[]): string {
  const cases = completed.map(({ path, words, options }) => {
    const all = [...words, ...options.map(({ long }) => long), "--help"].join(" ");
    return `    "${path}") words="${all}" ;;`;
  });
  return `_anchorctl() {
  local current path="" word words=""
  current="\${COMP_WORDS[COMP_CWORD]}"
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
${completed
  .filter(({ path }) => path !== "")
  .map(({ path }) => `      "${path.includes(" ") ? path : ` ${path}`}") path="${path}" ;;`)
  .join("\n")}
    esac
  done
  case "$path" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -o bashdefault -F _anchorctl anchorctl
`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

function fishScript(completed: readonly Completed[]): string {
  const lines = completed.flatMap(({ path, words, options }) => {
    const parents = path === "" ? [] : path.split(" ");
    const seen = parents.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ");
    const children = words.map((name) => {
      const description = completed.find((each) => each.path === `${path} ${name}`.trim())?.description ?? "";
      const where =
        path === "" ? "__fish_use_subcommand" : `${seen}; and not __fish_seen_subcommand_from ${words.join(" ")}`;
      return `complete -c anchorctl -n ${quoted(where)} -f -a ${name} -d ${quoted(description)}`;
    });
    const flags = options.map(({ long, description, takesValue }) => {
      const value = takesValue ? " -r" : "";
      const where = seen === "" ? "__fish_use_subcommand" : seen;
      return `complete -c anchorctl -n ${quoted(where)} -l ${long.slice(2)}${value} -d ${quoted(description)}`;
    });
    return [...children, ...flags];
  });
  return `${lines.join("\n")}\n`;
}
