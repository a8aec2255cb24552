/**
 * Advisory locks: one process at a time holds a database's raft log, one its ledger, and one writes its look-up runs.
 * Arbitrary constants.
 */
export const RAFT_LOG_LOCK = 0x726166746c6f6731n;
export const LEDGER_LOCK = 0x6c65646765723031n;
export const LOOK_UP_RUNS_LOCK = 0x6c6f6f6b72756e73n;
