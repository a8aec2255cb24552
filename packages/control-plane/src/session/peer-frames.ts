import { GROUP_TRACES_MAX } from "@event-anchoring/control-contract";
import type { GroupTrace, PeerCosignature, PeerFrame, RefusalCode } from "@event-anchoring/control-contract";
import { type LedgerState, decodeGroup, fitsEntry, waitingGroupOf } from "@event-anchoring/ledger";
import { DecodeError, assertNever, bytesToHex } from "@event-anchoring/protocol";
import { type InboundMessage, InvalidMessageError, decodeMessage } from "raft-ts";
import type { Certifier } from "../certification/certifier.ts";
import type { ClockGuard } from "./clock-guard.ts";
import type { Clock, Logger } from "../ports/environment.ts";
import type { Failover } from "./failover.ts";
import type { LeaderQueue, QueuedGroup } from "../proposals/leader-queue.ts";
import type { Members } from "../membership/members.ts";
import type { Proposals } from "../proposals/proposals.ts";
import type { SessionComparison } from "./session-comparison.ts";
import type { SessionNetwork } from "../transport/network-types.ts";
import type { SessionPeers } from "./session-peers.ts";
import type { SessionStates } from "./session-states.ts";
import { type StepGuardView, judgeStep } from "../raft/step-guard.ts";

/** What only a leader says. */
const LEADERS_MESSAGES: ReadonlySet<string> = new Set(["MsgApp", "MsgHeartbeat", "MsgSnap", "MsgTimeoutNow"]);

/** Groups above this size travel on the bulk lane. */
const CONTROL_GROUPS_BYTES_MAX = 48 * 1024;

export interface PeerFramesOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly network: SessionNetwork;
  readonly peers: SessionPeers;
  readonly members: Members;
  readonly state: LedgerState;
  readonly certifier: Certifier;
  readonly truth: SessionComparison;
  readonly failover: Failover;
  readonly states: SessionStates;
  readonly clockGuard: ClockGuard;
  readonly proposals: Proposals;
  readonly leaderQueue: LeaderQueue;
  readonly selfNodeId: string;
  /** What that peer's message is judged by. */
  readonly view: (from: string) => StepGuardView;
  readonly step: (message: InboundMessage) => void;
  /** A peer names the span of an entry; on a node that does not trace it means nothing. */
  readonly onEntryTrace: (from: string, frame: Extract<PeerFrame, { type: "entry_trace" }>) => void;
}

/** What arrives from authenticated peers, and what is said back to them about proposals. */
export class PeerFrames {
  readonly #options: PeerFramesOptions;

  constructor(options: PeerFramesOptions) {
    this.#options = options;
  }

  /** The frame's content is attacker-controlled, the sender's name is not. */
  onFrame(from: string, frame: PeerFrame): void {
    try {
      this.#dispatch(from, frame);
    } catch (error) {
      if (!(error instanceof DecodeError) && !(error instanceof InvalidMessageError)) throw error;
      this.#options.peers.words.onOffence(from, "invalid_frame", `${frame.type}: ${error.message}`);
    }
  }

  /** To the queue of this node if it leads, else over the network. False: the leader cannot be reached. */
  propose(leader: string, groups: readonly QueuedGroup[]): boolean {
    const { selfNodeId, leaderQueue, network, clock } = this.#options;
    if (leader === selfNodeId) {
      leaderQueue.offer(groups);
      return true;
    }
    const patience = Math.max(...groups.map(({ deadlineMs }) => deadlineMs)) - clock.monotonicMs();
    this.#options.failover.onForwarded(leader);
    const bytes = groups.reduce((sum, group) => sum + group.bytes.length, 0);
    return network.send(leader, bytes > CONTROL_GROUPS_BYTES_MAX ? "bulk" : "control", {
      type: "proposals",
      groups: groups.map((group) => group.bytes),
      remainingMs: Math.max(0, Math.round(patience)),
      traces: tracesOf(groups),
    });
  }

  /** Tells whoever waits for these groups that they were not proposed. */
  refuse(groups: readonly QueuedGroup[], code: RefusalCode, detail: string): void {
    const byNode = new Map<string | null, QueuedGroup[]>();
    for (const group of groups) byNode.set(group.from, [...(byNode.get(group.from) ?? []), group]);
    for (const [node, refused] of byNode) {
      const ids = refused.map(({ id }) => id);
      if (node === null) this.#options.proposals.onRefused(this.#options.selfNodeId, ids, code, detail);
      else this.#options.network.send(node, "control", { type: "proposals_refused", ids, code, detail });
    }
  }

