import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import {
  type LieName,
  type LifeOptions,
  type LifeResult,
  PLANTED_BUGS,
  type PlantedBug,
  liveBesideALiar,
  liveOneLife,
} from "@event-anchoring/simulator";

const SEEDS_MAX = 40;

/** These need a rare moment: their lives are struck by the faults that make it. The others get any. */
const FAULTS_OF: Partial<Record<PlantedBug, NonNullable<LifeOptions["faults"]>>> = {
  old_tail_left: ["depose"],
  recorder_not_looked_up: ["depose"],
  corrupt_row_as_absent: ["corrupt_row"],
  failed_append_taken_for_done: ["write_fault", "kill"],
  promise_single_slot: ["power_in_promise_write"],
  promises_not_compared_at_start: ["database_set_back"],
  hello_always_accepted: ["both_set_back"],
  progress_not_kept: ["set_back_known_to_one"],
  one_word_for_two: ["false_commit"],
  term_not_bounded: ["giant_term", "kill"],
  incarnation_ignored: ["promise_file_set_back", "kill"],
  read_index_id_reused: ["stale_leader"],
  lease_like_read: ["stale_leader"],
  api_ignores_applied_index: ["kill"],
  clock_not_guarded: ["clock"],
  slow_clock_not_guarded: ["clock"],
  stored_trees_not_asked: ["heads_set_back"],
  rotten_slot_not_asked_about: ["rotten_slot"],
  witness_lines_not_verified: ["reset"],
  uncertified_head_sent: ["cosignatures_lost"],
  shown_before_certified: ["cosignatures_lost", "reset"],
  decided_not_compared: ["altered_proposals"],
  cosignature_sent_once: ["cosignatures_lost"],
  group_decided_twice: ["busy_leader_dies"],
  unreached_although_sent: ["busy_leader_dies", "cut"],
  snapshot_without_lookups: ["isolate"],
  snapshot_below_promise: ["isolate"],
  suffix_truncated_by_stale_append: ["flaky"],
  signed_entries_not_known_committed: ["signed_entry_offered_anew"],
  commit_hint_missing_after_compaction: ["kill"],
  compaction_beyond_tables: ["kill"],
  not_after_ignored: ["copy_comes_late"],
  stale_membership_change_applied: ["membership_change_comes_late"],
  revoked_key_still_good: ["reset"],
  erasure_stays_in_the_log: ["kill"],
  passed_points_unsigned: ["cut"],
  stall_holds_back_operators: ["cut"],
};

/** These need a cluster that grows. */
const GROWTH_OF: Partial<Record<PlantedBug, NonNullable<LifeOptions["grows"]>>> = {
  passed_points_unsigned: "1-3",
  stall_holds_back_operators: "3-5-3",
};

/** These need witnesses. */
const WATCHED: ReadonlySet<PlantedBug> = new Set(["witness_lines_not_verified", "uncertified_head_sent"]);

/** These must be seen as this sentence, and not by what follows from it. */
const BREAKS: Partial<Record<PlantedBug, string>> = { uncertified_head_sent: "witnessesAreSentWhatIsCertified" };

/** These show beside a liar alone, with this lie; the sentence that is broken says what it costs. */
const LIE_OF: Partial<Record<PlantedBug, { readonly lie: LieName; readonly breaks: string }>> = {
  covered_roots_not_compared: { lie: "late_second_tree", breaks: "aContradictionIsInEvidence" },
  followers_tell_the_leader_alone: { lie: "other_bytes", breaks: "aContradictionIsInEvidence" },
  halted_node_keeps_its_lines: { lie: "other_bytes", breaks: "aContradictionIsInEvidence" },
  leader_alone_is_asked: { lie: "kept_cosignatures", breaks: "othersCosignaturesSuffice" },
  lines_not_exchanged: { lie: "two_trees", breaks: "aContradictionIsInEvidence" },
  lines_not_verified: { lie: "forged_lines", breaks: "noHonestNodeIsFenced" },
  lost_origin_stays_stopped: { lie: "other_bytes", breaks: "aLostOriginIsWhatTheLogRecords" },
  silent_leader_followed: { lie: "silent_leader", breaks: "aSilentLeaderIsAbandoned" },
  refusals_taken_for_answers: { lie: "refusing_leader", breaks: "aSilentLeaderIsAbandoned" },
  any_decision_answers: { lie: "pretending_leader", breaks: "aSilentLeaderIsAbandoned" },
  unreadable_entries_acknowledged: { lie: "unreadable_entries", breaks: "noHonestNodeHalts" },
  stamps_not_bounded: { lie: "future_stamps", breaks: "recordedTimeIsNotAhead" },
  state_head_not_checked: { lie: "forged_states", breaks: "onlySignedActsCount" },
  named_key_counts: { lie: "two_trees", breaks: "aNamedKeyCountsNoMore" },
  fork_stops_nothing: { lie: "other_bytes", breaks: "aForkedOriginStops" },
  certificates_not_waited_for: { lie: "own_writes_alone", breaks: "nothingAcknowledgedContradicts" },
};
/** Where one liar is excluded. */
const EXCLUDING: ReadonlySet<PlantedBug> = new Set(["certificates_not_waited_for"]);
const LIAR_SEEDS_MAX = 10;

