/** What every node holds in memory: a pure function of the log up to appliedIndex. Only `advance` changes it. */
import { RecentTree, ZERO_32, emptyFrontier, toAnchorId } from "@event-anchoring/protocol";
import type {
  AnchorId,
  OriginFingerprint,
  OriginStatus,
  Sha256,
  SignedTrustRoot,
  TrustRootChain,
} from "@event-anchoring/protocol";
import type { ApiKey } from "./api-key.ts";
import { GroupIdMemory } from "./group-id-memory.ts";
import { RELEASE_RULES, RULES_FIRST } from "../entry/rules.ts";
import type { RuleTable } from "../entry/rules.ts";
import { TileAccumulator } from "./tile-accumulator.ts";

/** A checkpoint whose quorum certificate is recorded. */
export interface CertifiedHead {
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
  /** Unix seconds. */
  readonly certifiedAtS: number;
}

/** From this leaf on, this version judges trees of the origin. */
export interface TrustRootPosition {
  readonly leafIndex: number;
  readonly version: number;
}

export interface OriginState {
  readonly originFingerprint: OriginFingerprint;
  status: OriginStatus;
  /**
   * At least every leaf since the recorded certificate, and some older ones: a node that learns of a certificate from
   * the log can still prove the leaves that wait for it.
   */
  readonly tree: RecentTree;
  tiles: TileAccumulator;
  /** Zeros while there is no leaf. */
  lastAnchorId: AnchorId;
  /** The newest recorded one; null before the first. */
  certified: CertifiedHead | null;
  /** Ascending by leaf index; the first is that of the genesis leaf. */
  readonly trustRootPositions: TrustRootPosition[];
}

export interface LedgerState {
  readonly sha256: Sha256;
  /** The rules that this program can decide by. */
  readonly ruleTable: RuleTable;
  appliedIndex: number;
  appliedTerm: number;
  /** E_i of the applied index i, 32 bytes; zeros for 0. */
  effect: Uint8Array;
  nextSequence: number;
  /** Time of the newest leaf, Unix milliseconds. */
  lastAcceptedMs: number;
  /** The rules by which the next entry is decided. */
  rules: number;
  /** Time of the newest entry, Unix milliseconds. No later entry is accepted before it. */
  stampMs: number;
  /** Running hashes of decided groups and of client events, 32 bytes each; zeros before the first. */
  groupIdsHash: Uint8Array;
  clientEventsHash: Uint8Array;
  /** Verified from version 1 on; null before genesis. Version v is at place v − 1. */
  trustRootChain: TrustRootChain | null;
  /** By the hex of the fingerprint, ascending. */
  origins: ReadonlyMap<string, OriginState>;
  /** By keyIdHex. */
  readonly apiKeys: Map<string, ApiKey>;
  /** Counter of each operator's newest act, by name; also of operators that the trust root does not list any more. */
  readonly operatorCounters: Map<string, number>;
  readonly groupIds: GroupIdMemory;
}

export function emptyLedgerState(sha256: Sha256, ruleTable: RuleTable = RELEASE_RULES): LedgerState {
  return {
    sha256,
    ruleTable,
    appliedIndex: 0,
    appliedTerm: 0,
    effect: ZERO_32,
    nextSequence: 0,
    lastAcceptedMs: 0,
    rules: RULES_FIRST,
    stampMs: 0,
    groupIdsHash: ZERO_32,
    clientEventsHash: ZERO_32,
    trustRootChain: null,
    origins: new Map(),
    apiKeys: new Map(),
    operatorCounters: new Map(),
    groupIds: new GroupIdMemory(),
  };
}

/** An origin that has no leaf yet. */
export function emptyOriginState(originFingerprint: OriginFingerprint, sha256: Sha256): OriginState {
  return {
    originFingerprint,
    status: "active",
    tree: new RecentTree(emptyFrontier(), sha256),
    tiles: new TileAccumulator(0, [], sha256),
    lastAnchorId: toAnchorId(ZERO_32),
    certified: null,
    trustRootPositions: [],
  };
}

/** Every version of the trust root that is applied, oldest first. */
export function trustRootsOf(state: LedgerState): readonly SignedTrustRoot[] {
  return state.trustRootChain?.versions ?? [];
}

/**
 * The trust root that judges the tree of the first `treeSize` leaves of an origin: the version of the last genesis or
 * trust-root leaf among them. Null for the empty tree.
 */
export function judgingTrustRoot(state: LedgerState, origin: OriginState, treeSize: number): SignedTrustRoot | null {
  const { trustRootPositions: positions } = origin;
  let at = positions.length - 1;
  while (at >= 0 && (positions[at]?.leafIndex ?? 0) >= treeSize) at--;
  const version = positions[at]?.version;
  // The chain of a ledger begins with version 1 and has no gaps.
  return version === undefined ? null : (trustRootsOf(state)[version - 1] ?? null);
}
