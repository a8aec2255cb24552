-- Claims, grants, revocations, and the look-ups of events. Nothing that is there already is rewritten: what an event
-- refers to stands in its leaf, and the indexes take it from there. They can neither disagree with the leaf nor be
-- forgotten by a program that does not know of them.
--
-- Places in a leaf of kind 1 or 6, from 1: event_hash 116, iris_ref 148, grant_ref 212 (docs/PROTOCOL.md, "Leaf").
-- What an index finds by the first bytes of a hash is compared in full.

-- Clients choose event hashes, so the index has the first 4 bytes of the hash's own hash: nobody can make many that
-- meet in one place. It is written by every event and read rarely, and goes by runs of 2^17 sequences: writes stay in
-- the newest run, which is in memory (2 instead of 8 us an anchor at 700,000), and a look-up asks one run after the
-- other.
CREATE INDEX anchors_by_event_hash ON state.anchors (
  ((sequence >> 17)::integer),
  (('x' || encode(substr(sha256(substr(leaf, 116, 32)), 1, 4), 'hex'))::bit(32)::integer),
  sequence
) WHERE kind IN (1, 6);

-- References are ids of anchors that exist, so their own first 8 bytes do. With the sequence behind them, what is
-- referred to a million times is listed page by page.
CREATE INDEX anchors_by_iris_ref ON state.anchors
  ((('x' || encode(substr(leaf, 148, 8), 'hex'))::bit(64)::bigint), sequence)
  WHERE kind IN (1, 6)
    AND substr(leaf, 148, 32) <> '\x0000000000000000000000000000000000000000000000000000000000000000'::bytea;
CREATE INDEX anchors_by_grant_ref ON state.anchors
  ((('x' || encode(substr(leaf, 212, 8), 'hex'))::bit(64)::bigint), sequence)
  WHERE kind IN (1, 6)
    AND substr(leaf, 212, 32) <> '\x0000000000000000000000000000000000000000000000000000000000000000'::bytea;

-- What a claim, grant or revocation says without its signatures; the column is there, for events with a client's id.
CREATE INDEX anchors_by_content ON state.anchors
  ((('x' || encode(substr(content_hash, 1, 8), 'hex'))::bit(64)::bigint))
  WHERE kind IN (2, 3, 4);

-- Derived from the leaves of kinds 2 and 4. A row changes when its claim ends: at most twice.
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
-- At most one for each pair of lineages.
CREATE INDEX grants_standing ON state.grants (parties_prefix, grantor_lineage, grantee_lineage)
  WHERE superseded_at IS NULL AND revoked_at IS NULL;

CREATE TABLE state.revocations (
  sequence bigint PRIMARY KEY,
  target   bigint NOT NULL  -- sequence of a claim or a grant
);
CREATE INDEX revocations_by_target ON state.revocations (target, sequence);

-- 0: as the node is configured.
ALTER TABLE state.api_keys ADD COLUMN requests_per_second bigint NOT NULL DEFAULT 0;

-- Rows of this table die when a client event id is erased, and at no other time: what they said goes at the next turn.
ALTER TABLE state.anchors SET (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0);
