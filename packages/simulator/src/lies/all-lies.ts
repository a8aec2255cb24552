import { ForgedActs } from "./forged-acts.ts";
import { ForgedStates } from "./forged-states.ts";
import { ForgedAccusations, ForgedHellos } from "./hello-lies.ts";
import { RefusingLeader, SilentLeader } from "./leader-lies.ts";
import type { LiarSelf, Lie } from "./lie.ts";
import { OtherBytes } from "./other-bytes.ts";
import {
  ForgedCommits,
  ForgedSnapshots,
  ForgedTerms,
  FutureStamps,
  PretendingLeader,
  UnreadableEntries,
} from "./raft-lies.ts";
import { AnotherTree, ForgedLines, KeptCosignatures, LateSecondTree, OtherEffects, TwoTrees } from "./tree-lies.ts";

/** What the liar does; it leads when it begins. */
export const LIES = {
  other_bytes: (self: LiarSelf, victim: string): Lie => new OtherBytes(self, victim),
  own_writes_alone: (self: LiarSelf, victim: string): Lie => new OtherBytes(self, victim, self.raftIdOf(victim)),
  two_trees: (self: LiarSelf, victim: string): Lie => new TwoTrees(self, victim),
  late_second_tree: (self: LiarSelf, victim: string): Lie => new LateSecondTree(self, victim),
  another_tree: (self: LiarSelf): Lie => new AnotherTree(self),
  kept_cosignatures: (): Lie => new KeptCosignatures(),
  other_effects: (): Lie => new OtherEffects(),
  forged_lines: (self: LiarSelf): Lie => new ForgedLines(self),
  silent_leader: (): Lie => new SilentLeader(),
  refusing_leader: (): Lie => new RefusingLeader(),
  pretending_leader: (self: LiarSelf): Lie => new PretendingLeader(self),
  terms_within_bounds: (): Lie => new ForgedTerms((term) => term + 1000),
  terms_beyond_bounds: (): Lie => new ForgedTerms(() => 2 ** 53 - 2),
  forged_commits: (): Lie => new ForgedCommits(),
  forged_snapshots: (self: LiarSelf): Lie => new ForgedSnapshots(self),
  unreadable_entries: (): Lie => new UnreadableEntries(),
  future_stamps: (): Lie => new FutureStamps(),
  forged_hellos: (self: LiarSelf): Lie => new ForgedHellos(self),
  forged_accusations: (self: LiarSelf): Lie => new ForgedAccusations(self),
  forged_acts: (self: LiarSelf): Lie => new ForgedActs(self),
  forged_states: (self: LiarSelf): Lie => new ForgedStates(self),
} as const satisfies Readonly<Record<string, (self: LiarSelf, victim: string) => Lie>>;

export type LieName = keyof typeof LIES;

/** These give one node another log than the others. */
export const DECEIVES: ReadonlySet<LieName> = new Set(["other_bytes", "own_writes_alone"]);

/**
 * These may: a follower that believes in a commit keeps and signs an entry that the group replaces when another node
 * leads before the entry has reached a majority.
 */
export const MAY_DECEIVE: ReadonlySet<LieName> = new Set(["forged_commits"]);

/** With these the liar goes on leading and accepts no writes of others. */
export const KEEPS_OFFICE: ReadonlySet<LieName> = new Set(["silent_leader", "refusing_leader", "pretending_leader"]);

/** The victim of these was away for so long that it needs a state. */
export const NEEDS_A_STATE: ReadonlySet<LieName> = new Set(["forged_states"]);
