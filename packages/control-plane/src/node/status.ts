import { SERVICE_VERSION } from "@event-anchoring/control-contract";
import type { NodeStatus } from "@event-anchoring/control-contract";
import { bytesToHex } from "@event-anchoring/protocol";
import type { NodeIdentity } from "../ports/identity.ts";
import type { ScrubCounts } from "../scrub/scrub.ts";
import { NO_RAFT } from "../session/consensus.ts";
import { NO_CONTRADICTIONS } from "../session/contradictions.ts";
import type { SessionView } from "../session/view.ts";

type Serving = NodeStatus["serving"];

/** Versions of this program and of the public contract. */
const VERSIONS = { service: SERVICE_VERSION, api_contract: "4.2", locked_code: "V4.2" } as const;

export interface StatusView {
  readonly identity: NodeIdentity;
  /** null: there is no live session. */
  readonly session: SessionView | null;
  readonly serving: Serving;
  readonly primeRootThk: NodeStatus["primeRootThk"];
  readonly incarnation: number;
  readonly peersCutOff: NodeStatus["peersCutOff"];
  /** null: nothing is scrubbed. */
  readonly scrub: ScrubCounts | null;
}

/** The status that this node reports to its api process, to operators and to peers. */
export function nodeStatus(view: StatusView): NodeStatus {
  const { identity, session, serving, primeRootThk, incarnation, peersCutOff, scrub } = view;
  const failing = [...serving.failing, ...(session === null ? [] : sessionChecks(session))];
  return {
    nodeId: identity.nodeId,
    clusterId: bytesToHex(identity.clusterId),
    originFingerprint: bytesToHex(identity.originFingerprint),
    raft: session?.raft ?? NO_RAFT,
    serving: { state: serving.state, failing },
    primeRootThk,
    origins: session?.origins ?? [],
    contradictions: session?.contradictions ?? NO_CONTRADICTIONS,
    peersCutOff,
    incarnation,
    ...(scrub === null ? {} : { scrub: scrubStatus(scrub) }),
    versions: session === null ? VERSIONS : { ...VERSIONS, ...session.versions },
  };
}

function scrubStatus({ rows, passes, lastPassMs, differences }: ScrubCounts): NonNullable<NodeStatus["scrub"]> {
  return { rows, passes, lastPassAtMs: lastPassMs, differences };
}

/** What keeps a running node from serving. */
function sessionChecks({ isInitialised, pendingVersion, group, raft, clock }: SessionView): Serving["failing"] {
  const failing: Serving["failing"] = [];
  if (!isInitialised) failing.push({ check: "genesis", detail: "the genesis entry is not applied yet" });
  if (pendingVersion !== null) {
    const detail = `the cluster was restored, and its trust-root version ${pendingVersion} is not applied yet`;
    failing.push({ check: "restore", detail });
  }
  if (!group.isMember) {
    failing.push({ check: "membership", detail: "the node waits until the group adds it, as a trust root must ask" });
  }
  if (raft.leader === null) failing.push({ check: "leader", detail: "no leader is known" });
  if (!clock.isSafe) {
    const detail = "this node's clock differs from the others', or too few of them were heard";
    failing.push({ check: "clock", detail });
  }
  return failing;
}
