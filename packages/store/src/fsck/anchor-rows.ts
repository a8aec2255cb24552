/** Rows of state.anchors, and of the tables that repeat fields of their leaves. */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { clientEventLookup } from "@event-anchoring/ledger";
import { claimPairHash, grantPartiesHash } from "@event-anchoring/records";
import type { ClientEventMark, WalkedLeaf } from "@event-anchoring/ledger";
import { LEAF_KIND, anchorIdOf, bytesToHex, equalBytes, isZero } from "@event-anchoring/protocol";
import type { ClaimLeaf, GrantLeaf, RevocationLeaf } from "@event-anchoring/protocol";
import { bigintArray, byteaArray, prefixArray } from "../postgres/binary-array.ts";
import type { Reader } from "../postgres/connection.ts";
import type { SnapshotClientEvent } from "../snapshot/snapshot-format.ts";
import { namesRecorder } from "../tables/anchors.ts";
import { judgeClientEvent, judgeRecorder } from "./client-events.ts";
import type { Findings, RowName, Value } from "./findings.ts";
import { recordOf } from "./leaf-lookup.ts";
import type { LeafLookup, NamedLeaf } from "./leaf-lookup.ts";
import { eventPrefixOf } from "../tables/look-ups.ts";
import { anchorRow } from "./leaf-walk.ts";
import type { NamedLeaves } from "./named-leaves.ts";

const { sha256 } = nodeCrypto;
const PREFIX_BYTES = 8;

/** Integers that may be damaged come as text, prefixes as bytes. */
export interface WalkedAnchorRow {
  readonly sequence: number;
  readonly origin: number;
  readonly depth: string;
  readonly kind: number;
  readonly event_prefix: Uint8Array | null;
  readonly accepted_ms: string;
  readonly anchor_prefix: Uint8Array;
  readonly anchor_id: Uint8Array;
  readonly leaf: Uint8Array;
  readonly client_prefix: Uint8Array | null;
  readonly api_client_id: Uint8Array | null;
  readonly client_event_id: string | null;
  readonly salt: Uint8Array | null;
  readonly content_hash: Uint8Array | null;
}

const ANCHORS = {
  name: "fsck_anchors",
  text: `SELECT sequence, origin, depth::text AS depth, kind, int4send(event_prefix) AS event_prefix,
      accepted_ms::text AS accepted_ms,
      int8send(anchor_prefix) AS anchor_prefix, anchor_id, leaf, int8send(client_prefix) AS client_prefix,
      api_client_id, client_event_id, salt, content_hash
    FROM state.anchors WHERE sequence >= $1 AND sequence < $2 ORDER BY sequence`,
};

export async function loadAnchorRows(session: Reader, from: number, past: number): Promise<readonly WalkedAnchorRow[]> {
  return session.read<WalkedAnchorRow>(ANCHORS, [from, past]);
}

/**
 * What the bytes of the leaf must hash to: the id, if the prefix beside it agrees. If it does not, either the id or the
 * leaf may have been altered; then the leaf is believed.
 */
export function vouchedId({ anchor_id: id, anchor_prefix: prefix }: WalkedAnchorRow): Uint8Array | null {
  return equalBytes(id.subarray(0, PREFIX_BYTES), prefix) ? id : null;
}

const CLIENT_BYTES = 16;
const SALT_BYTES = 32;
const CLIENT_EVENT_ID = /^[\x20-\x7e]{1,128}$/u;

/** @returns false: it cannot be hashed */
function isClientEventShaped(row: WalkedAnchorRow, name: RowName, findings: Findings): boolean {
  const { api_client_id: apiClientId, client_event_id: clientEventId, salt } = row;
  const wrong: string[] = [];
  if (apiClientId !== null && apiClientId.length !== CLIENT_BYTES) wrong.push("api_client_id");
  if (salt !== null && salt.length !== SALT_BYTES) wrong.push("salt");
  if (clientEventId !== null && !CLIENT_EVENT_ID.test(clientEventId)) wrong.push("client_event_id");
  for (const column of wrong) findings.add(name, column, "of another length or alphabet", "what a command can carry");
  return wrong.length === 0;
}

