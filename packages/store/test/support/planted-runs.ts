/** Damage to the look-up runs of a sound node, and the run that fsck must name. */
import { SMALL_RUNS } from "./look-up-runs.ts";
import type { Named, Planted } from "./planted.ts";
import type { SoundNode } from "./sound-node.ts";

const runFrom = (name: string, first: number, column: string | null): Named => {
  return () => ["state.lookup_runs", `${name}, run from sequence ${first}`, column];
};

/** The run that has the signed event, which refers to a claim and a grant. */
const shortRun = (s: SoundNode): number => s.signed.sequence - (s.signed.sequence % SMALL_RUNS.short);

/** Change of the items of a run of event hashes. */
function itemsChanged(first: number, items: string): string {
  return `UPDATE state.lookup_runs SET items = ${items} WHERE index = 1 AND first = ${first}`;
}

export const PLANTED_RUNS: readonly Planted[] = [
  ["an item gone", () => itemsChanged(128, "items[1:40] || items[42:]"), runFrom("event_hash", 128, "items")],
  [
    "an item too many",
    (s) => itemsChanged(shortRun(s), "items[1:1] || items[1] + 1 || items[2:]"),
    (s) => runFrom("event_hash", shortRun(s), "items")(s),
  ],
  [
    "an item of another leaf",
    () => itemsChanged(128, "items[1:40] || (items[41] # 1) || items[42:]"),
    runFrom("event_hash", 128, "items"),
  ],
  [
    "an item of another hash",
    () => itemsChanged(256, "items[1:7] || items[8] + 65536 || items[9:]"),
    runFrom("event_hash", 256, "items"),
  ],
  [
    "two items swapped",
    () => itemsChanged(128, "items[1:40] || items[42] || items[41] || items[43:]"),
    runFrom("event_hash", 128, "items"),
  ],
  ["no items", () => itemsChanged(0, "'{}'"), runFrom("event_hash", 0, "items")],
  [
    "the last item",
    () => "UPDATE state.lookup_runs SET last_item = last_item + 1 WHERE index = 1 AND first = 128",
    runFrom("event_hash", 128, "last_item"),
  ],
  [
    "the end of a run",
    () => "UPDATE state.lookup_runs SET past = past + 16 WHERE index = 1 AND first = 256",
    runFrom("event_hash", 256, "items"),
  ],
  [
    "the end of the last run",
    (s) => `UPDATE state.lookup_runs SET past = ${s.nextSequence + 1} WHERE index = 1 AND past = (
        SELECT max(past) FROM state.lookup_runs)`,
    (s) => runFrom("event_hash", s.nextSequence - (s.nextSequence % SMALL_RUNS.short) - SMALL_RUNS.short, "past")(s),
  ],
  [
    "a run gone",
    () => "DELETE FROM state.lookup_runs WHERE index = 1 AND first = 128",
    runFrom("event_hash", 256, null),
  ],
  [
    "a reference to a claim gone",
    (s) => `UPDATE state.lookup_runs SET items = '{}', last_item = 0 WHERE index = 2 AND first = ${shortRun(s)}`,
    (s) => runFrom("iris_ref", shortRun(s), "items")(s),
  ],
  [
    "a reference to a grant gone",
    (s) => `UPDATE state.lookup_runs SET items = '{}', last_item = 0 WHERE index = 3 AND first = ${shortRun(s)}`,
    (s) => runFrom("grant_ref", shortRun(s), "items")(s),
  ],
  [
    "a reference to a grant, invented",
    () => "UPDATE state.lookup_runs SET items = '{7}', last_item = 7 WHERE index = 3 AND first = 0",
    runFrom("grant_ref", 0, "items"),
  ],
];
