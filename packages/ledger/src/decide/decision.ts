/** What deciding an entry yields: an answer for each proposer, and the writes that every replica makes. */
import type {
  AnchorId,
  LeafKind,
  OriginFingerprint,
  OriginStatus,
  TreeGrowth,
  TrustRootChain,
} from "@event-anchoring/protocol";
import type { ApiKey } from "../state/api-key.ts";
import type { Certificate, Cosignature, GroupId, OperatorAct } from "../entry/command.ts";
import type { ContentFact } from "./facts.ts";
import type { ClaimRecord, GrantRecord } from "@event-anchoring/records";
import type { Rejection } from "./rejection.ts";
import type { CompletedTile, TileAccumulator } from "../state/tile-accumulator.ts";
import type { TrustRootPosition } from "../state/state.ts";

/** One leaf to be appended. `bytes` holds all of it; the other fields are for indexes and answers. */
export interface LeafWrite {
  readonly kind: LeafKind;
  readonly originFingerprint: OriginFingerprint;
  readonly depth: number;
  readonly sequence: number;
  readonly acceptedMs: number;
  readonly anchorId: AnchorId;
  readonly bytes: Uint8Array;
}

export interface ClientEventWrite {
  /** 16 bytes. */
  readonly apiClientId: Uint8Array;
  readonly clientEventId: string;
  /** 32 bytes. */
  readonly salt: Uint8Array;
  readonly anchorId: AnchorId;
  readonly originFingerprint: OriginFingerprint;
  readonly sequence: number;
  readonly contentHash: Uint8Array;
}

/** The content of a claim, grant or revocation without its signatures: the same content is the same record. */
export interface ContentWrite extends ContentFact {
  /** 32 bytes. */
  readonly contentHash: Uint8Array;
}

/** The claim or grant that a revocation revokes, by sequence. Each is listed; the first one counts. */
export interface RevocationWrite {
  readonly sequence: number;
  readonly target: number;
}

/** An event whose client event id and salt are to be forgotten. */
export interface ErasureWrite {
  readonly anchorId: AnchorId;
  readonly sequence: number;
}

export interface TileWrite extends CompletedTile {
  readonly originFingerprint: OriginFingerprint;
}

/** A quorum certificate to be recorded. */
export interface CertificateWrite {
  readonly originFingerprint: OriginFingerprint;
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
  /** Unix seconds: the k-th smallest time of the cosignatures. */
  readonly certifiedAtS: number;
  /** Valid, of distinct active nodes, ascending by node id. */
  readonly cosignatures: readonly Cosignature[];
  /** The version that judged it. */
  readonly trustRootVersion: number;
}

export interface TrustRootWrite {
  readonly version: number;
  readonly rootThk: Uint8Array;
  /** The whole signed note. */
  readonly document: string;
  /** Sequence of the first leaf that its entry appended. */
  readonly sequence: number;
}

export interface OriginStatusWrite {
  readonly originFingerprint: OriginFingerprint;
  readonly status: OriginStatus;
}

/** Which version judges an origin from a leaf on. */
export interface TrustRootPositionWrite extends TrustRootPosition {
  readonly originFingerprint: OriginFingerprint;
}

/** All that an entry changes. Every list is in the order in which it was decided. */
export interface EntryWrites {
  readonly leaves: readonly LeafWrite[];
  readonly clientEvents: readonly ClientEventWrite[];
  readonly contents: readonly ContentWrite[];
  /** New ones, as of the end of the entry. */
  readonly claims: readonly ClaimRecord[];
  readonly grants: readonly GrantRecord[];
  /** Older ones that ended in this entry, as of its end, ascending by sequence. */
  readonly endedClaims: readonly ClaimRecord[];
  readonly endedGrants: readonly GrantRecord[];
  readonly revocations: readonly RevocationWrite[];
  readonly erasures: readonly ErasureWrite[];
  /** Tiles that the leaves complete. Derived, and therefore no part of the effect. */
  readonly tiles: readonly TileWrite[];
  readonly certificates: readonly CertificateWrite[];
  readonly apiKeys: readonly ApiKey[];
  /** The newest act of each operator with an act in this entry. */
  readonly operatorActs: readonly OperatorAct[];
  readonly trustRoots: readonly TrustRootWrite[];
  /** Origins that are new or whose status changes. */
  readonly originStatuses: readonly OriginStatusWrite[];
  readonly trustRootPositions: readonly TrustRootPositionWrite[];
  /** Groups that this entry decided. */
  readonly groupIds: readonly GroupId[];
  /** Ids decided at an index below this one are forgotten. */
  readonly forgetGroupIdsBelow: number;
}

