/** Mistakes as people make them on a machine: the commands that make each, and those that undo it. */
import type { MistakeCode } from "../../../packages/cli/src/doctor/mistakes.ts";

export interface SeededMistake {
  readonly code: MistakeCode;
  readonly title: string;
  /** Files of n2 that the mistake changes, and that are put back. */
  readonly keeps?: string;
  readonly seed: string;
  /** What has to be done beside putting files back. */
  readonly undo?: string;
  /** The machine on which it is made; doctor looks on n2. */
  readonly on?: "n3";
  /** Part of what doctor must say. */
  readonly says: string;
  /** What doctor is run with. */
  readonly options?: string;
  /** By how much the clock of the machine's programs is wrong. */
  readonly clockOffsetMs?: number;
}

/** Before each of the commands. `wrong` holds what was made at the desk. */
export const WORDS = `
CP=/etc/anchoring/control-plane ID=/etc/anchoring/control-plane/identity API=/etc/anchoring/api
PROMISES=/var/lib/anchoring-promise BACKUPS=/var/backups/anchoring
edit() {
  node -e 'const [file, change] = process.argv.slice(1);
const settings = JSON.parse(fs.readFileSync(file, "utf8"));
new Function("s", change)(settings);
fs.writeFileSync(file, JSON.stringify(settings));' "$@"
}
for_owner() { install -o anchoring -g anchoring -m 600 "$@"; }
`;
