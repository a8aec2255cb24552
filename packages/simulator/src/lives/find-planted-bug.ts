import { liveBesideALiar } from "../liar/liar-life.ts";
import type { LieName } from "../lies/all-lies.ts";
import { type LifeOptions, type LifeResult, liveOneLife } from "./life.ts";
import type { PlantedBug } from "../planted/planted-bugs.ts";

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
  compaction_beyond_enough: ["isolate", "copy_comes_late"],
  read_index_before_own_term: ["power", "promise_fault", "isolate", "slow_disk"],
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
  compaction_beyond_enough: "1-3",
  read_index_before_own_term: "1-3",
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

/** A life in which a sentence is broken. */
type BrokenLife = Pick<LifeResult, "seed" | "broken">;

/** The first life in which the bug breaks a sentence; null: none of as many as it may take. */
export async function findPlantedBug(bug: PlantedBug): Promise<BrokenLife | null> {
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

async function firstBrokenBeside(lie: LieName, bug: PlantedBug): Promise<BrokenLife | null> {
  const shape = EXCLUDING.has(bug) ? { nodes: 4, quorum: 3 } : { nodes: 3, quorum: 2 };
  for (let seed = 1; seed <= LIAR_SEEDS_MAX; seed++) {
    const more = GIVES_UP.has(bug) ? ({ givesUp: true, lieMs: 200 } as const) : {};
    const result = await liveBesideALiar({ seed, ...shape, lie, bugs: new Set([bug]), ...more });
    if (result.broken !== null) return result;
  }
  return null;
}

/** The sentence, as a pattern, that the bug must be seen to break. */
export function brokenBy(bug: PlantedBug): RegExp {
  return new RegExp(`^${LIE_OF[bug]?.breaks ?? BREAKS[bug] ?? "[a-z][A-Za-z]+"}$`);
}
