import type { PlantedBug } from "../planted/planted-bugs.ts";

const PERSISTED = "acksAndVotesLeaveOnlyAfterPersist";
const AGREED = "appliedEntriesAgreeEverywhere";
const DURABLE = "whatIsAppliedIsDurableOnAQuorum";
const STOPPED = "nobodyStopsWithoutACause";
const FENCED = "aNodeThatForgotIsFenced";
const CONVERGED = "theClusterConvergesWhenFaultsEnd";
const LINEARIZABLE = "readsAreLinearizable";
const NEVER_BACK = "latestAnchorNeverGoesBack";
const ONE_ANCHOR = "oneAnchorPerClientEventId";
const NOT_TWICE = "nothingIsAnchoredTwice";
const CERTIFIED = "certifiedMeansCertified";
const SHOWN = "everyHeadShownIsCertifiedAndTrue";
const STAMPED = "everyStampIsNearTheTruth";
const IN_EVIDENCE = "aContradictionIsInEvidence";
const ABANDONED = "aSilentLeaderIsAbandoned";

/**
 * The sentence that each planted bug ought to break: what the mistake costs. There are more where it depends on the
 * moment which of them comes first.
 */
export const SENTENCES_OF: Readonly<Record<PlantedBug, readonly string[]>> = {
  ack_before_persist: [PERSISTED],
  hard_state_not_saved: [PERSISTED],
  vote_not_saved: [PERSISTED, "noTwoLeadersShareATerm"],
  log_tail_dropped_at_start: [STOPPED, "acknowledgedAnchorsSurvive"],
  suffix_truncated_by_stale_append: [PERSISTED, "acknowledgedAnchorsSurvive"],
  signed_entries_not_known_committed: [AGREED],
  commit_hint_missing_after_compaction: [CONVERGED],
  old_tail_left: [STOPPED],
  corrupt_row_as_absent: ["corruptionNeverLooksLikeAbsence"],
  failed_append_taken_for_done: ["anEntryIsAppliedOnceItIsDurableHere", PERSISTED],
  applied_index_apart: [AGREED],
  client_event_id_not_looked_up: [ONE_ANCHOR, NOT_TWICE],
  facts_differ_on_one_node: [AGREED, NOT_TWICE],
  revocation_leaves_no_mark: ["whatIsRevokedStaysRevoked"],
  compaction_beyond_tables: [CONVERGED],
  compaction_beyond_enough: [CONVERGED],
  log_cut_behind_a_taker: ["theLogAfterAStateStays"],
  unwritten_client_event_ids_missed: [AGREED, NOT_TWICE, ONE_ANCHOR],
  promise_file_not_saved: [PERSISTED],
  promise_write_not_synced: [PERSISTED, "aCosignatureLeavesAfterItIsPromised"],
  promise_single_slot: [STOPPED],
  vote_not_in_promise_file: [PERSISTED],
  cosigned_heads_not_in_promise_file: ["aCosignatureLeavesAfterItIsPromised"],
  promises_not_compared_at_start: [FENCED],
  hello_always_accepted: [FENCED],
  progress_not_kept: [FENCED],
  words_of_members_dropped: [FENCED],
  one_word_for_two: [STOPPED],
  term_not_bounded: [CONVERGED, STOPPED],
  incarnation_ignored: [FENCED],
  sign_before_commit: ["aCosignatureCoversOnlyWhatIsCommitted", DURABLE],
  responses_before_append: [PERSISTED],
  payload_by_index_alone: ["entriesOfOneIndexAndTermAreTheSame"],
  read_index_id_reused: [NEVER_BACK, LINEARIZABLE],
  lease_like_read: [NEVER_BACK, LINEARIZABLE],
  follower_answers_read: [NEVER_BACK, LINEARIZABLE],
  read_index_before_own_term: [NEVER_BACK, LINEARIZABLE],
  read_does_not_wait_for_apply: [NEVER_BACK, LINEARIZABLE],
  latest_before_decided: [NEVER_BACK, LINEARIZABLE],
  // The vote that it makes up is in no database.
  vote_granted_twice: [PERSISTED, "noTwoLeadersShareATerm"],
  applied_before_durable_here: ["anEntryIsAppliedOnceItIsDurableHere"],
  ack_said_once: ["aReconnectedFollowerIsHeard"],
  ack_of_more_than_written: [PERSISTED],
  commit_beyond_verified: [DURABLE, AGREED],
  applied_entry_skipped: [STOPPED, AGREED],
  quorum_of_one: [DURABLE],
  ticks_caught_up: ["missedTicksAreDropped"],
  signer_not_checked: [CERTIFIED, SHOWN],
  cosignature_not_verified: [CERTIFIED, SHOWN],
  followers_tell_the_leader_alone: [IN_EVIDENCE],
  leader_alone_is_asked: ["othersCosignaturesSuffice"],
  cosignature_sent_once: [CONVERGED],
  group_decided_twice: [NOT_TWICE, ONE_ANCHOR],
  not_after_ignored: ["whatWasRefusedIsNotAnchored", NOT_TWICE],
  revoked_key_still_good: ["aRevokedKeyIsPowerless"],
  recorder_not_looked_up: ["whatIsAnothersIsLeftAlone"],
  operator_signature_not_verified: ["whatNoOperatorSignedIsRefused"],
  erasure_stays_in_the_log: ["whatIsErasedLeavesTheLogs"],
  erasure_debt_not_kept: ["whatIsErasedLeavesTheLogs"],
  stale_membership_change_applied: ["membershipFollowsTheTrustRootInForce"],
  unreached_although_sent: ["whatWasRefusedIsNotAnchored", NOT_TWICE],
  shown_before_certified: [SHOWN, CERTIFIED],
  read_of_recorded_certificate: [NEVER_BACK, LINEARIZABLE],
  api_ignores_applied_index: [LINEARIZABLE, NEVER_BACK],
  acknowledged_when_proposed: [CERTIFIED],
  snapshot_without_lookups: [AGREED, STOPPED],
  // Its tables lack leaves of a head that it has signed: it cannot serve.
  snapshot_below_promise: [AGREED, CONVERGED],
  clock_not_guarded: [STAMPED],
  slow_clock_not_guarded: [STAMPED],
  rules_raised_early: ["everyNodeKnowsTheRulesInForce", "whatALeaderAddsCanBeDecided"],
  passed_points_unsigned: [CONVERGED],
  decided_not_compared: ["anAnswerIsAboutWhatWasAsked"],
  stall_holds_back_operators: [CONVERGED],
  version_raised_early: ["whatALeaderAddsCanBeDecided"],
  covered_roots_not_compared: [IN_EVIDENCE],
  halted_node_keeps_its_lines: [IN_EVIDENCE],
  lines_not_exchanged: [IN_EVIDENCE],
  lines_not_verified: ["noHonestNodeIsFenced"],
  lost_origin_stays_stopped: ["aLostOriginIsWhatTheLogRecords"],
  silent_leader_followed: [ABANDONED],
  refusals_taken_for_answers: [ABANDONED],
  any_decision_answers: [ABANDONED],
  unreadable_entries_acknowledged: ["noHonestNodeHalts"],
  stamps_not_bounded: ["recordedTimeIsNotAhead"],
  state_head_not_checked: ["onlySignedActsCount"],
  named_key_counts: ["aNamedKeyCountsNoMore"],
  fork_stops_nothing: ["aForkedOriginStops"],
  certificates_not_waited_for: ["nothingAcknowledgedContradicts"],
  stored_trees_not_asked: ["whoHasForgottenNothingIsHeard", CONVERGED],
  witness_lines_not_verified: ["everyLineKeptIsGood"],
  uncertified_head_sent: ["witnessesAreSentWhatIsCertified"],
  rotten_slot_not_asked_about: ["nobodySignsWhatItMayHaveForgotten"],
};