  #dispatch(from: string, frame: PeerFrame): void {
    switch (frame.type) {
      case "raft":
        this.#onRaft(from, decodeMessage(frame.message));
        break;
      case "cosignatures":
        this.#onCosignatures(from, frame.items);
        break;
      case "lines":
        this.#options.truth.comparison.onLines(from, frame.items);
        break;
      case "progress":
        this.#options.peers.onProgress(from, frame.progress);
        break;
      case "state_signatures":
        this.#options.states.heads.onSignatures(from, frame.items, frame.asks);
        break;
      case "proposals":
        this.#onProposals(from, frame);
        break;
      case "proposals_refused":
        this.#options.failover.onRefused(from, this.#options.proposals.sentTo(from, frame.ids));
        this.#options.proposals.onRefused(from, frame.ids, frame.code, frame.detail);
        break;
      case "clock":
        this.#options.clockGuard.onReport(from, frame.wallMs, frame.appliedIndex);
        break;
      case "entry_trace":
        this.#options.onEntryTrace(from, frame);
        break;
      default:
        assertNever(frame);
    }
  }

  #onRaft(from: string, message: InboundMessage): void {
    const sender = this.#options.members.raftIdOf(from);
    if (sender === null) return;
    if (LEADERS_MESSAGES.has(message.type) && this.#options.failover.isShunned(from)) return;
    const { peers, view, step, logger } = this.#options;
    const verdict = judgeStep(message, sender, view(from));
    switch (verdict.kind) {
      case "step":
        step(message);
        break;
      case "refuse":
        logger.warn("message_refused", { peer: from, type: message.type, detail: verdict.detail });
        break;
      case "offence":
        peers.words.onOffence(from, verdict.offence, verdict.detail, verdict.code);
        break;
      case "halt":
        peers.words.onOutgrown(from, verdict.code, verdict.detail);
        break;
      default:
        assertNever(verdict);
    }
  }

  #onCosignatures(from: string, items: readonly PeerCosignature[]): void {
    const { state, peers, certifier, truth } = this.#options;
    for (const item of items) {
      // Not verified: whoever claims to have signed what it has not only makes itself forgetful.
      if (state.origins.has(bytesToHex(item.originFingerprint))) peers.memories.onCosignature(from, item);
    }
    truth.onPeerEffects(from, items);
    certifier.onCosignatures(from, items);
  }

  #onProposals(from: string, frame: Extract<PeerFrame, { type: "proposals" }>): void {
    const deadlineMs = this.#options.clock.monotonicMs() + frame.remainingMs;
    const groups: QueuedGroup[] = [];
    const { truth } = this.#options;
    for (const [position, bytes] of frame.groups.entries()) {
      const group = decodeGroup(bytes);
      const waiting = waitingGroupOf(group, bytes.length);
      // A node speaks for itself alone, and a group that fits no entry would never leave the queue.
      const isOwn = group.id.node === this.#options.members.raftIdOf(from);
      if (!isOwn || !fitsEntry(waiting.weight)) throw new DecodeError("value_invalid", "group of another node or size");
      // Leaders propose it themselves, when they have found that everybody is ready for it.
      if (group.commands.some(({ kind }) => kind === "raise_rules")) continue;
      const queued = { ...waiting, id: group.id, bytes, from, deadlineMs };
      const traces = frame.traces.filter((trace) => trace.group === position).map(({ context }) => context);
      const refusal = group.commands.flatMap((command) => truth.refusalOf(command) ?? [])[0];
      if (refusal !== undefined) this.refuse([queued], refusal.code, refusal.detail);
      else groups.push(traces.length === 0 ? queued : { ...queued, traces });
    }
    this.#options.leaderQueue.offer(groups);
  }
}

/** The traced writes among these groups, as far as a frame takes them. */
function tracesOf(groups: readonly QueuedGroup[]): readonly GroupTrace[] {
  const traces = groups.flatMap((group, at) => group.traces?.map((context) => ({ group: at, context })) ?? []);
  return traces.slice(0, GROUP_TRACES_MAX);
}
