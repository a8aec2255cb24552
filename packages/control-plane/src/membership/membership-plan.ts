/** What the group must become under the trust root in force, and the next step towards it. */
import { assertNever } from "@event-anchoring/protocol";
import type { TrustRoot, TrustRootNode } from "@event-anchoring/protocol";
import type { ConfChange, ConfChangeSingle, ConfState, RaftId } from "raft-ts";

/** A line of the trust root, with the node's Raft id. */
export interface ListedNode {
  readonly nodeId: string;
  readonly raftId: RaftId;
  readonly status: TrustRootNode["status"];
}

/** What a leader knows when it plans. */
export interface GroupView {
  readonly self: RaftId;
  readonly confState: ConfState;
  readonly nodes: readonly ListedNode[];
  /** It has followed the log closely for long enough to vote. */
  readonly hasCaughtUp: (member: RaftId) => boolean;
  /** It was heard from lately. */
  readonly isAlive: (member: RaftId) => boolean;
}

export type MembershipStep =
  /** The group is as the trust root asks. */
  | { readonly kind: "none" }
  | { readonly kind: "wait"; readonly reason: string }
  /** This leader is about to leave the group: another one must take the next step. */
  | { readonly kind: "transfer"; readonly reason: string }
  | { readonly kind: "change"; readonly changes: readonly ConfChangeSingle[]; readonly reason: string };

const isWanted = ({ status }: ListedNode): boolean => status === "active" || status === "learner";

function isJoint({ votersOutgoing }: ConfState): boolean {
  return votersOutgoing.length > 0;
}

export function isVoter({ voters }: ConfState, id: RaftId): boolean {
  return voters.includes(id);
}

export function isLearner({ learners, learnersNext }: ConfState, id: RaftId): boolean {
  return learners.includes(id) || learnersNext.includes(id);
}

function isMember(conf: ConfState, id: RaftId): boolean {
  return isVoter(conf, id) || isLearner(conf, id) || conf.votersOutgoing.includes(id);
}

/**
 * One step at a time, and never one that leaves the group weaker than it must be: a node that is alive goes only when
 * the one that takes its place votes, in the same (joint) change; a dead one goes at once.
 */
export function planMembership(view: GroupView): MembershipStep {
  const { self, confState, nodes } = view;
  if (isJoint(confState)) return { kind: "wait", reason: "a joint change is on its way" };
  const members = nodes.filter(({ raftId }) => isMember(confState, raftId));
  const own = members.find(({ raftId }) => raftId === self);
  // A newcomer must not start from this leader's state: it may be leaving because it was deceived.
  if (own !== undefined && !isWanted(own) && members.some((node) => mayLeadInstead(node, view))) {
    return { kind: "transfer", reason: `${own.nodeId} leads and is about to leave` };
  }
  const joining = nodes.find((node) => isWanted(node) && !members.includes(node));
  const promoting = members.filter(({ raftId, status }) => status === "active" && isLearner(confState, raftId));
  const ready = promoting.find(({ raftId }) => view.hasCaughtUp(raftId));
  const leaving = members.filter((node) => !isWanted(node));
  const [dead] = leaving.filter((node) => mayGoAtOnce(node, view));
  const goes = dead ?? (ready === undefined && isExpected(joining, promoting) ? undefined : leaving[0]);
  if (goes?.raftId === self) return { kind: "transfer", reason: `${goes.nodeId} leads and is about to leave` };
  const changes = [
    ...(goes === undefined ? [] : [{ type: "remove_node" as const, id: goes.raftId }]),
    ...(ready !== undefined ? [{ type: "add_node" as const, id: ready.raftId }] : addLearner(joining)),
  ];
  if (changes.length > 0) return { kind: "change", changes, reason: reasonOf(goes, ready, joining) };
  return waitFor(promoting, leaving);
}

function mayLeadInstead(node: ListedNode, { self, confState, isAlive }: GroupView): boolean {
  const { raftId } = node;
  return raftId !== self && isWanted(node) && isVoter(confState, raftId) && isAlive(raftId);
}

