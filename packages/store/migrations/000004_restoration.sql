-- Which backup this database began from. Written with the state itself, in one transaction, and never changed.
CREATE TABLE node.restoration (
  only_row      boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  scope         text    NOT NULL CHECK (scope IN ('node', 'cluster')),
  node_id       text    NOT NULL,  -- for whom it was put here
  backup_sha256 bytea   NOT NULL CHECK (octet_length(backup_sha256) = 32),
  raft_index    bigint  NOT NULL,  -- the entry after which the state is that of the backup
  raft_term     bigint  NOT NULL,
  effect        bytea   NOT NULL CHECK (octet_length(effect) = 32),
  trust_roots   bytea   NOT NULL   -- signed documents that a restored cluster has to apply: each u32 length and bytes
);
