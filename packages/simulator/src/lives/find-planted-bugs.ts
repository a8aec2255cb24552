import { liveBesideALiar } from "../liar/liar-life.ts";
import type { LieName } from "../lies/all-lies.ts";
import type { Broken } from "../machine/invariants.ts";
import { type Bugs, NO_BUGS, PLANTED_BUGS, type PlantedBug } from "../planted/planted-bugs.ts";
import { type Lives, liveMany } from "./life-pool.ts";
import { type LifeOptions, type LifeResult, liveOneLife } from "./life.ts";
import { SENTENCES_OF } from "./planted-bug-sentences.ts";

const BUGS = Object.keys(PLANTED_BUGS) as PlantedBug[];
/** Lives of one pass, at most. */
const SEEDS_MAX = 40;
const TOLD_MAX = 200;

/** These need a rare moment: their lives are struck by the faults that make it. The others get any. */
const FAULTS_OF: Partial<Record<PlantedBug, NonNullable<LifeOptions["faults"]>>> = {
  old_tail_left: ["depose"],
  recorder_not_looked_up: ["depose"],
  corrupt_row_as_absent: ["newest_row_rots"],
  failed_append_taken_for_done: ["write_fault", "kill"],
  promise_single_slot: ["power_in_promise_write"],
  promises_not_compared_at_start: ["database_set_back"],
  hello_always_accepted: ["both_set_back"],
  progress_not_kept: ["set_back_known_to_one"],
  words_of_members_dropped: ["set_back_known_to_one"],
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
  shown_before_certified: ["read_before_certified"],
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
  read_index_before_own_term: ["leader_loads_slowly"],
  not_after_ignored: ["copy_comes_late"],
  stale_membership_change_applied: ["membership_change_comes_late"],
  revoked_key_still_good: ["reset"],
  erasure_stays_in_the_log: ["kill"],
  erasure_debt_not_kept: ["debtor_dies", "cut"],
  passed_points_unsigned: ["cut"],
  stall_holds_back_operators: ["cut"],
  compaction_beyond_enough: ["newcomers_are_late"],
};

/** These need a cluster that grows. */
const GROWTH_OF: Partial<Record<PlantedBug, NonNullable<LifeOptions["grows"]>>> = {
  passed_points_unsigned: "1-3",
  stall_holds_back_operators: "3-5-3",
  compaction_beyond_enough: "1-3",
  read_index_before_own_term: "1-3",
};

/** These take longer than lives have by themselves, milliseconds. */
const HARM_MS_OF: Partial<Record<PlantedBug, number>> = { compaction_beyond_enough: 50_000 };

/** These need witnesses. */
const WATCHED: ReadonlySet<PlantedBug> = new Set(["witness_lines_not_verified", "uncertified_head_sent"]);

/** These show beside a liar alone, with this lie. */
const LIE_OF: Partial<Record<PlantedBug, LieName>> = {
  covered_roots_not_compared: "late_second_tree",
  followers_tell_the_leader_alone: "other_bytes",
  halted_node_keeps_its_lines: "other_bytes",
  leader_alone_is_asked: "kept_cosignatures",
  lines_not_exchanged: "two_trees",
  lines_not_verified: "forged_lines",
  lost_origin_stays_stopped: "other_bytes",
  silent_leader_followed: "silent_leader",
  refusals_taken_for_answers: "refusing_leader",
  any_decision_answers: "pretending_leader",
  unreadable_entries_acknowledged: "unreadable_entries",
  stamps_not_bounded: "future_stamps",
  state_head_not_checked: "forged_states",
  named_key_counts: "two_trees",
  fork_stops_nothing: "other_bytes",
  certificates_not_waited_for: "own_writes_alone",
};
/** Where one liar is excluded. */
const EXCLUDING: ReadonlySet<PlantedBug> = new Set(["certificates_not_waited_for"]);
const LIAR_SEEDS_MAX = 10;

/** These show when a forked origin is given up. */
const GIVES_UP: ReadonlySet<PlantedBug> = new Set(["lost_origin_stays_stopped"]);

/** These must be seen as their sentence in the first life that breaks any, and not as what follows from it. */
const SEEN_AT_ONCE: ReadonlySet<PlantedBug> = new Set([
  "uncertified_head_sent",
  ...(Object.keys(LIE_OF) as PlantedBug[]),
]);

/** A life in which a sentence is broken. */
type BrokenLife = Pick<LifeResult, "seed"> & { readonly broken: Broken };

