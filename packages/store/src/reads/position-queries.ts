/** The position of the log, and the sequence at a time. */
import { withApplied } from "./record-reads.ts";

export const POSITION = {
  name: "position",
  text: "SELECT applied_index, next_sequence - 1 AS sequence, last_accepted_ms FROM state.ledger",
};

export const ACCEPTED_MS_OF = {
  name: "accepted_ms_of",
  text: withApplied("SELECT sequence, accepted_ms FROM state.anchors WHERE sequence = $1"),
};

/**
 * A binary search: sequences have no gaps and times never fall along them, so no index on time is needed.
 * `low` is always at or before the time wanted (−1: before all), `high` always after it.
 */
export const SEQUENCE_AT_OR_BEFORE = {
  name: "sequence_at_or_before",
  text: `
    WITH RECURSIVE search (low, high) AS (
      SELECT -1::bigint, next_sequence FROM state.ledger
      UNION ALL
      SELECT CASE WHEN a.accepted_ms <= $1 THEN a.sequence ELSE s.low END,
        CASE WHEN a.accepted_ms <= $1 THEN s.high ELSE a.sequence END
      FROM search s JOIN state.anchors a ON a.sequence = (s.low + s.high) / 2 WHERE s.high - s.low > 1
    )
    SELECT l.applied_index, (SELECT max(low) FROM search) AS sequence FROM state.ledger l`,
};
