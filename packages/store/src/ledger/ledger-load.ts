/** Everything a node holds in memory of its ledger, read back in one snapshot and checked as far as that is cheap. */
import { openTileWidth, scopesFromBits, tileLevelsAt } from "@event-anchoring/ledger";
import type {
  ApiKey,
  CertifiedHead,
  DecidedGroupId,
  OperatorAct,
  StoredLedger,
  StoredOrigin,
  StoredTrustRoot,
  TrustRootPosition,
} from "@event-anchoring/ledger";
import {
  TILE_WIDTH,
  ZERO_32,
  anchorIdOf,
  appendToFrontier,
  bytesToHex,
  equalBytes,
  frontierRoot,
  subtreesOfSize,
  toAnchorId,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import type { AnchorId, Frontier, OriginStatus } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import type { Reader } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { decodeGroupIds, ledgerRowChecksum } from "../tables/ledger-codec.ts";
import type { LedgerRow } from "../tables/ledger-codec.ts";
import { LoadedTiles, loadHashRanges, rangesOfSubtrees, splitHashes } from "./tree-hashes.ts";
import type { HashRange } from "./tree-hashes.ts";

export interface OriginRow {
  readonly origin: number;
  readonly origin_fingerprint: Uint8Array;
  readonly status: OriginStatus;
  /** null: no leaf. */
  readonly max_depth: number | null;
}

/** With the newest leaf of each, which its index gives without a scan. */
const LOAD_ORIGINS = {
  name: "origins",
  text: `SELECT o.origin, o.origin_fingerprint, o.status,
      (SELECT max(a.depth) FROM state.anchors a WHERE a.origin = o.origin) AS max_depth
    FROM state.origins o ORDER BY o.origin_fingerprint`,
};

export interface ApiKeyRow {
  readonly key_id: Uint8Array;
  readonly key_hash: Uint8Array;
  readonly api_client_id: Uint8Array;
  readonly label: string;
  readonly scopes: number;
  readonly expires_ms: number;
  readonly requests_per_second: number;
  readonly created_ms: number;
  readonly revoked_ms: number;
  readonly created_by: string;
  readonly created_counter: number;
  readonly ended_by: string;
  readonly ended_counter: number;
}

export function toApiKey(row: ApiKeyRow): ApiKey {
  return {
    keyId: row.key_id,
    keyHash: row.key_hash,
    apiClientId: row.api_client_id,
    label: row.label,
    scopes: scopesFromBits(row.scopes),
    expiresMs: row.expires_ms,
    requestsPerSecond: row.requests_per_second,
    createdMs: row.created_ms,
    revokedMs: row.revoked_ms,
    createdBy: { operator: row.created_by, counter: row.created_counter },
    endedBy: row.ended_by === "" ? null : { operator: row.ended_by, counter: row.ended_counter },
  };
}

/** The newest act of each operator, by name. */
export function loadOperatorActs(session: Reader): Promise<OperatorAct[]> {
  return session.read<OperatorAct>({ text: "SELECT operator, counter FROM state.operators ORDER BY operator" });
}

/** @throws StoreError `corrupt` */
export async function loadLedgerRow(session: Reader): Promise<LedgerRow> {
  const rows = await session.read<{
    applied_index: number;
    applied_term: number;
    effect: Uint8Array;
    next_sequence: number;
    last_accepted_ms: number;
    group_ids_from: number;
    conf_state: Uint8Array | null;
    rules: number;
    stamp_ms: number;
    state_root: Uint8Array;
    group_ids_hash: Uint8Array;
    client_events_hash: Uint8Array;
    checksum: Uint8Array;
  }>({ text: "SELECT * FROM state.ledger" });
  const found = rows[0];
  if (found === undefined) throw new StoreError("corrupt", "the row of the ledger is missing");
  const row: LedgerRow = {
    appliedIndex: found.applied_index,
    appliedTerm: found.applied_term,
    effect: found.effect,
    nextSequence: found.next_sequence,
    lastAcceptedMs: found.last_accepted_ms,
    groupIdsFrom: found.group_ids_from,
    confState: found.conf_state,
    rules: found.rules,
    stampMs: found.stamp_ms,
    stateRoot: found.state_root,
    groupIdsHash: found.group_ids_hash,
    clientEventsHash: found.client_events_hash,
  };
  if (!equalBytes(found.checksum, ledgerRowChecksum(row))) {
    throw new StoreError("corrupt", "the row of the ledger does not match its checksum");
  }
  return row;
}

async function loadGroupIds(session: Reader, from: number): Promise<DecidedGroupId[]> {
  const rows = await session.read<{ index: number; groups: Uint8Array }>(
    { text: "SELECT index, groups FROM state.group_ids WHERE index >= $1 ORDER BY index" },
    [from],
  );
  return rows.flatMap(({ index, groups }) => decodeGroupIds(groups, index));
}

async function loadCertifiedHead(session: Reader, origin: number): Promise<CertifiedHead | null> {
  const rows = await session.read<{ tree_size: number; root_hash: Uint8Array; certified_at_s: number }>(
    {
      text: `SELECT tree_size, root_hash, certified_at_s FROM state.certificates
        WHERE origin = $1 ORDER BY tree_size DESC LIMIT 1`,
    },
    [origin],
  );
  const row = rows[0];
  if (row === undefined) return null;
  return { treeSize: row.tree_size, rootHash: row.root_hash, certifiedAtS: row.certified_at_s };
}

async function loadPositions(session: Reader, origin: number): Promise<TrustRootPosition[]> {
  const rows = await session.read<{ leaf_index: number; version: number }>(
    {
      text: `SELECT leaf_index, version FROM state.trust_root_positions
        WHERE origin = $1 ORDER BY leaf_index`,
    },
    [origin],
  );
  return rows.map((row) => ({ leafIndex: row.leaf_index, version: row.version }));
}

/**
 * Anchor ids of the leaves from `from` to the end of the tree, each recomputed from its leaf: what this node will
 * sign must follow from what it holds.
 */
async function loadLeaves(session: Reader, origin: number, from: number, size: number): Promise<AnchorId[]> {
  const rows = await session.read<{ depth: number; anchor_id: Uint8Array; leaf: Uint8Array }>(
    {
      text: `SELECT depth, anchor_id, leaf FROM state.anchors
        WHERE origin = $1 AND depth >= $2 ORDER BY depth`,
    },
    [origin, from],
  );
  if (rows.length !== size - from) {
    throw new StoreError("corrupt", `origin ${origin} has ${rows.length} leaves from ${from} to ${size}`);
  }
  return rows.map(({ depth, anchor_id: anchorId, leaf }, position) => {
    const isIntact = equalBytes(anchorIdOf(leaf, nodeCrypto.sha256), anchorId);
    if (depth !== from + position || !isIntact) {
      throw new StoreError("corrupt", `leaf ${from + position} of origin ${origin} does not match its anchor id`);
    }
    return toAnchorId(anchorId);
  });
}

async function loadRanges(
  session: Reader,
  originFingerprint: Uint8Array,
  ranges: readonly HashRange[],
): Promise<readonly Uint8Array[]> {
  if (ranges.length === 0) return [];
  const { hashes } = await loadHashRanges(session, [{ originFingerprint, ranges }]);
  return hashes[0] ?? [];
}

/** @throws StoreError `out_of_order` if the origin is unknown or smaller, `corrupt` if a hash is not there */
export async function loadFrontier(
  session: Reader,
  originFingerprint: Uint8Array,
  treeSize: number,
): Promise<Frontier> {
  const ranges = rangesOfSubtrees(subtreesOfSize(treeSize));
  return new LoadedTiles(ranges, await loadRanges(session, originFingerprint, ranges)).frontier(treeSize);
}

async function loadOpenTiles(
  session: Reader,
  originFingerprint: Uint8Array,
  treeSize: number,
): Promise<Uint8Array[][]> {
  const ranges = Array.from({ length: tileLevelsAt(treeSize) }, (_, level) => ({
    level,
    index: Math.floor(treeSize / TILE_WIDTH ** (level + 1)),
    start: 0,
    end: openTileWidth(level, treeSize),
  }));
  const filled = ranges.filter(({ end }) => end > 0);
  const hashes = await loadRanges(session, originFingerprint, filled);
  return ranges.map((range) => {
    const found = hashes[filled.indexOf(range)];
    return found === undefined ? [] : splitHashes(found);
  });
}

/**
 * Three ways to one tree: what a quorum signed, what the certified size and the leaves since then give, and what the
 * tiles give.
 */
function assertOneTree(stored: StoredOrigin, frontierOfTiles: Frontier): void {
  const { sha256 } = nodeCrypto;
  const { certified } = stored;
  const certifiedRoot = frontierRoot(stored.frontierAtCertified, sha256);
  if (certified !== null && !equalBytes(certified.rootHash, certifiedRoot)) {
    const name = bytesToHex(stored.originFingerprint);
    throw new StoreError("corrupt", `origin ${name} does not give the root certified for size ${certified.treeSize}`);
  }
  let frontier = stored.frontierAtCertified;
  for (const leaf of stored.leavesSinceCertified) frontier = appendToFrontier(frontier, leaf, sha256);
  const isOne = equalBytes(frontierRoot(frontier, sha256), frontierRoot(frontierOfTiles, sha256));
  if (!isOne) {
    const name = bytesToHex(stored.originFingerprint);
    throw new StoreError("corrupt", `tiles and leaves of origin ${name} do not give the same root`);
  }
}

async function loadOrigin(session: Reader, row: OriginRow): Promise<StoredOrigin> {
  const { origin } = row;
  const treeSize = row.max_depth === null ? 0 : row.max_depth + 1;
  const certified = await loadCertifiedHead(session, origin);
  const certifiedSize = certified?.treeSize ?? 0;
  if (certifiedSize > treeSize) {
    throw new StoreError("corrupt", `origin ${origin} has ${treeSize} leaves and a certificate of ${certifiedSize}`);
  }
  const openStart = treeSize - (treeSize % TILE_WIDTH);
  const from = Math.max(0, Math.min(certifiedSize, openStart, treeSize - 1));
  const leaves = await loadLeaves(session, origin, from, treeSize);
  const stored: StoredOrigin = {
    originFingerprint: toOriginFingerprint(row.origin_fingerprint),
    status: row.status,
    treeSize,
    lastAnchorId: leaves.at(-1) ?? toAnchorId(ZERO_32),
    certified,
    frontierAtCertified: await loadFrontier(session, row.origin_fingerprint, certifiedSize),
    leavesSinceCertified: leaves.slice(certifiedSize - from),
    openTiles: await loadOpenTiles(session, row.origin_fingerprint, treeSize),
    trustRootPositions: await loadPositions(session, origin),
  };
  assertOneTree(stored, await loadFrontier(session, row.origin_fingerprint, treeSize));
  return stored;
}

async function loadTrustRoots(session: Reader): Promise<StoredTrustRoot[]> {
  return session.read<StoredTrustRoot>({
    text: "SELECT version, document FROM state.trust_roots ORDER BY version",
  });
}

export interface LedgerParts {
  readonly row: LedgerRow;
  readonly originRows: readonly OriginRow[];
  readonly ledger: StoredLedger;
}

/** @throws StoreError `corrupt` */
export async function loadLedger(session: Reader): Promise<LedgerParts> {
  const row = await loadLedgerRow(session);
  const originRows = await session.read<OriginRow>(LOAD_ORIGINS);
  const newest = await session.read<{ sequence: number; accepted_ms: number }>({
    text: "SELECT sequence, accepted_ms FROM state.anchors ORDER BY sequence DESC LIMIT 1",
  });
  const last = newest[0] ?? { sequence: -1, accepted_ms: 0 };
  if (last.sequence + 1 !== row.nextSequence || last.accepted_ms !== row.lastAcceptedMs) {
    throw new StoreError(
      "corrupt",
      `the newest anchor is ${last.sequence} of ${last.accepted_ms}, the ledger expects ` +
        `${row.nextSequence - 1} of ${row.lastAcceptedMs}`,
    );
  }
  const apiKeys = await session.read<ApiKeyRow>({ text: "SELECT * FROM state.api_keys ORDER BY key_id" });
  const origins: StoredOrigin[] = [];
  for (const originRow of originRows) origins.push(await loadOrigin(session, originRow));
  const ledger: StoredLedger = {
    appliedIndex: row.appliedIndex,
    appliedTerm: row.appliedTerm,
    effect: row.effect,
    nextSequence: row.nextSequence,
    lastAcceptedMs: row.lastAcceptedMs,
    rules: row.rules,
    stampMs: row.stampMs,
    groupIdsHash: row.groupIdsHash,
    clientEventsHash: row.clientEventsHash,
    trustRoots: await loadTrustRoots(session),
    origins,
    apiKeys: apiKeys.map(toApiKey),
    operatorActs: await loadOperatorActs(session),
    groupIds: await loadGroupIds(session, row.groupIdsFrom),
  };
  return { row, originRows, ledger };
}
