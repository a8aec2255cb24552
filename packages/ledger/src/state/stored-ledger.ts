/** The parts of the state that a store keeps, and how a state is rebuilt from them. */
import {
  RecentTree,
  bytesToHex,
  compareBytes,
  equalBytes,
  frontierRoot,
  rootThk,
  parseNote,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import type {
  AnchorId,
  Crypto,
  Frontier,
  OriginFingerprint,
  OriginStatus,
  Sha256,
  TrustRootChain,
} from "@event-anchoring/protocol";
import { keyIdHex } from "./api-key.ts";
import type { ApiKey } from "./api-key.ts";
import type { OperatorAct } from "../entry/command.ts";
import { GroupIdMemory } from "./group-id-memory.ts";
import type { DecidedGroupId } from "./group-id-memory.ts";
import { LedgerHaltError } from "../entry/halt.ts";
import { RELEASE_RULES, RULES_FIRST } from "../entry/rules.ts";
import type { RuleTable } from "../entry/rules.ts";
import type { CertifiedHead, LedgerState, OriginState, TrustRootPosition } from "./state.ts";
import { TileAccumulator } from "./tile-accumulator.ts";

export interface StoredOrigin {
  readonly originFingerprint: OriginFingerprint;
  readonly status: OriginStatus;
  readonly treeSize: number;
  /** Zeros while there is no leaf. */
  readonly lastAnchorId: AnchorId;
  readonly certified: CertifiedHead | null;
  /** Frontier of the tree of the recorded certificate; the empty one before the first. */
  readonly frontierAtCertified: Frontier;
  /** Anchor ids from the certified size on, in order. */
  readonly leavesSinceCertified: readonly AnchorId[];
  /** Hashes of the incomplete tile of each level, level 0 (anchor ids) first. Empty levels on top may be missing. */
  readonly openTiles: readonly (readonly Uint8Array[])[];
  /** Ascending by leaf index. */
  readonly trustRootPositions: readonly TrustRootPosition[];
}

export interface StoredTrustRoot {
  readonly version: number;
  /** The whole signed note. */
  readonly document: string;
}

/** Everything as of appliedIndex, read in one snapshot of the database. */
export interface StoredLedger {
  readonly appliedIndex: number;
  readonly appliedTerm: number;
  readonly effect: Uint8Array;
  readonly nextSequence: number;
  readonly lastAcceptedMs: number;
  readonly rules: number;
  /** As `LedgerState.stampMs`. */
  readonly stampMs: number;
  /** As in `LedgerState`. */
  readonly groupIdsHash: Uint8Array;
  readonly clientEventsHash: Uint8Array;
  /** Ascending by version, from 1. */
  readonly trustRoots: readonly StoredTrustRoot[];
  readonly origins: readonly StoredOrigin[];
  readonly apiKeys: readonly ApiKey[];
  /** The newest of each operator. */
  readonly operatorActs: readonly OperatorAct[];
  readonly groupIds: readonly DecidedGroupId[];
}

/** What a store holds before the first entry. */
export const EMPTY_STORED_LEDGER: StoredLedger = {
  appliedIndex: 0,
  appliedTerm: 0,
  effect: new Uint8Array(32),
  nextSequence: 0,
  lastAcceptedMs: 0,
  rules: RULES_FIRST,
  stampMs: 0,
  groupIdsHash: new Uint8Array(32),
  clientEventsHash: new Uint8Array(32),
  trustRoots: [],
  origins: [],
  apiKeys: [],
  operatorActs: [],
  groupIds: [],
};

function require(condition: boolean, detail: string): void {
  if (!condition) throw new LedgerHaltError("stored_state_inconsistent", detail);
}

function restoreChain(stored: readonly StoredTrustRoot[], crypto: Crypto): TrustRootChain | null {
  const [first] = stored;
  if (first === undefined) return null;
  // The program checks the pin against its configuration; here the chain must be consistent.
  const pinnedRootThk = rootThk(parseNote(first.document).text, crypto.sha256);
  const documents = stored.map(({ document }) => document);
  const verification = verifyTrustRootChain({ documents, pinnedRootThk }, crypto);
  if (verification.result === "refused") {
    const { code, position, detail } = verification;
    throw new LedgerHaltError("stored_state_inconsistent", `trust root ${position + 1}: ${code}: ${detail}`);
  }
  verification.chain.versions.forEach(({ trustRoot }, position) => {
    const version = position + 1;
    const isNext = trustRoot.version === version && stored[position]?.version === version;
    require(isNext, `the trust root at place ${version} has version ${trustRoot.version}`);
  });
  return verification.chain;
}

function restoreTiles(stored: StoredOrigin, name: string, sha256: Sha256): TileAccumulator {
  try {
    return new TileAccumulator(stored.treeSize, stored.openTiles, sha256);
  } catch (error) {
    if (error instanceof RangeError)
      throw new LedgerHaltError("stored_state_inconsistent", `origin ${name}: ${error.message}`);
    throw error;
  }
}

function restoreOrigin(stored: StoredOrigin, sha256: Sha256): OriginState {
  const name = bytesToHex(stored.originFingerprint);
  const { certified, frontierAtCertified: frontier, leavesSinceCertified: leaves, treeSize } = stored;
  require(frontier.size === (certified?.treeSize ?? 0), `origin ${name}: the frontier is of size ${frontier.size}`);
  require(frontier.size + leaves.length ===
    treeSize, `origin ${name}: ${leaves.length} leaves after size ${frontier.size} do not make size ${treeSize}`);
  if (certified !== null) {
    const isRoot = equalBytes(frontierRoot(frontier, sha256), certified.rootHash);
    require(isRoot, `origin ${name}: the frontier does not fold to the certified root of size ${frontier.size}`);
  }
  const lastLeaf = leaves[leaves.length - 1];
  const isLast = lastLeaf === undefined || equalBytes(lastLeaf, stored.lastAnchorId);
  require(isLast, `origin ${name}: the last anchor id is not that of the last leaf`);
  const tree = new RecentTree(frontier, sha256);
  const growth = tree.grow();
  for (const leaf of leaves) growth.append(leaf);
  tree.adopt(growth);
  return {
    originFingerprint: stored.originFingerprint,
    status: stored.status,
    tree,
    tiles: restoreTiles(stored, name, sha256),
    lastAnchorId: stored.lastAnchorId,
    certified,
    trustRootPositions: [...stored.trustRootPositions],
  };
}

/**
 * The state as of the stored applied index. Everything is checked that can be without reading every leaf.
 * @throws LedgerHaltError `stored_state_inconsistent`; `rules_unknown`: a newer program has raised the rules
 */
export function restoreLedgerState(
  stored: StoredLedger,
  crypto: Crypto,
  ruleTable: RuleTable = RELEASE_RULES,
): LedgerState {
  const { sha256 } = crypto;
  const { number: rules } = ruleTable.of(stored.rules);
  require(stored.stampMs >=
    stored.lastAcceptedMs, `the time is ${stored.stampMs}, the newest leaf's ${stored.lastAcceptedMs}`);
  const ascending = [...stored.origins].sort((a, b) => compareBytes(a.originFingerprint, b.originFingerprint));
  const leafCount = ascending.reduce((sum, origin) => sum + origin.treeSize, 0);
  require(leafCount ===
    stored.nextSequence, `${leafCount} leaves of all origins, next sequence ${stored.nextSequence}`);
  const groupIds = new GroupIdMemory();
  const trustRootChain = restoreChain(stored.trustRoots, crypto);
  for (const id of [...stored.groupIds].sort((a, b) => a.index - b.index)) groupIds.add(id, id.index);
  return {
    sha256,
    ruleTable,
    appliedIndex: stored.appliedIndex,
    appliedTerm: stored.appliedTerm,
    effect: stored.effect,
    nextSequence: stored.nextSequence,
    lastAcceptedMs: stored.lastAcceptedMs,
    rules,
    stampMs: stored.stampMs,
    groupIdsHash: stored.groupIdsHash,
    clientEventsHash: stored.clientEventsHash,
    trustRootChain,
    origins: new Map(ascending.map((origin) => [bytesToHex(origin.originFingerprint), restoreOrigin(origin, sha256)])),
    apiKeys: new Map(stored.apiKeys.map((key) => [keyIdHex(key.keyId), key])),
    operatorCounters: new Map(stored.operatorActs.map(({ operator, counter }) => [operator, counter])),
    groupIds,
  };
}
