/** What `anchorctl doctor` says on a machine, to a reader and as JSON. */
import type { MistakeCode } from "../../../packages/cli/src/doctor/mistakes.ts";
import type { Machine } from "./machine.ts";

interface Finding {
  readonly code: MistakeCode;
  readonly level: string;
  readonly detail: string;
  readonly page: string;
}

export interface Look {
  /** Lines with the mark of a mistake. */
  readonly lines: readonly string[];
  readonly last: string;
  readonly findings: readonly Finding[];
  /** The one for a reader comes first, then that of `--json`. */
  readonly exitCodes: readonly number[];
}

/** Has it look twice at once. */
export function look(machine: Machine, options = "", environment = ""): Look {
  const doctor = `env ${environment} anchorctl doctor ${options}`;
  const said = machine.typed(`
${doctor} > /srv/said & reader=$!
${doctor} --json > /srv/said.json && json=0 || json=$?
wait $reader && text=0 || text=$?
echo "[$text,$json]"
cat /srv/said.json
echo ----
cat /srv/said`);
  const [head = "", text = ""] = said.split("\n----\n");
  const [exitCodes = "", ...json] = head.split("\n");
  const lines = text.trimEnd().split("\n");
  return {
    lines: lines.filter((line) => /^ *[✗!] /u.test(line)),
    last: lines.at(-1) ?? "",
    findings: findingsIn(json.join("\n")),
    exitCodes: JSON.parse(exitCodes) as number[],
  };
}

function findingsIn(json: string): readonly Finding[] {
  const { checks } = JSON.parse(json) as { checks: { findings: Finding[] }[] };
  return checks.flatMap(({ findings }) => findings);
}

/** Codes that it names at once, in the order in which it prints them. */
export function codesSeen(machine: Machine): readonly MistakeCode[] {
  return findingsIn(machine.type("anchorctl doctor --json").stdout).map(({ code }) => code);
}
