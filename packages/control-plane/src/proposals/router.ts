import { GROUP_TRACES_MAX } from "@event-anchoring/control-contract";
import type { GroupTrace, PeerFrame, RefusalCode } from "@event-anchoring/control-contract";
import { type Command, decodeGroup, fitsEntry, waitingGroupOf } from "@event-anchoring/ledger";
import { DecodeError } from "@event-anchoring/protocol";
import type { Clock } from "@event-anchoring/telemetry";
import type { SessionNetwork } from "../transport/network-types.ts";
import type { LeaderQueue, QueuedGroup } from "./leader-queue.ts";
import type { Proposals } from "./proposals.ts";

/** Groups above this size travel on the bulk lane. */
const CONTROL_GROUPS_BYTES_MAX = 48 * 1024;

export interface RouterOptions {
  readonly clock: Clock;
  readonly network: Pick<SessionNetwork, "send">;
  readonly selfNodeId: string;
  /** Null: that node is in no trust root known here. */
  readonly raftIdOf: (nodeId: string) => bigint | null;
  /** Why a command cannot be proposed here; null: it can. */
  readonly refusalOf: (command: Command) => { readonly code: RefusalCode; readonly detail: string } | null;
  /** Groups of this node's clients were forwarded to another leader. */
  readonly onForwarded: (leader: string) => void;
  readonly proposals: () => Proposals;
  readonly queue: () => LeaderQueue;
}

/** Routes groups to the leader's queue, and refusals back to the node that sent the group. */
export class Router {
  readonly #options: RouterOptions;

  constructor(options: RouterOptions) {
    this.#options = options;
  }

  /** To the queue of this node if it leads, else over the network. False: the leader cannot be reached. */
  propose(leader: string, groups: readonly QueuedGroup[]): boolean {
    const { selfNodeId, queue, network, clock, onForwarded } = this.#options;
    if (leader === selfNodeId) {
      queue().offer(groups);
      return true;
    }
    const patience = Math.max(...groups.map(({ deadlineMs }) => deadlineMs)) - clock.monotonicMs();
    onForwarded(leader);
    const bytes = groups.reduce((sum, group) => sum + group.bytes.length, 0);
    return network.send(leader, bytes > CONTROL_GROUPS_BYTES_MAX ? "bulk" : "control", {
      type: "proposals",
      groups: groups.map((group) => group.bytes),
      remainingMs: Math.max(0, Math.round(patience)),
      traces: tracesOf(groups),
    });
  }

  /** Tells each node that waits for one of these groups that it was not proposed. */
  refuse(groups: readonly QueuedGroup[], code: RefusalCode, detail: string): void {
    const { proposals, selfNodeId, network } = this.#options;
    const byNode = new Map<string | null, QueuedGroup[]>();
    for (const group of groups) byNode.set(group.from, [...(byNode.get(group.from) ?? []), group]);
    for (const [node, refused] of byNode) {
      const ids = refused.map(({ id }) => id);
      if (node === null) proposals().onRefused(selfNodeId, ids, code, detail);
      else network.send(node, "control", { type: "proposals_refused", ids, code, detail });
    }
  }

  /**
   * Groups of another node's clients. The bytes are attacker-controlled, the sender's name is not.
   * @throws DecodeError
   */
  onProposals(from: string, frame: Extract<PeerFrame, { type: "proposals" }>): void {
    const { clock, raftIdOf, refusalOf, queue } = this.#options;
    const deadlineMs = clock.monotonicMs() + frame.remainingMs;
    const groups: QueuedGroup[] = [];
    for (const [position, bytes] of frame.groups.entries()) {
      const group = decodeGroup(bytes);
      const waiting = waitingGroupOf(group, bytes.length);
      // A node may send only its own groups, and a group that fits no entry would never leave the queue.
      const isOwn = group.id.node === raftIdOf(from);
      if (!isOwn || !fitsEntry(waiting.weight)) throw new DecodeError("value_invalid", "group of another node or size");
      // Only leaders propose it, once every node is ready for it.
      if (group.commands.some(({ kind }) => kind === "raise_rules")) continue;
      const queued = { ...waiting, id: group.id, bytes, from, deadlineMs };
      const traces = frame.traces.filter((trace) => trace.group === position).map(({ context }) => context);
      const refusal = group.commands.flatMap((command) => refusalOf(command) ?? [])[0];
      if (refusal !== undefined) this.refuse([queued], refusal.code, refusal.detail);
      else groups.push(traces.length === 0 ? queued : { ...queued, traces });
    }
    queue().offer(groups);
  }
}

/** The traced writes among these groups, as many as fit in a frame. */
function tracesOf(groups: readonly QueuedGroup[]): readonly GroupTrace[] {
  const traces = groups.flatMap((group, at) => group.traces?.map((context) => ({ group: at, context })) ?? []);
  return traces.slice(0, GROUP_TRACES_MAX);
}