/** @param apiClientId null: the row has none, or it is the client that recorded a claim or a grant */
function clientEventOf(
  row: WalkedAnchorRow,
  apiClientId: Uint8Array | null,
  name: RowName,
  findings: Findings,
): SnapshotClientEvent | null {
  const { client_event_id: clientEventId, salt, client_prefix: prefix } = row;
  if (apiClientId === null) {
    const nothing = { client_prefix: null, client_event_id: null, salt: null };
    findings.compare(name, { client_prefix: prefix, client_event_id: clientEventId, salt }, nothing);
    return null;
  }
  if (prefix === null) findings.add(name, "client_prefix", "null", "that of the client event id");
  if (clientEventId === null && salt === null) {
    return { isErased: true, apiClientId, prefix: prefix ?? new Uint8Array(PREFIX_BYTES) };
  }
  if (clientEventId === null || salt === null) {
    const missing = clientEventId === null ? "client_event_id" : "salt";
    findings.add(name, missing, "null", "there, as its other half is");
    return { isErased: true, apiClientId, prefix: prefix ?? new Uint8Array(PREFIX_BYTES) };
  }
  const derived = clientEventLookup(apiClientId, clientEventId, sha256).subarray(0, PREFIX_BYTES);
  if (prefix !== null) findings.compare(name, { client_prefix: prefix }, { client_prefix: derived });
  return { isErased: false, apiClientId, clientEventId, salt };
}

/** An event with a client event id, as the running hash covers it. */
export interface MarkedEvent extends ClientEventMark {
  readonly isErased: boolean;
}

function markOf(sequence: number, event: SnapshotClientEvent | null): MarkedEvent | null {
  if (event === null) return null;
  const { apiClientId, isErased } = event;
  const prefix = isErased
    ? event.prefix
    : clientEventLookup(apiClientId, event.clientEventId, sha256).subarray(0, PREFIX_BYTES);
  return { sequence, apiClientId, prefix, isErased };
}

/**
 * @param origin its number here; null: it has none
 * @returns what client event the row has; `unknown`: it is damaged
 */
export function judgeAnchorRow(
  row: WalkedAnchorRow,
  { leaf, anchorId }: WalkedLeaf,
  origin: number | null,
  { named, findings }: { readonly named: NamedLeaves; readonly findings: Findings },
): MarkedEvent | null | "unknown" {
  const name = anchorRow(row.sequence);
  const { depth, kind, event_prefix, accepted_ms, anchor_prefix, anchor_id, content_hash } = row;
  const stated = { origin: row.origin, depth, kind, event_prefix, accepted_ms, anchor_prefix, anchor_id, content_hash };
  const contentHash = named.contentHash(leaf);
  const isUnknown = contentHash === null && leaf.kind === LEAF_KIND.revocation;
  findings.compare(name, stated, {
    ...(origin === null ? {} : { origin }),
    depth: leaf.depth,
    kind: leaf.kind,
    event_prefix: "eventHash" in leaf ? eventPrefixOf(leaf.eventHash) : null,
    accepted_ms: leaf.acceptedMs,
    anchor_prefix: anchorId.subarray(0, PREFIX_BYTES),
    anchor_id: anchorId,
    ...(isUnknown ? {} : { content_hash: contentHash }),
  });
  if (!isClientEventShaped(row, name, findings)) return "unknown";
  const [recordedBy, ofEvent] = namesRecorder(leaf.kind) ? [row.api_client_id, null] : [null, row.api_client_id];
  judgeRecorder(leaf, recordedBy, name, findings);
  const clientEvent = clientEventOf(row, ofEvent, name, findings);
  judgeClientEvent(leaf, clientEvent, name, findings);
  return markOf(row.sequence, clientEvent);
}

/** Leaves in the tables of the snapshot that the session is in. */
export class LeavesInTables implements LeafLookup {
  readonly #session: Reader;

