/** The parts of the one statement that writes all that an entry decided, and how they are put together. */
import type { Parameter, Statement } from "../postgres/connection.ts";
import { StatementCache } from "../postgres/statement-parts.ts";

/** A part of the statement: it is there if the entry has rows for it. `?` stands for the next parameter. */
interface Part {
  readonly name: string;
  readonly sql: string;
}

/** Every part reads from `guard`: if the ledger is not where it should be, nothing is written at all. */
const PARTS = {
  ledger: {
    name: "guard",
    sql: `UPDATE state.ledger SET applied_index = ?, applied_term = ?, effect = ?, next_sequence = ?,
      last_accepted_ms = ?, group_ids_from = ?, conf_state = ?, rules = ?, stamp_ms = ?, state_root = ?,
      group_ids_hash = ?, client_events_hash = ?, checksum = ?
      WHERE applied_index = ? RETURNING 1`,
  },
  unguarded: { name: "guard", sql: "SELECT 1" },
  origins: {
    name: "origins",
    sql: `INSERT INTO state.origins (origin, origin_fingerprint, status)
      SELECT u.* FROM guard, unnest(?::smallint[], ?::bytea[], ?::text[]) AS u
      ON CONFLICT (origin) DO UPDATE SET status = excluded.status`,
  },
  leaves: {
    name: "leaves",
    sql: `INSERT INTO state.anchors (sequence, origin, depth, kind, accepted_ms, anchor_prefix, anchor_id, leaf)
      SELECT u.* FROM guard, unnest(?::bigint[], ?::smallint[], ?::bigint[], ?::smallint[], ?::bigint[],
        ?::bigint[], ?::bytea[], ?::bytea[]) AS u`,
  },
  /** Some of these leaves are events with a client's id, or claims, grants and revocations. */
  lookedUpLeaves: {
    name: "leaves",
    sql: `INSERT INTO state.anchors (sequence, origin, depth, kind, accepted_ms, anchor_prefix, anchor_id, leaf,
        client_prefix, api_client_id, client_event_id, salt, content_hash)
      SELECT u.* FROM guard, unnest(?::bigint[], ?::smallint[], ?::bigint[], ?::smallint[], ?::bigint[],
        ?::bigint[], ?::bytea[], ?::bytea[], ?::bigint[], ?::bytea[], ?::text[], ?::bytea[], ?::bytea[]) AS u`,
  },
  claims: {
    name: "claims",
    sql: `INSERT INTO state.claims (sequence, lineage, pair_prefix, pair_hash, entity_fingerprint, attribute_type,
        expires_ms, subject_key, issuer_key, superseded_at, revoked_at)
      SELECT u.* FROM guard, unnest(?::bigint[], ?::bigint[], ?::bigint[], ?::bytea[], ?::bytea[], ?::bigint[],
        ?::bigint[], ?::bytea[], ?::bytea[], ?::bigint[], ?::bigint[]) AS u`,
  },
  grants: {
    name: "grants",
    sql: `INSERT INTO state.grants (sequence, grantor_claim, grantee_claim, grantor_lineage, grantee_lineage,
        parties_prefix, grantor_fingerprint, grantee_fingerprint, parent, links, delegation_depth, not_before_ms,
        expires_ms, grantor_key, witness_key, superseded_at, revoked_at)
      SELECT u.* FROM guard, unnest(?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[],
        ?::bigint[], ?::bytea[], ?::bytea[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[],
        ?::bigint[], ?::bytea[], ?::bytea[], ?::bigint[], ?::bigint[]) AS u`,
  },
  endedClaims: {
    name: "ended_claims",
    sql: `UPDATE state.claims AS c SET superseded_at = u.superseded_at, revoked_at = u.revoked_at
      FROM guard, unnest(?::bigint[], ?::bigint[], ?::bigint[]) AS u (sequence, superseded_at, revoked_at)
      WHERE c.sequence = u.sequence`,
  },
  endedGrants: {
    name: "ended_grants",
    sql: `UPDATE state.grants AS g SET superseded_at = u.superseded_at, revoked_at = u.revoked_at
      FROM guard, unnest(?::bigint[], ?::bigint[], ?::bigint[]) AS u (sequence, superseded_at, revoked_at)
      WHERE g.sequence = u.sequence`,
  },
  revocations: {
    name: "revocations",
    sql: `INSERT INTO state.revocations (sequence, target)
      SELECT u.* FROM guard, unnest(?::bigint[], ?::bigint[]) AS u`,
  },
  /** Prefix, API client and content hash stay: the id is still taken, and nobody can say any more what it was. */
  erasures: {
    name: "erasures",
    sql: `UPDATE state.anchors AS a SET client_event_id = NULL, salt = NULL
      FROM guard, unnest(?::bigint[]) AS u (sequence) WHERE a.sequence = u.sequence`,
  },
  statePages: {
    name: "state_pages",
    sql: `INSERT INTO state.tree_pages (prefix, slots) SELECT u.* FROM guard, unnest(?::text[], ?::bytea[]) AS u
      ON CONFLICT (prefix) DO UPDATE SET slots = excluded.slots`,
  },
  tiles: {
    name: "tiles",
    sql: `INSERT INTO state.tiles (origin, level, index, root, hashes)
      SELECT u.* FROM guard, unnest(?::smallint[], ?::smallint[], ?::bigint[], ?::bytea[], ?::bytea[]) AS u`,
  },
  certificates: {
    name: "certificates",
    sql: `INSERT INTO state.certificates
        (origin, tree_size, root_hash, certified_at_s, trust_root_version, cosignatures)
      SELECT u.* FROM guard, unnest(?::smallint[], ?::bigint[], ?::bytea[], ?::bigint[], ?::bigint[], ?::bytea[]) AS u`,
  },
  trustRoots: {
    name: "trust_roots",
    sql: `INSERT INTO state.trust_roots (version, root_thk, sequence, document)
      SELECT u.* FROM guard, unnest(?::bigint[], ?::bytea[], ?::bigint[], ?::text[]) AS u`,
  },
  positions: {
    name: "positions",
    sql: `INSERT INTO state.trust_root_positions (origin, leaf_index, version)
      SELECT u.* FROM guard, unnest(?::smallint[], ?::bigint[], ?::bigint[]) AS u`,
  },
  apiKeys: {
    name: "api_keys",
    sql: `INSERT INTO state.api_keys
        (key_id, key_hash, api_client_id, label, scopes, expires_ms, requests_per_second, created_ms, revoked_ms,
          created_by, created_counter, ended_by, ended_counter)
      SELECT u.* FROM guard, unnest(?::bytea[], ?::bytea[], ?::bytea[], ?::text[], ?::smallint[],
        ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::text[], ?::bigint[], ?::text[], ?::bigint[]) AS u
      ON CONFLICT (key_id) DO UPDATE SET label = excluded.label, scopes = excluded.scopes,
        expires_ms = excluded.expires_ms, requests_per_second = excluded.requests_per_second,
        revoked_ms = excluded.revoked_ms, ended_by = excluded.ended_by, ended_counter = excluded.ended_counter`,
  },
  operatorActs: {
    name: "operators",
    sql: `INSERT INTO state.operators (operator, counter)
      SELECT u.* FROM guard, unnest(?::text[], ?::bigint[]) AS u
      ON CONFLICT (operator) DO UPDATE SET counter = excluded.counter`,
  },
  groupIds: {
    name: "group_ids",
    sql: `INSERT INTO state.group_ids (index, groups, hash_before)
      SELECT ?::bigint, ?::bytea, ?::bytea FROM guard`,
  },
  forgetGroupIds: {
    name: "forgotten",
    sql: "DELETE FROM state.group_ids USING guard WHERE index < ?",
  },
} as const satisfies Record<string, Part>;

type PartName = keyof typeof PARTS;

const STATEMENTS = new StatementCache("apply");

function textOf(names: readonly PartName[]): string {
  const parts = names.map((name) => `${PARTS[name].name} AS (${PARTS[name].sql})`);
  return `WITH ${parts.join(",\n")}\nSELECT count(*) AS applied FROM guard`;
}

/** Parts with their values, in the order in which they were added. */
export class StatementBuilder {
  readonly #names: PartName[] = [];
  readonly #values: Parameter[] = [];

  add(name: PartName, values: readonly Parameter[]): void {
    this.#names.push(name);
    this.#values.push(...values);
  }

  finish(): { statement: Statement; values: readonly Parameter[] } {
    const statement = STATEMENTS.statement(this.#names.join("_"), () => textOf(this.#names));
    return { statement, values: this.#values };
  }
}
