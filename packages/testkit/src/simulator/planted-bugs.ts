/**
 * Mistakes that a simulated world makes on purpose, to show that its checkers see them. They live in the doubles of
 * this package and in what is wrapped around a node from outside; nothing a node is built from knows of them.
 */
export const PLANTED_BUGS = {
  ack_before_persist: "an append is reported durable while Postgres still flushes it",
  hard_state_not_saved: "term and vote are not written with an append",
  vote_not_saved: "the term is written, the vote is not",
  log_tail_dropped_at_start: "what follows the commit hint is taken for uncommitted and dropped at a start",
  suffix_truncated_by_stale_append: "an append that arrives late cuts off what followed it, committed or not",
  commit_hint_missing_after_compaction: "after a compaction the commit index is that of the rows which are left",
  old_tail_left: "an upsert replaces a suffix and leaves the dead leader's tail behind it",
  corrupt_row_as_absent: "a log row that fails its checksum is taken for the end of the log",
  failed_append_taken_for_done: "an append that failed is answered as if it were durable",
  applied_index_apart: "rows and applied index are two transactions",
  client_event_id_not_looked_up: "the look-up of a client event id finds nothing",
  facts_differ_on_one_node: "one node's look-ups miss what was applied last",
  revocation_leaves_no_mark: "a revocation does not end what it revokes",
  promise_file_not_saved: "the promise file is written at the first start only",
  promise_write_not_synced: "a promise is reported durable while it is in the page cache",
  promise_single_slot: "the promise file is overwritten in place",
  vote_not_in_promise_file: "the promise file remembers everything but term and vote",
  cosigned_heads_not_in_promise_file: "the promise file remembers everything but the signed heads",
  promises_not_compared_at_start: "what the promise file says is not held against the database",
  hello_always_accepted: "what a peer has forgotten is not held against it",
  incarnation_ignored: "a clone may speak in an incarnation that is taken",
  sign_before_commit: "an entry is applied and cosigned once it is durable here, committed or not",
  responses_before_append: "a response overtakes an earlier append of the lane",
  payload_by_index_alone: "the payload of a message is found by index, whatever the term",
  read_index_id_reused: "every read-index round of a life has the same context",
  lease_like_read: "a leader answers a read index by itself",
  follower_answers_read: "a follower answers a read index with its own commit index",
  read_does_not_wait_for_apply: "a read goes on before its index is applied",
  vote_granted_twice: "every candidate of a term is voted for",
  applied_before_durable_here: "what is committed is applied while this node still writes it",
  ack_of_more_than_written: "an acknowledgement names one entry more than the log holds",
  commit_beyond_verified: "a follower commits to its own end whatever the leader has verified of it",
  applied_entry_skipped: "one committed entry is left out",
  quorum_of_one: "a leader takes its own acknowledgement for two",
  ticks_caught_up: "ticks missed in a pause are made up for",
  signer_not_checked: "a cosignature counts for whoever brings it: one key counts twice",
  cosignature_sent_once: "a cosignature that was lost is never said again",
  group_decided_twice: "ids of decided groups are not looked up",
  not_after_ignored: "a group may be decided however late it comes",
  revoked_key_still_good: "the revocation of an API key is not looked at",
  erasure_stays_in_the_log: "what was erased is not cut from the log",
  stale_membership_change_applied: "a membership change that follows from an older trust root is put into force",
  unreached_although_sent: "a proposal that left is reported as never having left",
  shown_before_certified: "the EEA moves with the commit, before a certificate",
  read_of_recorded_certificate: "the EEA is read from the last CERTIFY of the log",
  api_ignores_applied_index: "the api answers from tables that are behind the read index",
  acknowledged_when_proposed: "a write is acknowledged before it is certified",
  snapshot_without_lookups: "a snapshot brings the leaves and not what is looked up by",
  snapshot_below_promise: "a state is taken over that lacks what this node has signed",
  clock_not_guarded: "a leader far ahead of the median stamps entries",
  slow_clock_not_guarded: "a leader far behind the median stamps entries",
  rules_raised_early: "the rules are raised before every node has said that it knows them",
  passed_points_unsigned: "who becomes entitled to sign does not sign what it has passed, and nobody is asked again",
  decided_not_compared: "whatever is decided under a group's id is taken for the group",
  stall_holds_back_operators: "no trust root goes through while leaves wait for a certificate",
  version_raised_early: "an entry of a version that nobody reads is proposed",
} as const;

export type PlantedBug = keyof typeof PLANTED_BUGS;

/** Usually empty. */
export type Bugs = ReadonlySet<PlantedBug>;

export const NO_BUGS: Bugs = new Set();
