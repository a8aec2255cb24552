import { NEXT_RULES } from "@event-anchoring/testkit/records";
import { bytesToHex } from "@event-anchoring/protocol";
import type { SimulatedMachine } from "../machine/simulated-machine.ts";

/** Machines that are expected to take part. */
type Serving = readonly Pick<SimulatedMachine, "name" | "node" | "database" | "identity">[];

/** Whether all of them follow a leader, hold the same state, and hold a certificate over every leaf of it. */
export function hasConverged(serving: Serving): boolean {
  const sessions = serving.map(({ node }) => node?.session ?? null);
  const effects = new Set(sessions.map((session) => (session === null ? "" : bytesToHex(session.state.effect))));
  if (effects.size !== 1 || effects.has("")) return false;
  return sessions.every((session) => {
    if (session === null || session.leaderNodeId() === null) return false;
    const active = session.trustRoot().nodes.filter(({ status }) => status === "active");
    if (session.membership.group.confState.voters.length !== active.length) return false;
    // A node that has stopped for good holds the rules back until a trust root retires it.
    if (active.length === sessions.length && session.state.rules !== NEXT_RULES.max) return false;
    const origins = [...session.state.origins.values()];
    return origins.every(({ originFingerprint, tree }) => session.heldOf(originFingerprint)?.treeSize === tree.size);
  });
}

/** Whether a follower does not follow the leader for a while, because none of its writes was decided. */
export function isLeaderAbandoned(serving: Serving): boolean {
  const leader = serving.find(({ node }) => node?.session?.isLeader() === true);
  if (leader === undefined) return false;
  return serving.some(({ node }) => node?.session?.consensus.failover.isShunned(leader.identity.nodeId) === true);
}

/** Whether what is applied has reached the tables: it does a moment later. */
export function areTablesWritten(serving: Serving): boolean {
  return serving.every(({ node, database }) => database.appliedIndex >= (node?.session?.state.appliedIndex ?? 0));
}

/** How far each of them is, for people. */
export function lagOf(serving: Serving): string {
  const states = serving.map(({ name, node }) => {
    const session = node?.session ?? null;
    if (session === null) return `${name} has no session (${JSON.stringify(node?.status().serving ?? null)})`;
    const { leaves } = session.view().uncovered;
    return `${name} follows ${session.leaderNodeId()}, applied ${session.state.appliedIndex}, uncovered ${leaves}`;
  });
  return states.join("; ");
}
