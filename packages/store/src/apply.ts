/** The one statement that writes all that an entry decided. */
import type { EntryDecision, EntryWrites, LeafWrite } from "@event-anchoring/ledger";
import { bytesToHex } from "@event-anchoring/protocol";
import { scopesToBits } from "@event-anchoring/ledger";
import { bigintArray, byteaArray, prefixArray, smallintArray, textArray } from "./binary-array.ts";
import type { Parameter, Statement } from "./connection.ts";
import { StoreError } from "./errors.ts";
import { clientEventLookup, encodeCosignatures, encodeGroupIds, ledgerRowChecksum } from "./ledger-codec.ts";
import type { LedgerRow } from "./ledger-codec.ts";
import type { OriginNumbers } from "./origin-numbers.ts";

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
      last_accepted_ms = ?, group_ids_from = ?, conf_state = ?, checksum = ? WHERE applied_index = ? RETURNING 1`,
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
  clientLeaves: {
    name: "leaves",
    sql: `INSERT INTO state.anchors (sequence, origin, depth, kind, accepted_ms, anchor_prefix, anchor_id, leaf,
        client_prefix, api_client_id, client_event_id, salt, content_hash)
      SELECT u.* FROM guard, unnest(?::bigint[], ?::smallint[], ?::bigint[], ?::smallint[], ?::bigint[],
        ?::bigint[], ?::bytea[], ?::bytea[], ?::bigint[], ?::bytea[], ?::text[], ?::bytea[], ?::bytea[]) AS u`,
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
        (key_id, key_hash, api_client_id, label, scopes, expires_ms, created_ms, revoked_ms, operator)
      SELECT u.* FROM guard, unnest(?::bytea[], ?::bytea[], ?::bytea[], ?::text[], ?::smallint[],
        ?::bigint[], ?::bigint[], ?::bigint[], ?::text[]) AS u
      ON CONFLICT (key_id) DO UPDATE SET label = excluded.label, scopes = excluded.scopes,
        expires_ms = excluded.expires_ms, revoked_ms = excluded.revoked_ms`,
  },
  groupIds: {
    name: "group_ids",
    sql: "INSERT INTO state.group_ids (index, groups) SELECT ?::bigint, ?::bytea FROM guard",
  },
  forgetGroupIds: {
    name: "forgotten",
    sql: "DELETE FROM state.group_ids USING guard WHERE index < ?",
  },
} as const satisfies Record<string, Part>;

type PartName = keyof typeof PARTS;

const STATEMENTS = new Map<string, Statement>();

/** Few combinations occur, and each is prepared once per session. */
function statementOf(names: readonly PartName[]): Statement {
  const key = names.join("_");
  const known = STATEMENTS.get(key);
  if (known !== undefined) return known;
  let parameter = 0;
  const parts = names.map((name) => {
    const sql = PARTS[name].sql.replaceAll("?", () => `$${++parameter}`);
    return `${PARTS[name].name} AS (${sql})`;
  });
  const statement = {
    // A name has at most 63 bytes; the number of the combination keeps it short and unique.
    name: `apply_${STATEMENTS.size}`,
    text: `WITH ${parts.join(",\n")}\nSELECT count(*) AS applied FROM guard`,
  };
  STATEMENTS.set(key, statement);
  return statement;
}

class StatementBuilder {
  readonly #names: PartName[] = [];
  readonly #values: Parameter[] = [];

  add(name: PartName, values: readonly Parameter[]): void {
    this.#names.push(name);
    this.#values.push(...values);
  }

