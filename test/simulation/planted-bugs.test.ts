import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import {
  type LifeOptions,
  type LifeResult,
  PLANTED_BUGS,
  type PlantedBug,
  liveOneLife,
} from "@event-anchoring/testkit";

const SEEDS_MAX = 40;

/** These need a rare moment: their lives are struck by the faults that make it. The others get any. */
const FAULTS_OF: Partial<Record<PlantedBug, NonNullable<LifeOptions["faults"]>>> = {
  old_tail_left: ["depose"],
  corrupt_row_as_absent: ["corrupt_row"],
  failed_append_taken_for_done: ["write_fault", "kill"],
  promise_single_slot: ["power_in_promise_write"],
  promises_not_compared_at_start: ["database_set_back"],
  hello_always_accepted: ["both_set_back"],
  incarnation_ignored: ["promise_file_set_back", "kill"],
  read_index_id_reused: ["stale_leader"],
  clock_not_guarded: ["clock"],
  cosignature_sent_once: ["cosignatures_lost"],
  group_decided_twice: ["busy_leader_dies"],
  unreached_although_sent: ["busy_leader_dies", "cut"],
  snapshot_without_lookups: ["isolate"],
};

/** The first life in which a sentence is broken. */
async function firstBroken(bug: PlantedBug): Promise<LifeResult | null> {
  for (let seed = 1; seed <= SEEDS_MAX; seed++) {
    const faults = FAULTS_OF[bug];
    const result = await liveOneLife({ seed, bugs: new Set([bug]), ...(faults === undefined ? {} : { faults }) });
    if (result.broken !== null) return result;
  }
  return null;
}

describe("the simulator finds every planted bug", () => {
  const found: string[] = [];

  test.each(Object.keys(PLANTED_BUGS) as PlantedBug[])(
    "%s",
    async (bug) => {
      const result = await firstBroken(bug);
      found.push(
        `${bug.padEnd(36)} ${String(result?.seed ?? "-").padStart(3)} ${result?.broken?.sentence ?? "not found"}`,
      );
      expect(result?.broken?.sentence).toEqual(expect.stringMatching(/^[a-z][A-Za-z]+$/));
    },
    120_000,
  );

  test("and says how many seeds each took", () => {
    process.stdout.write(`${found.join("\n")}\n`);
    expect(found).toHaveLength(Object.keys(PLANTED_BUGS).length);
    expect(found.length).toBeGreaterThanOrEqual(30);
  });
});

const PACKAGES = join(dirname(fileURLToPath(import.meta.url)), "../../packages");

describe("a node in production", () => {
  test("is made of nothing that knows of planted bugs, and of no test double", () => {
    const packages = [
      "protocol",
      "node-crypto",
      "ledger",
      "raft-ts",
      "control-contract",
      "store",
      "control-plane",
      "api",
    ];
    const offenders = packages.flatMap((name) =>
      readdirSync(join(PACKAGES, name, "src"), { recursive: true, encoding: "utf8" })
        .filter((path) => path.endsWith(".ts"))
        .filter((path) => /planted|testkit|Simulated/.test(readFileSync(join(PACKAGES, name, "src", path), "utf8")))
        .map((path) => `${name}/${path}`),
    );
    expect(offenders).toEqual([]);
  });
});
