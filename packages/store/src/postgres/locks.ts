/** Advisory locks: one process at a time holds a database's raft log, and one its ledger. Arbitrary constants. */
export const RAFT_LOG_LOCK = 0x726166746c6f6731n;
export const LEDGER_LOCK = 0x6c65646765723031n;