  constructor(session: Reader) {
    this.#session = session;
  }

  async find(anchorIds: readonly Uint8Array[]): Promise<ReadonlyMap<string, NamedLeaf>> {
    const rows = await this.#session.read<Pick<WalkedAnchorRow, "sequence" | "anchor_id" | "kind" | "leaf">>(
      {
        name: "fsck_named",
        text: `SELECT a.sequence, a.anchor_id, a.kind,
            CASE WHEN a.kind IN (2, 3) THEN a.leaf ELSE ''::bytea END AS leaf
          FROM unnest($1::bigint[], $2::bytea[]) AS u (prefix, id)
          JOIN state.anchors a ON a.anchor_prefix = u.prefix AND a.anchor_id = u.id`,
      },
      [prefixArray(anchorIds), byteaArray(anchorIds)],
    );
    const found = new Map<string, NamedLeaf>();
    // A damaged leaf is reported at its own row, not where it is named.
    for (const { sequence, anchor_id: id, kind, leaf } of rows) {
      const isIntact = equalBytes(anchorIdOf(leaf, sha256), id);
      const record = isIntact ? recordOf(kind, leaf) : null;
      found.set(bytesToHex(id), { kind: kind as NamedLeaf["kind"], sequence, record });
    }
    return found;
  }
}

type DerivedRow = Readonly<Record<string, Value>> & { readonly sequence: number };

/** Tables with one row for each leaf of a kind, and the fields of it that they repeat. */
const REPEATING = {
  claims: {
    kind: LEAF_KIND.claim,
    columns: `int8send(pair_prefix) AS pair_prefix, pair_hash, entity_fingerprint,
      attribute_type::text AS attribute_type, expires_ms::text AS expires_ms, subject_key, issuer_key`,
  },
  grants: {
    kind: LEAF_KIND.grant,
    columns: `grantor_claim::text AS grantor_claim, grantee_claim::text AS grantee_claim,
      int8send(parties_prefix) AS parties_prefix, grantor_fingerprint, grantee_fingerprint, parent::text AS parent,
      delegation_depth::text AS delegation_depth, grantor_key, witness_key`,
  },
  revocations: { kind: LEAF_KIND.revocation, columns: "target::text AS target" },
} as const;

type RepeatingTable = keyof typeof REPEATING;

const REPEATING_TABLES: readonly RepeatingTable[] = ["claims", "grants", "revocations"];

function claimColumns(leaf: ClaimLeaf): Readonly<Record<string, Value>> {
  const pairHash = claimPairHash(leaf, sha256);
  return {
    pair_prefix: pairHash.subarray(0, PREFIX_BYTES),
    pair_hash: pairHash,
    entity_fingerprint: leaf.entityFingerprint,
    attribute_type: leaf.attributeType,
    expires_ms: leaf.expiresAt,
    subject_key: leaf.subjectPublicKey,
    issuer_key: leaf.issuerPublicKey,
  };
}

/** Without columns that depend on a missing leaf, which is reported as such. */
function grantColumns(leaf: GrantLeaf, named: NamedLeaves): Readonly<Record<string, Value>> {
  const grantor = named.find(leaf.grantorClaimRef);
  const grantee = named.find(leaf.granteeClaimRef);
  const parent = isZero(leaf.parentGrantRef) ? null : named.find(leaf.parentGrantRef);
  const isParentKnown = isZero(leaf.parentGrantRef) || parent !== null;
  const [from, to] = [grantor?.record, grantee?.record];
  const hasParties = from?.kind === LEAF_KIND.claim && to?.kind === LEAF_KIND.claim;
  const parties = hasParties
    ? { grantorFingerprint: from.entityFingerprint, granteeFingerprint: to.entityFingerprint }
    : null;
  return {
    ...(grantor === null ? {} : { grantor_claim: grantor.sequence }),
    ...(grantee === null ? {} : { grantee_claim: grantee.sequence }),
    ...(parties === null
      ? {}
      : {
          parties_prefix: grantPartiesHash(parties, sha256).subarray(0, PREFIX_BYTES),
          grantor_fingerprint: parties.grantorFingerprint,
          grantee_fingerprint: parties.granteeFingerprint,
        }),
    ...(isParentKnown ? { parent: parent?.sequence ?? null } : {}),
    delegation_depth: leaf.delegationDepth,
    grantor_key: leaf.grantorPublicKey,
    witness_key: leaf.witnessPublicKey,
  };
}

