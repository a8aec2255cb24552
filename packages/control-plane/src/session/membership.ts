import type { Hello, HelloVerdict, NodeStatus, PeerFrame } from "@event-anchoring/control-contract";
import type { Entry as LedgerEntry } from "@event-anchoring/ledger";
import type { TrustRoot } from "@event-anchoring/protocol";
import type { RaftIndex } from "raft-ts";
import { trustRootInForce } from "../membership/known-trust-root.ts";
import type { Members } from "../membership/members.ts";
import { Group } from "../membership/group.ts";
import type { Submission } from "../proposals/proposals.ts";
import { ClockGuard } from "./clock-guard.ts";
import type { Consensus } from "./consensus.ts";
import type { Life } from "./how-a-life-ends.ts";
import { PeerStanding } from "./peer-standing.ts";
import { RulesKeeper } from "./rules-keeper.ts";
import type { SessionOptions } from "./session-options.ts";

export interface MembershipParts {
  readonly consensus: Consensus;
  readonly members: Members;
  readonly life: Life;
  readonly submit: (submission: Submission) => void;
}

/**
 * Who is in the group, by which trust root and rules, what the members' clocks say, and what this node and its peers
 * have promised each other.
 */
export class Membership {
  readonly members: Members;
  readonly group: Group;
  readonly clockGuard: ClockGuard;
  readonly rules: RulesKeeper;
  readonly peers: PeerStanding;
  readonly #options: SessionOptions;
  readonly #consensus: Consensus;

  constructor(options: SessionOptions, { consensus, members, life, submit }: MembershipParts) {
    const { environment, identity, network, state, node, confState, known, promises, restoration = null } = options;
    this.#options = options;
    this.#consensus = consensus;
    this.members = members;
    const applied = (): TrustRoot | null => state.trustRootChain?.newest.trustRoot ?? null;
    this.group = new Group({
      environment,
      identity,
      node,
      confState,
      members,
      known,
      network,
      promises,
      restoration,
      applied,
      propose: (change) => consensus.proposeConfChange(change),
      transferLeadership: () => this.transferLeadership(),
      onRetired: (detail) => life.end({ kind: "fenced", code: "retired", detail }),
    });
    this.clockGuard = new ClockGuard(environment.clock, () => this.group.voters());
    this.rules = new RulesKeeper({
      environment,
      state,
      selfNodeId: identity.nodeId,
      rulesHeldAt: options.rulesHeldAt,
      trustRoot: applied,
      isConnected: (nodeId) => network.isConnected(nodeId),
      submit,
    });
    this.peers = new PeerStanding(options, {
      consensus,
      members,
      group: this.group,
      trustRoot: () => this.trustRoot(),
      rulesMax: () => this.rules.rulesMax,
      broadcast: (frame) => this.broadcast(frame),
      life,
    });
  }

  /** The newest applied version, or the one this node was set up with. */
  trustRoot(): TrustRoot {
    return trustRootInForce(this.#options.state, this.#options.identity);
  }

  /**
   * To every node that the newest known trust root names. It may be a version that is not applied yet: it names every
   * node that an applied one names, and perhaps more. A node that has left hears it as long as it is connected.
   */
  broadcast(frame: PeerFrame): void {
    const { identity, network, known } = this.#options;
    for (const { nodeId, status } of known.newest.nodes) {
      const isThere = status === "active" || status === "learner" || network.isConnected(nodeId);
      if (isThere && nodeId !== identity.nodeId) network.send(nodeId, "control", frame);
    }
  }

  /** Hands leadership to the most advanced other voter, if this node leads. */
  transferLeadership(): void {
    const target = this.#consensus.isLeader() ? this.group.successor() : null;
    if (target !== null) this.#consensus.transferLeader(target);
  }

  reportClock(): void {
    this.broadcast(this.clockGuard.ownReport(this.#options.state.appliedIndex));
  }

  judgeHello(hello: Hello): HelloVerdict {
    const verdict = this.group.judgeHello(hello) ?? this.peers.judgeHello(hello);
    if (verdict.accepted) this.rules.onHello(hello);
    return verdict;
  }

  /** Newer trust roots are applied, oldest first. */
  onTrustRoots(versions: readonly TrustRoot[]): void {
    this.group.onTrustRoot(versions.at(-2) ?? null, this.trustRoot());
  }

  /** An entry was decided: its stamp is compared with this node's clock, so that a leader's wrong clock is noticed. */
  judgeStamp({ acceptedMs, groups, certificates }: LedgerEntry, index: RaftIndex): void {
    // Entries that the consensus engine itself appends have the stamp of the entry before.
    if (groups.length + certificates.length === 0) return;
    const leader = this.#consensus.leaderNodeId();
    const { logger } = this.#options.environment;
    if (this.clockGuard.isFuture(acceptedMs)) logger.error("entry_from_the_future", { acceptedMs, index, leader });
    const isPast = leader !== null && this.clockGuard.isPast(acceptedMs, index, leader);
    if (isPast) logger.error("entry_from_the_past", { acceptedMs, index, leader });
  }

  /** The rules that this node decides by, and who holds back higher ones. */
  versions(): NodeStatus["versions"] {
    const { known, inForce } = this.rules;
    const { number: rules, entryVersion } = inForce;
    const heldBackBy = this.rules
      .heldBackBy()
      .map(({ nodeId, rulesMax }) => `${nodeId} (${rulesMax ?? "not connected"})`);
    return {
      rules: String(rules),
      rules_known: String(known),
      rules_held_back_by: rules < known ? heldBackBy.join(", ").slice(0, 64) : "",
      entry_version: String(entryVersion),
    };
  }
}
