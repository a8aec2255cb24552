import {
  type Certificate,
  type CertificateWrite,
  type DecidedGroupId,
  EMPTY_STORED_LEDGER,
  type EntryDecision,
  type StoredLedger,
  type StoredOrigin,
  TileAccumulator,
  type TrustRootPosition,
  keyIdHex,
} from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  type AnchorId,
  type OriginFingerprint,
  type OriginStatus,
  ZERO_32,
  appendToFrontier,
  bytesToHex,
  emptyFrontier,
  frontierRoot,
  toAnchorId,
} from "@event-anchoring/protocol";

const { sha256 } = nodeCrypto;

interface OriginRows {
  readonly originFingerprint: OriginFingerprint;
  status: OriginStatus;
  readonly leaves: AnchorId[];
  certificate: CertificateWrite | null;
  readonly positions: TrustRootPosition[];
}

/** What a store loads when these entries, and no others, are in its tables. */
export function storedLedgerOf(decisions: readonly EntryDecision[]): StoredLedger {
  const last = decisions.at(-1);
  if (last === undefined) return EMPTY_STORED_LEDGER;
  const origins = [...originRowsOf(decisions).values()].map(storedOriginOf);
  const groupIds: DecidedGroupId[] = [];
  const apiKeys = new Map<string, StoredLedger["apiKeys"][number]>();
  const counters = new Map<string, number>();
  let kept = 0;
  for (const { index, writes } of decisions) {
    for (const id of writes.groupIds) groupIds.push({ ...id, index });
    for (const key of writes.apiKeys) apiKeys.set(keyIdHex(key.keyId), key);
    for (const { operator, counter } of writes.operatorActs) counters.set(operator, counter);
    kept = Math.max(kept, writes.forgetGroupIdsBelow);
  }
  return {
    appliedIndex: last.index,
    appliedTerm: last.term,
    effect: last.effect,
    nextSequence: last.nextSequence,
    lastAcceptedMs: last.lastAcceptedMs,
    rules: last.rules,
    stampMs: last.stampMs,
    groupIdsHash: last.groupIdsHash,
    clientEventsHash: last.clientEventsHash,
    trustRoots: decisions.flatMap(({ writes }) =>
      writes.trustRoots.map(({ version, document }) => ({ version, document })),
    ),
    origins,
    apiKeys: [...apiKeys.values()],
    operatorActs: [...counters].map(([operator, counter]) => ({ operator, counter })),
    groupIds: groupIds.filter(({ index }) => index >= kept),
  };
}

/** The newest entry that erased something, or named what was erased; 0: none. */
export function forgetLogToOf(applied: readonly { readonly decision: EntryDecision }[]): number {
  return applied.findLast(({ decision }) => decision.isToBeForgotten)?.decision.index ?? 0;
}

/** The newest recorded certificate of each origin. */
export function recordedIn(decisions: readonly EntryDecision[]): readonly Certificate[] {
  return [...originRowsOf(decisions).values()].flatMap(({ certificate }) =>
    certificate === null ? [] : [certificate],
  );
}

/** The root of an origin's first leaves; null if it has not as many. */
export function rootIn(
  decisions: readonly EntryDecision[],
  origin: OriginFingerprint,
  treeSize: number,
): Uint8Array | null {
  const leaves = originRowsOf(decisions).get(bytesToHex(origin))?.leaves ?? [];
  if (leaves.length < treeSize) return null;
  return frontierRoot(frontierOf(leaves.slice(0, treeSize)), sha256);
}

/** How many leaves each origin has, by the hex of its fingerprint. */
export function originRowsOf(decisions: readonly EntryDecision[]): ReadonlyMap<string, OriginRows> {
  const origins = new Map<string, OriginRows>();
  for (const { writes } of decisions) {
    for (const { originFingerprint, status } of writes.originStatuses) {
      const key = bytesToHex(originFingerprint);
      const known = origins.get(key);
      if (known !== undefined) known.status = status;
      else origins.set(key, { originFingerprint, status, leaves: [], certificate: null, positions: [] });
    }
    for (const certificate of writes.certificates) {
      const origin = origins.get(bytesToHex(certificate.originFingerprint));
      if (origin !== undefined) origin.certificate = certificate;
    }
    for (const leaf of writes.leaves) origins.get(bytesToHex(leaf.originFingerprint))?.leaves.push(leaf.anchorId);
    for (const { originFingerprint, leafIndex, version } of writes.trustRootPositions) {
      origins.get(bytesToHex(originFingerprint))?.positions.push({ leafIndex, version });
    }
  }
  return origins;
}

function storedOriginOf({ originFingerprint, status, leaves, certificate, positions }: OriginRows): StoredOrigin {
  const certifiedSize = certificate?.treeSize ?? 0;
  const tiles = new TileAccumulator(0, [], sha256);
  for (const leaf of leaves) tiles.append(leaf);
  const certified =
    certificate === null
      ? null
      : { treeSize: certifiedSize, rootHash: certificate.rootHash, certifiedAtS: certificate.certifiedAtS };
  return {
    originFingerprint,
    status,
    treeSize: leaves.length,
    lastAnchorId: leaves.at(-1) ?? toAnchorId(ZERO_32),
    certified,
    frontierAtCertified: frontierOf(leaves.slice(0, certifiedSize)),
    leavesSinceCertified: leaves.slice(certifiedSize),
    openTiles: tiles.openTiles(),
    trustRootPositions: positions,
  };
}

function frontierOf(leaves: readonly Uint8Array[]): ReturnType<typeof emptyFrontier> {
  return leaves.reduce((frontier, leaf) => appendToFrontier(frontier, leaf, sha256), emptyFrontier());
}
