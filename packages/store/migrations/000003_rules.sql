-- By which rules the next entry is decided, and the time before which none is accepted (docs/versions.md). Under
-- rules 1 that time is last_accepted_ms, the checksum leaves both columns out, and a program that knows neither writes
-- the row as before. From rules 2 on it does not find the checksum it expects, and stops.
ALTER TABLE state.ledger ADD COLUMN rules smallint NOT NULL DEFAULT 1, ADD COLUMN stamp_ms bigint NOT NULL DEFAULT 0;