export type RecordOutcome =
  | {
      readonly status: "accepted";
      readonly leaf: LeafWrite;
      readonly clientEventSalt: Uint8Array | null;
    }
  | {
      /** The same content is recorded already: under its client event id, or as claim, grant or revocation. */
      readonly status: "replayed";
      readonly anchorId: AnchorId;
      readonly originFingerprint: OriginFingerprint;
      readonly sequence: number;
    }
  | { readonly status: "rejected"; readonly rejection: Rejection };

export type CommandOutcome =
  | {
      /** The command appends leaves: one item for each event, or the one claim, grant or revocation. */
      readonly kind: "records";
      /** True: the batch is atomic and nothing of it was anchored; good items are rejected as `batch_refused`. */
      readonly refused: boolean;
      /** Parallel to what the command records. */
      readonly records: readonly RecordOutcome[];
    }
  | { readonly kind: "applied" }
  /** The state was already what the command asks for. */
  | { readonly kind: "unchanged" }
  | { readonly kind: "rejected"; readonly rejection: Rejection };

export type GroupOutcome =
  /** Decided before, by an earlier entry or an earlier group of this one. */
  | { readonly status: "duplicate" }
  /** Older than the remembered ids: it is not known whether it was decided before. */
  | { readonly status: "expired" }
  /** Parallel to the commands of the group. */
  | { readonly status: "decided"; readonly commands: readonly CommandOutcome[] };

/** One origin with the leaves of an entry: `advance` takes it over, so that every hash is computed once. */
export interface GrownOrigin {
  readonly originFingerprint: OriginFingerprint;
  readonly tree: TreeGrowth;
  readonly tiles: TileAccumulator;
  readonly lastAnchorId: AnchorId;
}

export interface EntryDecision {
  readonly index: number;
  readonly term: number;
  /** True: the end of this entry is a certify point. */
  readonly certify: boolean;
  /** True: every node signs the state head after this entry. */
  readonly isStatePoint: boolean;
  /** The leader's stamp, Unix milliseconds. Leaves and rules use the later of it and the state's `stampMs`. */
  readonly acceptedMs: number;
  /** Parallel to the groups of the entry. */
  readonly outcomes: readonly GroupOutcome[];
  readonly writes: EntryWrites;
  /** The origins that have leaves in this entry. Derived from the leaves. */
  readonly grown: readonly GrownOrigin[];
  /**
   * Certificates of the entry over another root than this node's tree has, with a quorum's good lines. They are not
   * recorded.
   */
  readonly contradictions: readonly Certificate[];
  /** The log must not keep this entry: it erases a client event id, or names one that was erased before. */
  readonly isToBeForgotten: boolean;
  /** The chain as this entry leaves it; null if it does not touch it. */
  readonly trustRootChain: TrustRootChain | null;
  /** E_i, 32 bytes. */
  readonly effect: Uint8Array;
  /** The next free sequence number after this entry. */
  readonly nextSequence: number;
  /** Time of the newest leaf after this entry, Unix milliseconds. */
  readonly lastAcceptedMs: number;
  /** The rules by which the next entry is decided. */
  readonly rules: number;
  /** Time of this entry, Unix milliseconds: the later of its stamp and the time of the entry before it. */
  readonly stampMs: number;
  /** Running hash of the groups that were decided, 32 bytes. */
  readonly groupIdsHash: Uint8Array;
  /** Running hash over the events with their API clients and ids, 32 bytes. */
  readonly clientEventsHash: Uint8Array;
}
