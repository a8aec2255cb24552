-- breaking
-- Two schemas. `node`: what this node needs to take part in consensus; only the control plane may see it.
-- `state`: what the log has produced, equal on every node up to local numbering; the api process may read it.
-- Integers are below 2^53 unless said otherwise. Every checksum is a SHA-256 over the other columns of its row.

CREATE SCHEMA node;  -- `state` exists: the list of migrations is in it

-- Who this node is. Written before the promise file, so that one without the other is noticed.
CREATE TABLE node.identity (
  only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  state      text    NOT NULL CHECK (state IN ('new', 'paired', 'running')),
  pair_id    bytea   NOT NULL CHECK (octet_length(pair_id) = 16),
  node_id    text    NOT NULL,
  cluster_id bytea   NOT NULL CHECK (octet_length(cluster_id) = 32),
  raft_id    bigint  NOT NULL  -- all 64 bits, as a signed integer
) WITH (fillfactor = 50);

-- Term and vote: a promise to the other nodes. A missing row beside a log is corruption, not a fresh start.
CREATE TABLE node.raft_state (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  term     bigint  NOT NULL,
  vote     bigint  NOT NULL,  -- all 64 bits, as a signed integer; 0: none
  checksum bytea   NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

-- The last log entry that the node no longer holds; (0, 0) while the log is whole.
CREATE TABLE node.raft_compaction (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  index    bigint  NOT NULL,
  term     bigint  NOT NULL,
  checksum bytea   NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

CREATE TABLE node.raft_log (
  index       bigint   PRIMARY KEY,
  term        bigint   NOT NULL,
  type        smallint NOT NULL CHECK (type IN (0, 1)),  -- 0 normal, 1 conf change
  commit_hint bigint   NOT NULL,  -- commit index known when the row was written
  payload     bytea    NOT NULL,
  checksum    bytea    NOT NULL
) WITH (toast_tuple_target = 8160);
-- Commands are hashes and keys: trying to compress them costs milliseconds per entry and gains nothing.
ALTER TABLE node.raft_log ALTER COLUMN payload SET STORAGE EXTERNAL;

-- How far the log is applied, and what that has led to. Updated by every entry, in the statement of its writes.
CREATE TABLE state.ledger (
  only_row         boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  applied_index    bigint  NOT NULL,
  applied_term     bigint  NOT NULL,
  effect           bytea   NOT NULL CHECK (octet_length(effect) = 32),
  next_sequence    bigint  NOT NULL,
  last_accepted_ms bigint  NOT NULL,
  group_ids_from   bigint  NOT NULL,  -- groups decided at a lower index are forgotten
  conf_state       bytea,             -- members of the raft group at applied_index; null: none yet
  checksum         bytea   NOT NULL
) WITH (fillfactor = 10, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0);

INSERT INTO state.ledger
  (applied_index, applied_term, effect, next_sequence, last_accepted_ms, group_ids_from, checksum)
VALUES (0, 0, decode(repeat('00', 32), 'hex'), 0, 0, 0, '');
UPDATE state.ledger SET checksum = sha256(
  int8send(applied_index) || int8send(applied_term) || effect || int8send(next_sequence)
  || int8send(last_accepted_ms) || int8send(group_ids_from) || '\x00'::bytea);

CREATE TABLE state.trust_roots (
  version  bigint  PRIMARY KEY,
  root_thk bytea   NOT NULL CHECK (octet_length(root_thk) = 32),
  sequence bigint  NOT NULL,  -- of the first leaf that announces it
  document text    NOT NULL   -- the whole signed note
);

-- `origin` is this node's short name for the fingerprint; other nodes may number differently.
CREATE TABLE state.origins (
  origin             smallint PRIMARY KEY,
  origin_fingerprint bytea    NOT NULL UNIQUE CHECK (octet_length(origin_fingerprint) = 32),
  status             text     NOT NULL CHECK (status IN ('active', 'closed', 'lost'))
);

-- From leaf_index on, this version of the trust root judges the origin.
CREATE TABLE state.trust_root_positions (
  origin     smallint NOT NULL,
  leaf_index bigint   NOT NULL,
  version    bigint   NOT NULL,
  PRIMARY KEY (origin, leaf_index)
);

-- Append-only but for the client's own id and salt, which it may have erased.
-- Ids are random: they are looked up by their first 8 bytes, and what is found is compared in full.
CREATE TABLE state.anchors (
  sequence        bigint   PRIMARY KEY,
  origin          smallint NOT NULL,
  depth           bigint   NOT NULL,
  kind            smallint NOT NULL,
  accepted_ms     bigint   NOT NULL,
  anchor_prefix   bigint   NOT NULL,
  anchor_id       bytea    NOT NULL,
  leaf            bytea    NOT NULL,
  client_prefix   bigint,  -- first 8 bytes of SHA-256(api_client_id, client_event_id)
  api_client_id   bytea,
  client_event_id text,
  salt            bytea,
  content_hash    bytea
) WITH (autovacuum_vacuum_insert_scale_factor = 0.5);
ALTER TABLE state.anchors ALTER COLUMN leaf SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX anchors_by_depth ON state.anchors (origin, depth);
CREATE INDEX anchors_by_id ON state.anchors (anchor_prefix);
CREATE INDEX anchors_by_client_event ON state.anchors (client_prefix) WHERE client_prefix IS NOT NULL;

-- Complete tiles only: 256 hashes each, which never change. `root` is one hash of the tile above.
CREATE TABLE state.tiles (
  origin smallint NOT NULL,
  level  smallint NOT NULL,
  index  bigint   NOT NULL,
  root   bytea    NOT NULL,
  hashes bytea    NOT NULL CHECK (octet_length(hashes) = 8192),
  PRIMARY KEY (origin, level, index)
);
-- Out of line and as it is, so that a few hashes can be read without the rest.
ALTER TABLE state.tiles ALTER COLUMN hashes SET STORAGE EXTERNAL;

CREATE TABLE state.certificates (
  origin             smallint NOT NULL,
  tree_size          bigint   NOT NULL,
  root_hash          bytea    NOT NULL CHECK (octet_length(root_hash) = 32),
  certified_at_s     bigint   NOT NULL,
  trust_root_version bigint   NOT NULL,
  cosignatures       bytea    NOT NULL,
  PRIMARY KEY (origin, tree_size)
);

CREATE TABLE state.api_keys (
  key_id        bytea  PRIMARY KEY CHECK (octet_length(key_id) = 16),
  key_hash      bytea  NOT NULL CHECK (octet_length(key_hash) = 32),
  api_client_id bytea  NOT NULL CHECK (octet_length(api_client_id) = 16),
  label         text   NOT NULL,
  scopes        smallint NOT NULL,  -- bits: 1 read, 2 write, 4 revoke, 8 admin
  expires_ms    bigint NOT NULL,
  created_ms    bigint NOT NULL,
  revoked_ms    bigint NOT NULL,
  operator      text   NOT NULL
);

-- Ids of the proposal groups that the entry at this index decided, 24 bytes each.
CREATE TABLE state.group_ids (
  index  bigint PRIMARY KEY,
  groups bytea  NOT NULL
);

REVOKE ALL ON SCHEMA node, state FROM PUBLIC;
