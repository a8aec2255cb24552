import type { Member, Membership } from "@event-anchoring/control-contract";
import type { TrustRoot } from "@event-anchoring/protocol";
import type { ConfChange, ConfState, Progress, RaftId, RaftIndex, Status } from "raft-ts";
import type { Clock, Logger } from "@event-anchoring/telemetry";
import { type Members, membershipContext } from "./members.ts";
import { type MembershipStep, isLearner, isVoter, listedNodes, planMembership } from "./membership-plan.ts";

/** A learner may vote when it has lagged by no more than this … */
const FOLLOWING_ENTRIES_MAX = 1000;
/** … for this long. */
const FOLLOWING_MS = 5000;
/** The engine says "heard from" once per election timeout; two missed ones are silence. */
const SILENT_AFTER_MS = 2500;

export interface MembershipKeeperOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly self: { readonly nodeId: string; readonly raftId: RaftId };
  readonly members: Members;
  /** The newest applied version; null before genesis. */
  readonly trustRoot: () => TrustRoot | null;
  readonly confState: () => ConfState;
  readonly status: () => Status;
  /** Appends a membership change as leader; its index, or null if the engine does not take it now. */
  readonly propose: (change: ConfChange) => RaftIndex | null;
  readonly transferLeadership: () => void;
}

/**
 * On the leader: moves the group towards what the trust root asks, one change at a time. It has no state that a new
 * leader would miss: how long a learner has followed is measured again.
 */
export class MembershipKeeper {
  readonly #options: MembershipKeeperOptions;
  readonly #heardMs = new Map<RaftId, number>();
  /** When each learner began to lag by little; absent: it lags more. */
  readonly #followingSinceMs = new Map<RaftId, number>();
  /** Log index of the change under way; 0: none. */
  #proposedIndex: RaftIndex = 0;

  constructor(options: MembershipKeeperOptions) {
    this.#options = options;
  }

  /** Leadership was won or lost: earlier measurements are void. */
  onRoleChange(): void {
    this.#heardMs.clear();
    this.#followingSinceMs.clear();
    this.#proposedIndex = 0;
  }

  /** Called periodically on the leader. */
  look(): void {
    const { logger } = this.#options;
    const root = this.#options.trustRoot();
    const status = this.#options.status();
    if (root === null || status.role !== "leader") return;
    this.#measure(status);
    if (status.applied < this.#proposedIndex) return;
    const step = this.#plan(root);
    switch (step.kind) {
      case "none":
      case "wait":
        break;
      case "transfer":
        logger.info("membership_transfer", { reason: step.reason });
        this.#options.transferLeadership();
        break;
      case "change": {
        const context = membershipContext(root.version);
        const index = this.#options.propose({ transition: "auto", changes: step.changes, context });
        logger.info("membership_change", { reason: step.reason, version: root.version, index });
        this.#proposedIndex = index ?? 0;
      }
    }
  }

  /** For operators. */
  view(): Membership {
    const { self, confState, members } = this.#options;
    const root = this.#options.trustRoot();
    const status = this.#options.status();
    const isLeader = status.role === "leader";
    const listed = root === null ? [] : listedNodes(root, (nodeId) => members.raftIdOf(nodeId));
    const conf = confState();
    return {
      nodeId: self.nodeId,
      isLeader,
      trustRootVersion: root?.version ?? 0,
      lastIndex: status.lastIndex,
      pending: root === null ? "no trust root is applied" : pendingOf(this.#plan(root)),
      members: listed.map(({ nodeId, raftId, status: listedStatus }): Member => {
        const progress = status.progress.get(raftId);
        return {
          nodeId,
          status: listedStatus,
          role: roleOf(conf, raftId),
          isLeader: status.lead === raftId,
          matchIndex: progress?.match ?? null,
          isAlive: isLeader && progress !== undefined ? this.#isAlive(raftId) : null,
        };
      }),
    };
  }

  #plan(root: TrustRoot): MembershipStep {
    const { self, confState, members } = this.#options;
    return planMembership({
      self: self.raftId,
      confState: confState(),
      nodes: listedNodes(root, (nodeId) => members.raftIdOf(nodeId)),
      hasCaughtUp: (id) => {
        const since = this.#followingSinceMs.get(id);
        return since !== undefined && this.#options.clock.monotonicMs() - since >= FOLLOWING_MS;
      },
      isAlive: (id) => this.#isAlive(id),
    });
  }

  #measure({ progress, lastIndex }: Status): void {
    const now = this.#options.clock.monotonicMs();
    for (const [id, seen] of progress) {
      // A new leader has heard from no member yet: it waits before it counts one as silent.
      if (seen.recentActive || !this.#heardMs.has(id)) this.#heardMs.set(id, now);
      if (!isFollowing(seen, lastIndex) || !this.#isAlive(id)) this.#followingSinceMs.delete(id);
      else if (!this.#followingSinceMs.has(id)) this.#followingSinceMs.set(id, now);
    }
  }

  #isAlive(id: RaftId): boolean {
    if (id === this.#options.self.raftId) return true;
    const heardMs = this.#heardMs.get(id);
    return heardMs !== undefined && this.#options.clock.monotonicMs() - heardMs < SILENT_AFTER_MS;
  }
}

function isFollowing({ state, match }: Progress, lastIndex: RaftIndex): boolean {
  return state === "replicate" && lastIndex - match <= FOLLOWING_ENTRIES_MAX;
}

function roleOf(conf: ConfState, id: RaftId): Member["role"] {
  if (isVoter(conf, id)) return "voter";
  if (isLearner(conf, id)) return "learner";
  return conf.votersOutgoing.includes(id) ? "leaving" : "none";
}

function pendingOf(step: MembershipStep): string | null {
  return step.kind === "none" ? null : step.reason;
}
