/** Everything a node holds in memory of its ledger, read back in one snapshot; cheap checks are made. */
import { openTileWidth, tileLevelsAt } from "@event-anchoring/ledger";
import type { StoredLedger, StoredOrigin } from "@event-anchoring/ledger";
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
import type { AnchorId, Frontier } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import type { Reader } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { loadApiKeys } from "../tables/api-keys.ts";
import { loadCertifiedHead } from "../tables/certificates.ts";
import { decodeGroupIds, loadGroupIds } from "../tables/group-ids.ts";
import { loadLedgerRow } from "../tables/ledger.ts";
import type { LedgerRow } from "../tables/ledger.ts";
import { loadOperatorActs } from "../tables/operators.ts";
import { loadOriginRows } from "../tables/origins.ts";
import type { OriginRow } from "../tables/origins.ts";
import { loadPositions } from "../tables/trust-root-positions.ts";
import { loadTrustRoots } from "../tables/trust-roots.ts";
import { LoadedTiles, loadHashRanges, rangesOfSubtrees, splitHashes } from "./tree-hashes.ts";
import type { HashRange } from "./tree-hashes.ts";

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

/** @throws StoreError `out_of_order` if the origin is unknown or smaller, `corrupt` if a hash is missing */
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
 * Three derivations of one tree must agree: the root a quorum signed, the one from the certified size and the leaves
 * since, and the one from the tiles.
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
  const treeSize = row.maxDepth === null ? 0 : row.maxDepth + 1;
  const certified = await loadCertifiedHead(session, origin);
  const certifiedSize = certified?.treeSize ?? 0;
  if (certifiedSize > treeSize) {
    throw new StoreError("corrupt", `origin ${origin} has ${treeSize} leaves and a certificate of ${certifiedSize}`);
  }
  const openStart = treeSize - (treeSize % TILE_WIDTH);
  const from = Math.max(0, Math.min(certifiedSize, openStart, treeSize - 1));
  const leaves = await loadLeaves(session, origin, from, treeSize);
  const stored: StoredOrigin = {
    originFingerprint: toOriginFingerprint(row.originFingerprint),
    status: row.status,
    treeSize,
    lastAnchorId: leaves.at(-1) ?? toAnchorId(ZERO_32),
    certified,
    frontierAtCertified: await loadFrontier(session, row.originFingerprint, certifiedSize),
    leavesSinceCertified: leaves.slice(certifiedSize - from),
    openTiles: await loadOpenTiles(session, row.originFingerprint, treeSize),
    trustRootPositions: await loadPositions(session, origin),
  };
  assertOneTree(stored, await loadFrontier(session, row.originFingerprint, treeSize));
  return stored;
}

export interface LedgerParts {
  readonly row: LedgerRow;
  readonly originRows: readonly OriginRow[];
  readonly ledger: StoredLedger;
}

/** @throws StoreError `corrupt` */
export async function loadLedger(session: Reader): Promise<LedgerParts> {
  const row = await loadLedgerRow(session);
  const originRows = await loadOriginRows(session);
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
    apiKeys: await loadApiKeys(session),
    operatorActs: await loadOperatorActs(session),
    groupIds: (await loadGroupIds(session, row.groupIdsFrom, null)).flatMap(({ index, groups }) =>
      decodeGroupIds(groups, index),
    ),
  };
  return { row, originRows, ledger };
}
