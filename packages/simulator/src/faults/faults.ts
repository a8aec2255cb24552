/** What may happen to a life. Each life draws which of these may happen to it. */
export const FAULTS = [
  "kill",
  "power",
  "power_everywhere",
  "stop",
  "pause",
  "cut",
  "cut_one_way",
  "isolate",
  "partial",
  "swizzle",
  "flaky",
  "cosignatures_lost",
  "slow_link",
  "reset",
  "slow_disk",
  "write_fault",
  "disk_full",
  "server_restart",
  "server_stop",
  "clock",
  "promise_fault",
  "power_in_promise_write",
  "power_in_append",
  "depose",
  "busy_leader_dies",
  "stale_leader",
  "copy_comes_late",
  "membership_change_comes_late",
  "corrupt_row",
  "database_set_back",
  "both_set_back",
  "promise_file_lost",
  "promise_file_set_back",
  "clone",
  "set_back_known_to_one",
  "false_commit",
  "giant_term",
] as const;

/**
 * A node that lies, disks that rot or are set back by a little and moments that few lives have. No life draws these;
 * they are asked for.
 */
export const ASKED_FOR = [
  "altered_proposals",
  "rotten_slot",
  "heads_set_back",
  "signed_entry_offered_anew",
  "debtor_dies",
  "leader_loads_slowly",
  "newest_row_rots",
  "newcomers_are_late",
  "read_before_certified",
] as const;

export type Fault = (typeof FAULTS)[number] | (typeof ASKED_FOR)[number];

/** These spend an identity: at most as many machines as the cluster can do without. */
export const SPENDING: ReadonlySet<Fault> = new Set([
  "database_set_back",
  "both_set_back",
  "promise_file_lost",
  "promise_file_set_back",
  "clone",
  "set_back_known_to_one",
]);
