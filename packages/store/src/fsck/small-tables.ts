/** Tables of few rows: trust roots, origins, positions, API keys, group ids, the ledger's own row, the identity. */
import { apiKeyEntry, operatorEntry } from "@event-anchoring/ledger";
import type { LeafWalk } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, equalBytes, raftIdOf } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import type { Reader } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { loadLedgerRow } from "../tables/ledger.ts";
import { raftIdFromSigned } from "../log/raft-codec.ts";
import type { Findings, RowName } from "./findings.ts";
import { apiKeyOf, apiKeyRow, judgeApiKey, judgeOperatorAct, operatorRow } from "./key-table.ts";
import type { DerivedEntry } from "./state-tree-rows.ts";
import { trustRootRow } from "./trust-roots.ts";
import type { RaftIndex, Term } from "raft-ts";

const AFTER_ALL = Number.MAX_SAFE_INTEGER;

/** Short numbers of origins, as this database has them. */
export interface OriginRows {
  readonly fingerprints: ReadonlyMap<number, Uint8Array>;
  /** By the hex of the fingerprint. */
  readonly numbers: ReadonlyMap<string, number>;
  /** By number. */
  readonly statuses: ReadonlyMap<number, string>;
}

export async function loadOriginRows(session: Reader): Promise<OriginRows> {
  const rows = await session.read<{ origin: number; origin_fingerprint: Uint8Array; status: string }>({
    name: "fsck_origins",
    text: "SELECT origin, origin_fingerprint, status FROM state.origins",
  });
  return {
    fingerprints: new Map(rows.map((row) => [row.origin, row.origin_fingerprint])),
    numbers: new Map(rows.map((row) => [bytesToHex(row.origin_fingerprint), row.origin])),
    statuses: new Map(rows.map((row) => [row.origin, row.status])),
  };
}

/** The origins that the newest trust root lists, and no others. Checked before the leaves, which use these numbers. */
export function judgeOriginRows(origins: OriginRows, chain: TrustRootChain | null, findings: Findings): void {
  const listed = chain?.newest.trustRoot.origins ?? [];
  for (const { originFingerprint, status } of listed) {
    const hex = bytesToHex(originFingerprint);
    const name: RowName = { table: "state.origins", key: `origin_fingerprint ${hex}`, at: -1 };
    const number = origins.numbers.get(hex);
    if (number === undefined) findings.add(name, null, "missing", `a row of an origin that is ${status}`);
    else findings.compare(name, { status: origins.statuses.get(number) ?? null }, { status });
  }
  for (const [number, fingerprint] of origins.fingerprints) {
    if (listed.some(({ originFingerprint }) => equalBytes(originFingerprint, fingerprint))) continue;
    const name: RowName = { table: "state.origins", key: `origin ${number}`, at: -1 };
    findings.add(name, "origin_fingerprint", bytesToHex(fingerprint), "one that the newest trust root lists");
  }
}

/** Enough to see that no version was added since. */
export async function loadTrustRootCount(session: Reader): Promise<number> {
  const rows = await session.read<{ versions: number }>({
    name: "fsck_trust_root_count",
    text: "SELECT count(*)::bigint AS versions FROM state.trust_roots",
  });
  return rows[0]?.versions ?? 0;
}

/** Documents in the order of their versions; a missing version is reported. */
export async function loadDocuments(session: Reader, findings: Findings): Promise<readonly string[]> {
  const rows = await session.read<{ version: string; document: string }>({
    name: "fsck_documents",
    text: "SELECT version::text AS version, document FROM state.trust_roots ORDER BY state.trust_roots.version",
  });
  for (const [place, { version }] of rows.entries()) {
    if (version !== String(place + 1)) findings.add(trustRootRow(place + 1), "version", version, String(place + 1));
  }
  return rows.map(({ document }) => document);
}

/**
 * Hashes of trust roots, and the leaves that announce them. Versions that were announced after the walk are not
 * checked.
 */
export async function judgeTrustRootRows(session: Reader, walk: LeafWalk, findings: Findings): Promise<void> {
  const rows = await session.read<{ version: number; root_thk: Uint8Array; sequence: string }>({
    name: "fsck_trust_roots",
    text: `SELECT version, root_thk, sequence::text AS sequence FROM state.trust_roots
      ORDER BY state.trust_roots.version`,
  });
  for (const row of rows) {
    const root = walk.version(row.version);
    if (root === null) continue;
    const name = { ...trustRootRow(row.version), at: AFTER_ALL };
    findings.compare(name, row, { root_thk: root.rootThk });
    const announcedAt = walk.announcedAt[row.version - 1];
    if (announcedAt === undefined) findings.add(name, "sequence", row.sequence, "that of a leaf which announces it");
    else findings.compare(name, row, { sequence: announcedAt });
  }
}

export async function judgePositions(
  session: Reader,
  walk: LeafWalk,
  origins: OriginRows,
  findings: Findings,
): Promise<void> {
  const rows = await session.read<{ origin: number; leaf_index: number; version: string }>({
    name: "fsck_positions",
    text: "SELECT origin, leaf_index, version::text AS version FROM state.trust_root_positions",
  });
  for (const { originFingerprint, positions, isBroken } of walk.origins()) {
    if (isBroken) continue;
    const hex = bytesToHex(originFingerprint);
    const own = rows.filter(({ origin }) => origin === origins.numbers.get(hex));
    const nameOf = (leafIndex: number): RowName => {
      return { table: "state.trust_root_positions", key: `origin ${hex}, leaf_index ${leafIndex}`, at: AFTER_ALL };
    };
    for (const { leafIndex, version } of positions) {
      const row = own.find((each) => each.leaf_index === leafIndex);
      if (row === undefined) findings.add(nameOf(leafIndex), null, "missing", `a row of version ${version}`);
      else findings.compare(nameOf(leafIndex), { version: row.version }, { version });
    }
    for (const { leaf_index: leafIndex } of own) {
      if (positions.some((each) => each.leafIndex === leafIndex)) continue;
      findings.add(nameOf(leafIndex), null, "a row", "nothing: the leaf announces no trust root");
    }
  }
}