  finish(): { statement: Statement; values: readonly Parameter[] } {
    return { statement: statementOf(this.#names), values: this.#values };
  }
}

function leafParameters(leaves: readonly LeafWrite[], numbers: OriginNumbers): Parameter[] {
  const anchorIds = leaves.map(({ anchorId }) => anchorId);
  return [
    bigintArray(leaves.map(({ sequence }) => sequence)),
    originArray(leaves, numbers),
    bigintArray(leaves.map(({ depth }) => depth)),
    smallintArray(leaves.map(({ kind }) => kind)),
    bigintArray(leaves.map(({ acceptedMs }) => acceptedMs)),
    prefixArray(anchorIds),
    byteaArray(anchorIds),
    byteaArray(leaves.map(({ bytes }) => bytes)),
  ];
}

function addLeaves(builder: StatementBuilder, writes: EntryWrites, numbers: OriginNumbers): void {
  const { leaves, clientEvents } = writes;
  if (leaves.length === 0) return;
  const common = leafParameters(leaves, numbers);
  if (clientEvents.length === 0) {
    builder.add("leaves", common);
    return;
  }
  const bySequence = new Map(clientEvents.map((event) => [event.sequence, event]));
  const events = leaves.map(({ sequence }) => bySequence.get(sequence) ?? null);
  builder.add("clientLeaves", [
    ...common,
    prefixArray(events.map((event) => event && clientEventLookup(event.apiClientId, event.clientEventId))),
    byteaArray(events.map((event) => event && event.apiClientId)),
    textArray(events.map((event) => event && event.clientEventId)),
    byteaArray(events.map((event) => event && event.salt)),
    byteaArray(events.map((event) => event && event.contentHash)),
  ]);
}

interface OfOrigin {
  readonly originFingerprint: Uint8Array;
}

function originArray(rows: readonly OfOrigin[], numbers: OriginNumbers): Buffer {
  const found = new Map<Uint8Array, number>();
  return smallintArray(
    rows.map(({ originFingerprint }) => {
      // Most rows of an entry share one fingerprint object: the hex look-up is made once for it.
      const known = found.get(originFingerprint) ?? numbers.find(originFingerprint);
      if (known === undefined) {
        throw new StoreError("out_of_order", `origin ${bytesToHex(originFingerprint)} was never listed`);
      }
      found.set(originFingerprint, known);
      return known;
    }),
  );
}

function addTree(builder: StatementBuilder, writes: EntryWrites, numbers: OriginNumbers): void {
  const { tiles, certificates } = writes;
  if (tiles.length > 0) {
    builder.add("tiles", [
      originArray(tiles, numbers),
      smallintArray(tiles.map(({ level }) => level)),
      bigintArray(tiles.map(({ index }) => index)),
      byteaArray(tiles.map(({ root }) => root)),
      byteaArray(tiles.map(({ hashes }) => hashes)),
    ]);
  }
  if (certificates.length > 0) {
    builder.add("certificates", [
      originArray(certificates, numbers),
      bigintArray(certificates.map(({ treeSize }) => treeSize)),
      byteaArray(certificates.map(({ rootHash }) => rootHash)),
      bigintArray(certificates.map(({ certifiedAtS }) => certifiedAtS)),
      bigintArray(certificates.map(({ trustRootVersion }) => trustRootVersion)),
      byteaArray(certificates.map(({ cosignatures }) => encodeCosignatures(cosignatures))),
    ]);
  }
}

function addTrustRoots(builder: StatementBuilder, writes: EntryWrites, numbers: OriginNumbers): void {
  const { originStatuses, trustRoots, trustRootPositions: positions } = writes;
  if (originStatuses.length > 0) {
    builder.add("origins", [
      originArray(originStatuses, numbers),
      byteaArray(originStatuses.map(({ originFingerprint }) => originFingerprint)),
      textArray(originStatuses.map(({ status }) => status)),
    ]);
  }
  if (trustRoots.length > 0) {
    builder.add("trustRoots", [
      bigintArray(trustRoots.map(({ version }) => version)),
      byteaArray(trustRoots.map(({ rootThk }) => rootThk)),
      bigintArray(trustRoots.map(({ sequence }) => sequence)),
      textArray(trustRoots.map(({ document }) => document)),
    ]);
  }
  if (positions.length > 0) {
    builder.add("positions", [
      originArray(positions, numbers),
      bigintArray(positions.map(({ leafIndex }) => leafIndex)),
      bigintArray(positions.map(({ version }) => version)),
    ]);
  }
}

function addKeys(builder: StatementBuilder, { apiKeys }: EntryWrites): void {
  if (apiKeys.length === 0) return;
  builder.add("apiKeys", [
    byteaArray(apiKeys.map(({ keyId }) => keyId)),
    byteaArray(apiKeys.map(({ keyHash }) => keyHash)),
    byteaArray(apiKeys.map(({ apiClientId }) => apiClientId)),
    textArray(apiKeys.map(({ label }) => label)),
    smallintArray(apiKeys.map(({ scopes }) => scopesToBits(scopes))),
    bigintArray(apiKeys.map(({ expiresMs }) => expiresMs)),
    bigintArray(apiKeys.map(({ createdMs }) => createdMs)),
    bigintArray(apiKeys.map(({ revokedMs }) => revokedMs)),
    textArray(apiKeys.map(({ operator }) => operator)),
  ]);
}

function addGroups(builder: StatementBuilder, decision: EntryDecision, deleteGroupIdsBelow: number | null): void {
  const { groupIds } = decision.writes;
  if (groupIds.length > 0) builder.add("groupIds", [decision.index, encodeGroupIds(groupIds)]);
  if (deleteGroupIdsBelow !== null) builder.add("forgetGroupIds", [deleteGroupIdsBelow]);
}

/** The same rows without the row of the ledger, for a transaction that writes that row itself. */
export function buildInsert(
  writes: EntryWrites,
  numbers: OriginNumbers,
): { statement: Statement; values: readonly Parameter[] } {
  const builder = new StatementBuilder();
  builder.add("unguarded", []);
  addTrustRoots(builder, writes, numbers);
  addLeaves(builder, writes, numbers);
  addTree(builder, writes, numbers);
  addKeys(builder, writes);
  return builder.finish();
}

export interface ApplyInput {
  readonly decision: EntryDecision;
  /** The row as it will be. */
  readonly row: LedgerRow;
  /** Applied index that must be stored now. */
  readonly previousIndex: number;
  /** Includes the origins that are new with this entry. */
  readonly numbers: OriginNumbers;
  /** null: leave the forgotten rows for a later entry. */
  readonly deleteGroupIdsBelow: number | null;
}

export function buildApply(input: ApplyInput): { statement: Statement; values: readonly Parameter[] } {
  const { decision, row, numbers } = input;
  const builder = new StatementBuilder();
  builder.add("ledger", [
    row.appliedIndex,
    row.appliedTerm,
    row.effect,
    row.nextSequence,
    row.lastAcceptedMs,
    row.groupIdsFrom,
    row.confState,
    ledgerRowChecksum(row),
    input.previousIndex,
  ]);
  addTrustRoots(builder, decision.writes, numbers);
  addLeaves(builder, decision.writes, numbers);
  addTree(builder, decision.writes, numbers);
  addKeys(builder, decision.writes);
  addGroups(builder, decision, input.deleteGroupIdsBelow);
  return builder.finish();
}