function revocationColumns(leaf: RevocationLeaf, named: NamedLeaves): Readonly<Record<string, Value>> {
  const target = named.find(leaf.targetAnchorId);
  return target === null ? {} : { target: target.sequence };
}

function derivedColumns({ leaf }: WalkedLeaf, named: NamedLeaves): Readonly<Record<string, Value>> {
  if (leaf.kind === LEAF_KIND.claim) return claimColumns(leaf);
  if (leaf.kind === LEAF_KIND.grant) return grantColumns(leaf, named);
  return leaf.kind === LEAF_KIND.revocation ? revocationColumns(leaf, named) : {};
}

export interface WalkedRange {
  readonly from: number;
  /** The first sequence that is not in it. */
  readonly past: number;
  /** By sequence; without leaves that could not be read. */
  readonly leaves: ReadonlyMap<number, WalkedLeaf>;
}

/** Every claim, grant and revocation of the range has its row, and no row is without its leaf. */
export async function judgeRepeatingRows(
  session: Reader,
  range: WalkedRange,
  { named, findings }: { readonly named: NamedLeaves; readonly findings: Findings },
): Promise<void> {
  for (const table of REPEATING_TABLES) {
    const { kind, columns } = REPEATING[table];
    const rows = await session.read<DerivedRow>(
      {
        name: `fsck_${table}`,
        text: `SELECT sequence, ${columns} FROM state.${table}
          WHERE sequence >= $1 AND sequence < $2 ORDER BY sequence`,
      },
      [range.from, range.past],
    );
    const bySequence = new Map(rows.map((row) => [row.sequence, row]));
    for (const [sequence, walked] of range.leaves) {
      const row = bySequence.get(sequence);
      const name = recordRow(table, sequence);
      const isOfKind = walked.leaf.kind === kind;
      if (row !== undefined && !isOfKind) {
        findings.add(name, null, "a row", `nothing: the leaf is of kind ${walked.leaf.kind}`);
      } else if (row === undefined && isOfKind) {
        findings.add(name, null, "missing", `a row for the leaf of kind ${kind}`);
      } else if (row !== undefined) findings.compare(name, row, derivedColumns(walked, named));
    }
  }
}

export function recordRow(table: RepeatingTable, sequence: number): RowName {
  return { table: `state.${table}`, key: `sequence ${sequence}`, at: sequence };
}

/** Where origins and sizes begin: from `first` exclusive to `last` inclusive. */
export interface SizeRange {
  readonly origin: number;
  readonly first: number;
  readonly last: number;
}

export interface WalkedCertificateRow {
  readonly origin: number;
  readonly tree_size: number;
  readonly root_hash: Uint8Array;
  readonly certified_at_s: string;
  readonly trust_root_version: string;
  readonly cosignatures: Uint8Array;
}

export async function loadCertificateRows(
  session: Reader,
  ranges: readonly SizeRange[],
): Promise<readonly WalkedCertificateRow[]> {
  if (ranges.length === 0) return [];
  return session.read<WalkedCertificateRow>(
    {
      name: "fsck_certificates",
      text: `SELECT c.origin, c.tree_size, c.root_hash, c.certified_at_s::text AS certified_at_s,
          c.trust_root_version::text AS trust_root_version, c.cosignatures
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u (origin, first, last)
        JOIN state.certificates c ON c.origin = u.origin AND c.tree_size > u.first AND c.tree_size <= u.last`,
    },
    [
      bigintArray(ranges.map(({ origin }) => origin)),
      bigintArray(ranges.map(({ first }) => first)),
      bigintArray(ranges.map(({ last }) => last)),
    ],
  );
}