/**
 * @returns the entries in the state tree that follow from keys and operators; damaged ones, which are reported, give
 * none
 */
export async function judgeApiKeys(session: Reader, findings: Findings): Promise<DerivedEntry[]> {
  const rows = await session.read<{
    key_id: Uint8Array;
    key_hash: Uint8Array;
    api_client_id: Uint8Array;
    label: string;
    scopes: number;
    expires_ms: string;
    requests_per_second: string;
    created_ms: string;
    revoked_ms: string;
    created_by: string;
    created_counter: string;
    ended_by: string;
    ended_counter: string;
  }>({
    name: "fsck_api_keys",
    text: `SELECT key_id, key_hash, api_client_id, label, scopes, expires_ms::text AS expires_ms,
        requests_per_second::text AS requests_per_second, created_ms::text AS created_ms,
        revoked_ms::text AS revoked_ms, created_by, created_counter::text AS created_counter, ended_by,
        ended_counter::text AS ended_counter FROM state.api_keys ORDER BY key_id`,
  });
  const entries: DerivedEntry[] = [];
  for (const row of rows) {
    const { key_id: keyId, key_hash: keyHash, label, scopes, created_by: createdBy, ended_by: endedBy } = row;
    const stated = { keyId, keyHash, label, createdBy, endedBy, scopes, numbers: row };
    if (!judgeApiKey(stated, findings)) continue;
    entries.push({ entry: apiKeyEntry(apiKeyOf(stated, row.api_client_id)), name: apiKeyRow(keyId) });
  }
  const acts = await session.read<{ operator: string; counter: string }>({
    name: "fsck_operators",
    text: "SELECT operator, counter::text AS counter FROM state.operators ORDER BY operator",
  });
  for (const { operator, counter } of acts) {
    const act = { operator, counter: Number(counter) };
    if (!judgeOperatorAct(operator, counter, findings)) continue;
    entries.push({ entry: operatorEntry(act), name: operatorRow(operator) });
  }
  return entries;
}

/** How far the ledger is, as far as the walk needs it. */
export interface LedgerEnds {
  readonly nextSequence: number;
  readonly appliedIndex: RaftIndex;
  readonly appliedTerm: Term;
  readonly lastAcceptedMs: number;
  readonly groupIdsFrom: number;
  /** 32 bytes each. */
  readonly stateRoot: Uint8Array;
  readonly groupIdsHash: Uint8Array;
  readonly clientEventsHash: Uint8Array;
}

const LEDGER_ROW: RowName = { table: "state.ledger", key: "the only row", at: -1 };

/** @returns null: there is no usable row */
export async function judgeLedgerRow(session: Reader, findings: Findings): Promise<LedgerEnds | null> {
  try {
    return await loadLedgerRow(session);
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "corrupt") throw error;
    findings.add(LEDGER_ROW, "checksum", error.message, "that of the other columns");
    return null;
  }
}

/** Called at the end of the leaves of one snapshot. @param clientEvents running hash over them; null: not known */
export function judgeLedgerEnds(
  ends: LedgerEnds,
  walk: LeafWalk,
  clientEvents: Uint8Array | null,
  findings: Findings,
): void {
  const name = { ...LEDGER_ROW, at: AFTER_ALL };
  const { nextSequence: next_sequence, lastAcceptedMs: last_accepted_ms, clientEventsHash: client_events_hash } = ends;
  const derived = { next_sequence: walk.nextSequence, last_accepted_ms: walk.lastAcceptedMs };
  findings.compare(name, { next_sequence, last_accepted_ms }, derived);
  if (clientEvents !== null) findings.compare(name, { client_events_hash }, { client_events_hash: clientEvents });
}

export async function judgeGroupIdRows(session: Reader, ends: LedgerEnds, findings: Findings): Promise<void> {
  const rows = await session.read<{ index: string; bytes: number }>(
    {
      text: `SELECT index::text AS index, octet_length(groups) AS bytes FROM state.group_ids
        WHERE octet_length(groups) % 24 <> 0 OR octet_length(groups) = 0 OR index > $1 OR index < 1 LIMIT 100`,
    },
    [ends.appliedIndex],
  );
  for (const { index, bytes } of rows) {
    const name = { table: "state.group_ids", key: `index ${index}`, at: AFTER_ALL };
    findings.add(name, "groups", `${bytes} bytes`, `ids of 24 bytes each, of an entry up to ${ends.appliedIndex}`);
  }
}

/** The node that owns this database: the raft id follows from the two names. */
export async function judgeIdentity(session: Reader, chain: TrustRootChain | null, findings: Findings): Promise<void> {
  const rows = await session.read<{ node_id: string; cluster_id: Uint8Array; raft_id: string }>({
    text: "SELECT node_id, cluster_id, raft_id::text AS raft_id FROM node.identity",
  });
  const name: RowName = { table: "node.identity", key: "the only row", at: -1 };
  for (const { node_id: nodeId, cluster_id: clusterId, raft_id: raftId } of rows) {
    if (chain !== null) {
      findings.compare(name, { cluster_id: clusterId }, { cluster_id: chain.newest.trustRoot.clusterId });
    }
    const derived = raftIdOf(clusterId, nodeId, nodeCrypto.sha256).toString();
    findings.compare(name, { raft_id: raftIdFromSigned(raftId).toString() }, { raft_id: derived });
  }
}
