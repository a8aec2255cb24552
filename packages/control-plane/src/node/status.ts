import type { NodeStatus } from "@event-anchoring/control-contract";
import { bytesToHex } from "@event-anchoring/protocol";
import type { NodeIdentity } from "../ports/identity.ts";
import type { ScrubCounts } from "../scrub/scrub.ts";
import { NO_CONTRADICTIONS } from "../session/session-comparison.ts";
import { NO_RAFT, type Session } from "../session/session.ts";

/** Versions of this program and of the public contract. */
export const VERSIONS = { service: "4.2.0", api_contract: "4.2", locked_code: "V4.2" } as const;

export interface StatusView {
  readonly identity: NodeIdentity;
  readonly session: Session | null;
  readonly serving: NodeStatus["serving"];
  readonly primeRootThk: NodeStatus["primeRootThk"];
  readonly incarnation: number;
  readonly peersCutOff: NodeStatus["peersCutOff"];
  /** null: nothing is scrubbed. */
  readonly scrub: ScrubCounts | null;
}

/** What this node says of itself: to its api process, to operators, to peers. */
export function nodeStatus(view: StatusView): NodeStatus {
  const { identity, session, serving, primeRootThk, incarnation, peersCutOff, scrub } = view;
  const failing = [...serving.failing, ...(session === null ? [] : sessionChecks(session))];
  return {
    nodeId: identity.nodeId,
    clusterId: bytesToHex(identity.clusterId),
    originFingerprint: bytesToHex(identity.originFingerprint),
    raft: session?.raftStatus() ?? NO_RAFT,
    serving: { state: serving.state, failing },
    primeRootThk,
    origins: session === null ? [] : originSizes(session),
    contradictions: session?.truth.view() ?? NO_CONTRADICTIONS,
    peersCutOff,
    incarnation,
    ...(scrub === null ? {} : { scrub: scrubStatus(scrub) }),
    versions: session === null ? VERSIONS : { ...VERSIONS, ...session.upkeep.versions() },
  };
}

function scrubStatus({ rows, passes, lastPassMs, differences }: ScrubCounts): NonNullable<NodeStatus["scrub"]> {
  return { rows, passes, lastPassAtMs: lastPassMs, differences };
}

/** What keeps a running node from serving. */
function sessionChecks(session: Session): NodeStatus["serving"]["failing"] {
  const failing: NodeStatus["serving"]["failing"] = [];
  if (session.state.trustRootChain === null) {
    failing.push({ check: "genesis", detail: "the genesis entry is not applied yet" });
  }
  const pending = session.membership.restored.pending();
  if (pending !== null) {
    const detail = `the cluster was restored, and its trust-root version ${pending.version} is not applied yet`;
    failing.push({ check: "restore", detail });
  }
  if (!session.membership.isMember()) {
    failing.push({ check: "membership", detail: "the node waits until the group adds it, as a trust root must ask" });
  }
  if (session.leaderNodeId() === null) failing.push({ check: "leader", detail: "no leader is known" });
  if (!session.clockGuard.isSafe()) {
    failing.push({
      check: "clock",
      detail: "this node's clock differs from the others', or too few of them were heard",
    });
  }
  return failing;
}

function originSizes({ state, certifier }: Session): NodeStatus["origins"] {
  return [...state.origins.values()].map(({ originFingerprint, status, tree }) => ({
    originFingerprint: bytesToHex(originFingerprint),
    treeSize: tree.size,
    certifiedSize: certifier.heldOf(originFingerprint)?.treeSize ?? 0,
    status,
  }));
}