/** What came of the search for one bug. */
export interface PlantedFind {
  /** Which bug in which pass: counted from 1. */
  readonly place: number;
  readonly bug: PlantedBug;
  /** 1: the first seeds; each later pass takes others. */
  readonly pass: number;
  /** How many lives it took. */
  readonly lives: number;
  /** The life that breaks a sentence which the bug ought to break; null: none of as many as it may take. */
  readonly found: BrokenLife | null;
  /** Lives before it that broke other sentences. */
  readonly others: readonly BrokenLife[];
  /** What is wrong with that; null: it was found as it should be. */
  readonly complaint: string | null;
}

/** A seed is a place: the list is gone through again and again, and each pass has seeds of its own. */
interface PlantedFinds extends Lives {
  /** In the order in which they end. */
  readonly onFind: (find: PlantedFind) => void;
}

/** Looks for one planted bug after the other. */
export async function findPlantedBugs({ onFind, ...series }: PlantedFinds): Promise<void> {
  const thread = { file: "planted-worker.js", common: null };
  await liveMany<PlantedFind>({ ...series, live: findAt, thread, onResult: onFind });
}

/** A function of the place. */
export async function findAt(place: number): Promise<PlantedFind> {
  const bug = BUGS[(place - 1) % BUGS.length];
  if (bug === undefined) throw new RangeError(`there is no place ${place}`);
  return findWith(bug, place, (seed, bugs) => liveFor(bug, seed, bugs));
}

/** @param live a life of a seed, with the bug or without */
export async function findWith(
  bug: PlantedBug,
  place: number,
  live: (seed: number, bugs: Bugs) => Promise<Pick<LifeResult, "seed" | "broken">>,
): Promise<PlantedFind> {
  const pass = Math.ceil(place / BUGS.length);
  const max = LIE_OF[bug] === undefined ? SEEDS_MAX : LIAR_SEEDS_MAX;
  const first = 1 + (pass - 1) * SEEDS_MAX;
  const others: BrokenLife[] = [];
  const findOf = (lives: number, found: BrokenLife | null, complaint: string | null): PlantedFind => {
    return { place, bug, pass, lives, found, others, complaint };
  };
  for (let seed = first; seed < first + max; seed++) {
    const { broken } = await live(seed, new Set([bug]));
    if (broken === null) continue;
    const lives = seed - first + 1;
    const alone = await live(seed, NO_BUGS);
    // Whatever broke it, it was not the bug.
    if (alone.broken !== null) {
      return findOf(lives, null, `seed ${seed} without it: ${told(alone.broken)}; with it: ${told(broken)}`);
    }
    if (brokenBy(bug).includes(broken.sentence)) return findOf(lives, { seed, broken }, null);
    others.push({ seed, broken });
    if (SEEN_AT_ONCE.has(bug)) return findOf(lives, null, `seen as ${told(broken)}, at seed ${seed}`);
  }
  const instead = others.map(({ seed, broken }) => `seed ${seed}: ${told(broken)}`);
  return findOf(
    max,
    null,
    `not found from seed ${first} on; ${instead.slice(0, 3).join("; ") || "every sentence held"}`,
  );
}

function told({ sentence, detail }: Broken): string {
  return `${sentence} (${detail.slice(0, TOLD_MAX)})`;
}

async function liveFor(bug: PlantedBug, seed: number, bugs: Bugs): Promise<Pick<LifeResult, "seed" | "broken">> {
  const lie = LIE_OF[bug];
  if (lie !== undefined) {
    const shape = EXCLUDING.has(bug) ? { nodes: 4, quorum: 3 } : { nodes: 3, quorum: 2 };
    const more = GIVES_UP.has(bug) ? ({ givesUp: true, lieMs: 200 } as const) : {};
    return liveBesideALiar({ seed, ...shape, lie, bugs, ...more });
  }
  const [faults, grows, harmMs] = [FAULTS_OF[bug], GROWTH_OF[bug], HARM_MS_OF[bug]];
  return liveOneLife({
    seed,
    bugs,
    ...(faults === undefined ? {} : { faults }),
    ...(grows === undefined ? {} : { grows }),
    ...(harmMs === undefined ? {} : { harmMs }),
    ...(WATCHED.has(bug) ? { witnesses: 3 } : {}),
  });
}

/** The sentences that the bug ought to break. */
export function brokenBy(bug: PlantedBug): readonly string[] {
  return SENTENCES_OF[bug];
}