/** These show when a forked origin is given up. */
const GIVES_UP: ReadonlySet<PlantedBug> = new Set(["lost_origin_stays_stopped"]);

/** The first life in which a sentence is broken. */
async function firstBroken(bug: PlantedBug): Promise<Pick<LifeResult, "seed" | "broken"> | null> {
  const lying = LIE_OF[bug];
  if (lying !== undefined) return firstBrokenBeside(lying.lie, bug);
  for (let seed = 1; seed <= SEEDS_MAX; seed++) {
    const [faults, grows] = [FAULTS_OF[bug], GROWTH_OF[bug]];
    const result = await liveOneLife({
      seed,
      bugs: new Set([bug]),
      ...(faults === undefined ? {} : { faults }),
      ...(grows === undefined ? {} : { grows }),
      ...(WATCHED.has(bug) ? { witnesses: 3 } : {}),
    });
    if (result.broken !== null) return result;
  }
  return null;
}

async function firstBrokenBeside(lie: LieName, bug: PlantedBug): Promise<Pick<LifeResult, "seed" | "broken"> | null> {
  const shape = EXCLUDING.has(bug) ? { nodes: 4, quorum: 3 } : { nodes: 3, quorum: 2 };
  for (let seed = 1; seed <= LIAR_SEEDS_MAX; seed++) {
    const more = GIVES_UP.has(bug) ? ({ givesUp: true, lieMs: 200 } as const) : {};
    const result = await liveBesideALiar({ seed, ...shape, lie, bugs: new Set([bug]), ...more });
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
      const breaks = LIE_OF[bug]?.breaks ?? BREAKS[bug] ?? "[a-z][A-Za-z]+";
      expect(result?.broken?.sentence ?? "").toMatch(new RegExp(`^${breaks}$`));
    },
    1_200_000,
  );

  test("and says how many seeds each took", () => {
    process.stdout.write(`${found.join("\n")}\n`);
    expect(found).toHaveLength(Object.keys(PLANTED_BUGS).length);
    expect(found.length).toBeGreaterThanOrEqual(50);
  });
});

const PACKAGES = join(dirname(fileURLToPath(import.meta.url)), "../../packages");
/** What a node in production is started from. */
const PROGRAMS = ["control-plane", "api"];

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** Folders of the packages that these need, themselves included. */
function neededBy(folders: readonly string[]): readonly string[] {
  const known = new Set(folders);
  for (const folder of known) {
    const manifest = JSON.parse(readFileSync(join(PACKAGES, folder, "package.json"), "utf8")) as Manifest;
    for (const name of Object.keys(manifest.dependencies ?? {})) {
      const needed = name.replace("@event-anchoring/", "");
      if (existsSync(join(PACKAGES, needed, "package.json"))) known.add(needed);
    }
  }
  return [...known];
}

describe("a node in production", () => {
  test("needs no package that holds planted bugs", () => {
    const needed = neededBy(PROGRAMS);
    expect(needed).not.toContain("simulator");
    expect(needed).not.toContain("testkit");
    expect(neededBy(["simulator"])).toEqual(expect.arrayContaining(["control-plane", "ledger", "raft-ts"]));
  });

  test("is made of nothing that knows of planted bugs, and of no test double", () => {
    const offenders = neededBy(PROGRAMS).flatMap((name) =>
      readdirSync(join(PACKAGES, name, "src"), { recursive: true, encoding: "utf8" })
        .filter((path) => path.endsWith(".ts"))
        .filter((path) =>
          /planted|testkit|simulator"|Simulated/.test(readFileSync(join(PACKAGES, name, "src", path), "utf8")),
        )
        .map((path) => `${name}/${path}`),
    );
    expect(offenders).toEqual([]);
  });
});
