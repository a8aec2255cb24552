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

-- Heads that witnesses have cosigned: of each origin the newest with enough of them, and one newer with fewer. Each row
-- is verified when it is loaded; without it, a witness is asked again.
CREATE TABLE node.witnessed_heads (
  origin_fingerprint bytea  NOT NULL CHECK (octet_length(origin_fingerprint) = 32),
  tree_size          bigint NOT NULL,
  root_hash          bytea  NOT NULL CHECK (octet_length(root_hash) = 32),
  cosignatures       bytea  NOT NULL,  -- of the nodes, as in state.certificates
  witness_lines      bytea  NOT NULL,  -- of the witnesses, in the same form
  PRIMARY KEY (origin_fingerprint, tree_size)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

-- How far the log is applied, and what that has led to. Updated by every entry, in the statement of its writes.
CREATE TABLE state.ledger (
  only_row         boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  applied_index    bigint  NOT NULL,
  applied_term     bigint  NOT NULL,
  effect           bytea   NOT NULL CHECK (octet_length(effect) = 32),
  next_sequence    bigint  NOT NULL,
  last_accepted_ms bigint  NOT NULL,  -- time of the newest leaf
  rules            smallint NOT NULL,  -- by which the next entry is decided (docs/versions.md)
  stamp_ms         bigint  NOT NULL,  -- time of the newest entry: no later one is accepted before it
  group_ids_from   bigint  NOT NULL,  -- groups decided at a lower index are forgotten
  forget_log_to    bigint  NOT NULL,  -- the log must not keep this entry, nor any before it; 0: none
  state_root         bytea NOT NULL CHECK (octet_length(state_root) = 32),  -- of the tree in state.tree_pages
  group_ids_hash     bytea NOT NULL CHECK (octet_length(group_ids_hash) = 32),  -- running hash of all decided groups
  client_events_hash bytea NOT NULL CHECK (octet_length(client_events_hash) = 32),  -- running hash of client events
  conf_state       bytea,             -- members of the raft group at applied_index; null: none yet
  checksum         bytea   NOT NULL
) WITH (fillfactor = 10, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0);

INSERT INTO state.ledger
  (applied_index, applied_term, effect, next_sequence, last_accepted_ms, rules, stamp_ms, group_ids_from,
   forget_log_to, state_root, group_ids_hash, client_events_hash, checksum)
SELECT 0, 0, zeros, 0, 0, 1, 0, 0, 0, zeros, zeros, zeros, '' FROM decode(repeat('00', 32), 'hex') AS zeros;
UPDATE state.ledger SET checksum = sha256(
  int8send(applied_index) || int8send(applied_term) || effect || int8send(next_sequence)
  || int8send(last_accepted_ms) || int2send(rules) || int8send(stamp_ms) || int8send(group_ids_from)
  || int8send(forget_log_to) || state_root || group_ids_hash || client_events_hash || '\x00'::bytea);

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

-- Append-only but for the client's own id and salt, which it may have erased. Rows die then and at no other time: what
-- they said goes at the next turn of autovacuum.
-- Ids are random: they are looked up by their first 8 bytes, and what is found is compared in full.
CREATE TABLE state.anchors (
  sequence        bigint   PRIMARY KEY,
  origin          smallint NOT NULL,
  depth           bigint   NOT NULL,
  kind            smallint NOT NULL,
  event_prefix    integer, -- of an event (kinds 1 and 6): first 4 bytes of SHA-256(event_hash), its key in runs
  accepted_ms     bigint   NOT NULL,
  anchor_prefix   bigint   NOT NULL,
  anchor_id       bytea    NOT NULL,
  leaf            bytea    NOT NULL,
  client_prefix   bigint,  -- first 8 bytes of SHA-256(api_client_id, client_event_id)
  api_client_id   bytea,   -- of an event with a client's id, of a claim and of a grant: who recorded it
  client_event_id text,
  salt            bytea,
  content_hash    bytea
) WITH (
  autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0
);
ALTER TABLE state.anchors ALTER COLUMN leaf SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX anchors_by_depth ON state.anchors (origin, depth);
CREATE INDEX anchors_by_id ON state.anchors (anchor_prefix);
CREATE INDEX anchors_by_client_event ON state.anchors (client_prefix) WHERE client_prefix IS NOT NULL;

-- Lists of events by event hash, claim or grant: which leaves have which. A run is over the leaves from `first` to
-- before `past`, and each part of it is a row that fills a page. An item is a 47-bit key and 16 bits of the leaf's
-- distance from `first`; items ascend, also from part to part. Derived from leaves: those behind the last run are
-- looked through.
CREATE TABLE state.lookup_runs (
  index     smallint NOT NULL CHECK (index IN (1, 2, 3)),  -- event hash, iris_ref, grant_ref
  first     bigint   NOT NULL,
  past      bigint   NOT NULL,
  last_item bigint   NOT NULL,  -- 0: no leaf of the run has one
  items     bigint[] NOT NULL CHECK (array_position(items, NULL) IS NULL),
  PRIMARY KEY (index, first, last_item)
);
ALTER TABLE state.lookup_runs ALTER COLUMN items SET STORAGE PLAIN;

-- What a claim, grant or revocation says without its signatures; events with a client's id have the column too.
CREATE INDEX anchors_by_content ON state.anchors
  ((('x' || encode(substr(content_hash, 1, 8), 'hex'))::bit(64)::bigint))
  WHERE kind IN (2, 3, 4);

-- Derived from the leaves of kinds 2 and 4; who recorded a claim is in its anchor's row. A row changes when its claim
-- ends: at most twice.
CREATE TABLE state.claims (
  sequence           bigint PRIMARY KEY,
  lineage            bigint NOT NULL,  -- sequence of the first claim of its lineage
  pair_prefix        bigint NOT NULL,  -- first 8 bytes of pair_hash
  pair_hash          bytea  NOT NULL CHECK (octet_length(pair_hash) = 32),  -- SHA-256(entity, attribute type)
  entity_fingerprint bytea  NOT NULL CHECK (octet_length(entity_fingerprint) = 32),
  attribute_type     bigint NOT NULL,
  expires_ms         bigint NOT NULL,  -- 0: never
  subject_key        bytea  NOT NULL CHECK (octet_length(subject_key) = 32),
  issuer_key         bytea  NOT NULL CHECK (octet_length(issuer_key) = 32),
  superseded_at      bigint,           -- sequence of the claim that took its place
  revoked_at         bigint            -- sequence of its first revocation
) WITH (fillfactor = 90);
CREATE INDEX claims_by_pair ON state.claims (pair_prefix, sequence);
-- Whole fingerprints: clients choose them, so that first bytes would meet in one place. A history is read in order.
CREATE INDEX claims_by_entity ON state.claims (entity_fingerprint, sequence);
CREATE INDEX claims_by_lineage ON state.claims (lineage, sequence);

-- Derived from the leaves of kinds 3 and 4. Claims and grants are named by their sequences.
CREATE TABLE state.grants (
  sequence            bigint PRIMARY KEY,
  grantor_claim       bigint NOT NULL,
  grantee_claim       bigint NOT NULL,
  grantor_lineage     bigint NOT NULL,
  grantee_lineage     bigint NOT NULL,
  parties_prefix      bigint NOT NULL,  -- first 8 bytes of SHA-256(grantor_fingerprint, grantee_fingerprint)
  grantor_fingerprint bytea  NOT NULL CHECK (octet_length(grantor_fingerprint) = 32),
  grantee_fingerprint bytea  NOT NULL CHECK (octet_length(grantee_fingerprint) = 32),
  parent              bigint,           -- null: a root grant
  links               bigint NOT NULL,  -- grants from the root to this one
  delegation_depth    bigint NOT NULL,
  not_before_ms       bigint NOT NULL,  -- bounds with what is inherited; 0: none
  expires_ms          bigint NOT NULL,
  grantor_key         bytea  NOT NULL CHECK (octet_length(grantor_key) = 32),
  witness_key         bytea  NOT NULL CHECK (octet_length(witness_key) = 32),
  superseded_at       bigint,           -- sequence of the grant between the same lineages that took its place
  revoked_at          bigint            -- sequence of its first revocation
) WITH (fillfactor = 90);
CREATE INDEX grants_by_lineages ON state.grants (grantee_lineage, grantor_lineage, sequence);
CREATE INDEX grants_by_parties ON state.grants (parties_prefix, sequence);
CREATE INDEX grants_by_grantor ON state.grants (grantor_fingerprint, sequence);
CREATE INDEX grants_by_grantee ON state.grants (grantee_fingerprint, sequence);
-- At most one for each pair of lineages.
CREATE INDEX grants_standing ON state.grants (parties_prefix, grantor_lineage, grantee_lineage)
  WHERE superseded_at IS NULL AND revoked_at IS NULL;

CREATE TABLE state.revocations (
  sequence bigint PRIMARY KEY,
  target   bigint NOT NULL  -- sequence of a claim or a grant
);
CREATE INDEX revocations_by_target ON state.revocations (target, sequence);

-- The state tree (docs/PROTOCOL.md): a page is four levels of it, named by the hex digits of the keys below it.
CREATE TABLE state.tree_pages (
  prefix text  PRIMARY KEY,
  slots  bytea NOT NULL
);
ALTER TABLE state.tree_pages ALTER COLUMN slots SET STORAGE EXTERNAL;

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
  key_id              bytea    PRIMARY KEY CHECK (octet_length(key_id) = 16),
  key_hash            bytea    NOT NULL CHECK (octet_length(key_hash) = 32),
  api_client_id       bytea    NOT NULL CHECK (octet_length(api_client_id) = 16),
  label               text     NOT NULL,
  scopes              smallint NOT NULL,  -- bits: 1 read, 2 write, 4 revoke, 8 admin
  expires_ms          bigint   NOT NULL,
  requests_per_second bigint   NOT NULL,  -- 0: as the node is configured
  created_ms          bigint   NOT NULL,
  revoked_ms          bigint   NOT NULL,
  created_by          text     NOT NULL,  -- whose act made the key, and which
  created_counter     bigint   NOT NULL,
  ended_by            text     NOT NULL,  -- whose act ended it; '' and 0: nobody's
  ended_counter       bigint   NOT NULL
);

-- The newest act of each operator: no later one has a counter as low.
CREATE TABLE state.operators (
  operator text   PRIMARY KEY,
  counter  bigint NOT NULL
);

-- Ids of the proposal groups that the entry at this index decided, 24 bytes each.
CREATE TABLE state.group_ids (
  index       bigint PRIMARY KEY,
  groups      bytea  NOT NULL,
  hash_before bytea  NOT NULL CHECK (octet_length(hash_before) = 32)  -- running hash of the groups of earlier entries
);

REVOKE ALL ON SCHEMA node, state FROM PUBLIC;
