import type { NodeStatus } from "@event-anchoring/control-contract";
import { bytesToHex } from "@event-anchoring/protocol";
import type { SessionOptions } from "./session-options.ts";
import type { SessionParts } from "./session-parts.ts";

/** A session at one moment, for status and metrics. */
export interface SessionView {
  readonly raft: NodeStatus["raft"];
  /** The tables hold every entry up to this one. */
  readonly writtenIndex: number;
  readonly isLeader: boolean;
  /** False: the genesis entry is not applied yet. */
  readonly isInitialised: boolean;
  /** The trust-root version that a restored cluster has yet to apply; null: none. */
  readonly pendingVersion: number | null;
  /** Leaves in all trees. */
  readonly leaves: number;
  /** Waiting for an entry, on the leader. */
  readonly queue: { readonly commands: number; readonly bytes: number };
  /** Commands of this node's clients that are not answered yet. */
  readonly submissions: number;
  readonly uncovered: { readonly leaves: number; readonly oldestMs: number };
  readonly contradictions: NodeStatus["contradictions"];
  readonly clock: { readonly isSafe: boolean; readonly aheadMs: number; readonly behindMs: number };
  readonly trustRoot: { readonly version: number; readonly expiresS: number };
  readonly group: {
    readonly isMember: boolean;
    readonly voters: number;
    readonly learners: number;
    /** The membership is not yet as the trust root asks; only the leader knows. */
    readonly isChanging: boolean;
    readonly isKeyMissing: boolean;
    readonly maySign: boolean;
  };
  readonly log: { readonly entries: number; readonly bytes: number; readonly owedEntries: number };
  /** Old certificates deleted since the tables were loaded. */
  readonly thinned: number;
  readonly rules: { readonly inForce: number; readonly holders: number };
  readonly origins: NodeStatus["origins"];
  readonly versions: NodeStatus["versions"];
}

export function viewOf(
  { consensus, membership, certifying, writes }: SessionParts,
  options: SessionOptions,
): SessionView {
  const { state } = options;
  const { group, rules, clockGuard } = membership;
  const { certifier } = certifying;
  const { version, expiresS } = membership.trustRoot();
  const isLeader = consensus.isLeader();
  return {
    raft: consensus.view(),
    writtenIndex: consensus.tables.writtenIndex,
    isLeader,
    isInitialised: state.trustRootChain !== null,
    pendingVersion: group.restored.pending()?.version ?? null,
    leaves: state.nextSequence,
    queue: writes.queue.depth,
    submissions: writes.proposals.openCount,
    uncovered: certifier.uncovered(),
    contradictions: certifying.contradictions.view(),
    clock: {
      isSafe: clockGuard.isSafe(),
      aheadMs: clockGuard.aheadOfMedianMs(),
      behindMs: clockGuard.behindMedianMs(),
    },
    trustRoot: { version, expiresS },
    group: {
      isMember: group.isMember(),
      voters: group.confState.voters.length,
      learners: group.confState.learners.length,
      isChanging: isLeader && group.view().pending !== null,
      isKeyMissing: group.isKeyMissing(),
      maySign: group.maySign(),
    },
    log: { ...consensus.compaction.held, owedEntries: consensus.compaction.owedEntries },
    thinned: certifying.thinning.deleted,
    rules: { inForce: rules.inForce.number, holders: rules.heldBackBy().length },
    origins: [...state.origins.values()].map(({ originFingerprint, status, tree }) => ({
      originFingerprint: bytesToHex(originFingerprint),
      treeSize: tree.size,
      certifiedSize: certifier.heldOf(originFingerprint)?.treeSize ?? 0,
      status,
    })),
    versions: membership.versions(),
  };
}