/** A node is about to get a vote: a live node that leaves waits for it. */
function isExpected(joining: ListedNode | undefined, promoting: readonly ListedNode[]): boolean {
  return joining?.status === "active" || promoting.length > 0;
}

/**
 * A silent node only makes majorities harder; a distrusted node, or one without a vote, need not wait for a
 * replacement.
 */
function mayGoAtOnce({ raftId, status }: ListedNode, { self, confState, isAlive }: GroupView): boolean {
  if (status === "distrusted" || isLearner(confState, raftId)) return true;
  return raftId !== self && !isAlive(raftId);
}

function addLearner(joining: ListedNode | undefined): readonly ConfChangeSingle[] {
  return joining === undefined ? [] : [{ type: "add_learner", id: joining.raftId }];
}

function reasonOf(
  goes: ListedNode | undefined,
  ready: ListedNode | undefined,
  joining: ListedNode | undefined,
): string {
  const came =
    ready !== undefined ? `${ready.nodeId} votes` : joining === undefined ? null : `${joining.nodeId} follows`;
  return [goes === undefined ? null : `${goes.nodeId} leaves`, came].filter((part) => part !== null).join(", ");
}

function waitFor(promoting: readonly ListedNode[], leaving: readonly ListedNode[]): MembershipStep {
  if (promoting.length === 0) return { kind: "none" };
  const names = promoting.map(({ nodeId }) => nodeId).join(", ");
  const after = leaving.length === 0 ? "" : `; then ${leaving.map(({ nodeId }) => nodeId).join(", ")} may leave`;
  return { kind: "wait", reason: `${names} must follow the log closely for a while before it votes${after}` };
}

/**
 * Whether every replica puts this committed change into force. Pure, of replicated facts only: all must agree. The
 * version is judged by `changeInForce`.
 * @returns null, or why it is refused
 */
export function refusalOf(change: ConfChange, nodes: readonly ListedNode[], confState: ConfState): string | null {
  if (change.changes.length === 0) return isJoint(confState) ? null : "there is no joint configuration to leave";
  if (isJoint(confState)) return "a joint change is not finished";
  if (new Set(change.changes.map(({ id }) => id)).size !== change.changes.length) return "a node is named twice";
  for (const single of change.changes) {
    const node = nodes.find(({ raftId }) => raftId === single.id);
    if (node === undefined) return `the trust root lists no node ${single.id.toString(16)}`;
    const refusal = refusalOfSingle(single, node, confState);
    if (refusal !== null) return refusal;
  }
  const gone = change.changes.filter(({ type }) => type === "remove_node").map(({ id }) => id);
  const stays = confState.voters.some((id) => !gone.includes(id));
  return stays ? null : "no voter would be left";
}

function refusalOfSingle({ type, id }: ConfChangeSingle, node: ListedNode, confState: ConfState): string | null {
  const { nodeId, status } = node;
  switch (type) {
    case "add_learner":
      if (!isWanted(node)) return `${nodeId} is ${status}`;
      return isMember(confState, id) ? `${nodeId} is a member` : null;
    case "add_node":
      if (status !== "active") return `${nodeId} is ${status}`;
      return isLearner(confState, id) ? null : `${nodeId} is no learner`;
    case "remove_node":
      if (isWanted(node)) return `${nodeId} is ${status}`;
      return isMember(confState, id) ? null : `${nodeId} is no member`;
    default:
      return assertNever(type);
  }
}

/** The lines of a trust root. @param raftIdOf never null for a node that it lists */
export function listedNodes(root: TrustRoot, raftIdOf: (nodeId: string) => RaftId | null): readonly ListedNode[] {
  return root.nodes.flatMap(({ nodeId, status }) => {
    const raftId = raftIdOf(nodeId);
    return raftId === null ? [] : [{ nodeId, raftId, status }];
  });
}
