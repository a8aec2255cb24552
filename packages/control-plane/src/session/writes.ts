import type { Entry as LedgerEntry, EntryDecision } from "@event-anchoring/ledger";
import type { Term } from "raft-ts";
import { LeaderQueue } from "../proposals/leader-queue.ts";
import { Proposals, type SentGroup, type Submission } from "../proposals/proposals.ts";
import { Router } from "../proposals/router.ts";
import type { Certifying } from "./certifying.ts";
import type { Consensus } from "./consensus.ts";
import { Leadership } from "./leadership.ts";
import type { Membership } from "./membership.ts";
import type { SessionOptions } from "./session-options.ts";

export interface WritesParts {
  readonly consensus: Consensus;
  readonly membership: Membership;
  readonly certifying: Certifying;
}

/** The way of a command from its submitter to the log, and of its outcome back. */
export class Writes {
  readonly proposals: Proposals;
  readonly queue: LeaderQueue;
  readonly router: Router;
  readonly #leadership: Leadership;
  readonly #parts: WritesParts;

  constructor(options: SessionOptions, parts: WritesParts) {
    const { environment, identity, promises, network, signatures, counts, node } = options;
    const { consensus, membership, certifying } = parts;
    this.#parts = parts;
    this.#leadership = new Leadership({
      environment,
      state: options.state,
      certifier: certifying.certifier,
      clockGuard: membership.clockGuard,
      genesisDocument: identity.configured.document,
      pendingTrustRoot: () => membership.group.restored.pending(),
      submit: (submission) => this.submit(submission),
      transferLeadership: () => membership.transferLeadership(),
    });
    this.router = new Router({
      clock: environment.clock,
      network,
      selfNodeId: identity.nodeId,
      raftIdOf: (nodeId) => membership.members.raftIdOf(nodeId),
      refusalOf: (command) => certifying.contradictions.refusalOf(command),
      onForwarded: (leader) => consensus.failover.onForwarded(leader),
      proposals: () => this.proposals,
      queue: () => this.queue,
    });
    this.proposals = new Proposals({
      ...environment,
      self: { node: identity.raftId, incarnation: promises.current.incarnation },
      commitIndex: () => node.basicStatus().commit,
      leader: () => consensus.leaderNodeId(),
      sendTo: (leader, groups) => this.router.propose(leader, groups),
      onOtherDecided: () => counts.noteOtherGroup(),
      whenCovered: (origin, treeSize, covered) => certifying.certifier.whenCovered(origin, treeSize, covered),
    });
    this.queue = new LeaderQueue(
      options.aroundQueue({
        clock: environment.clock,
        propose: (payload) => consensus.propose(payload),
        onQueued: (group) => signatures.verifyGroup(group, membership.trustRoot()),
        cosignedTo: () => Math.min(options.state.appliedIndex, certifying.certifier.cosignedTo),
        hasCertificatesToRecord: () => this.#leadership.hasCertificatesToRecord(),
        certificatesToRecord: () => this.#leadership.certificatesToRecord(),
        onRecording: (certificates) => this.#leadership.onRecording(certificates),
        gate: () => this.#leadership.gate(),
        entryVersion: () => membership.rules.inForce.entryVersion,
        refuse: (groups, code, detail) => this.router.refuse(groups, code, detail),
      }),
    );
  }

  /** One command of a client, an operator or of this node itself. */
  submit(submission: Submission): void {
    const refusal = this.#parts.certifying.contradictions.refusalOf(submission.command);
    if (refusal === null) this.proposals.submit(submission);
    else submission.respond({ kind: "refused", ...refusal });
  }

  /** Whether this node would refuse all of these if it led. */
  wouldRefuse(groups: readonly SentGroup[]): boolean {
    const { contradictions } = this.#parts.certifying;
    return groups.every(
      ({ purpose, commands }) =>
        this.#leadership.refuses(purpose) || commands.some((command) => contradictions.refusalOf(command) !== null),
    );
  }

  onRole(isLeader: boolean): void {
    this.#leadership.onRoleChange();
    this.queue.onLeadership(isLeader);
  }

  /** An entry was decided here: its waiters are answered, or wait for its certificate. */
  onDecided(entry: LedgerEntry, decision: EntryDecision, payload: Uint8Array): void {
    if (this.proposals.onDecided(entry, decision, payload)) this.#parts.consensus.failover.onDecided();
    this.queue.onDecided();
  }

  /** An entry is in the database: the next may be proposed. */
  onApplied({ index, term }: { readonly index: number; readonly term: Term }): void {
    const { consensus } = this.#parts;
    this.queue.onApplied(index);
    if (consensus.isLeader()) this.#leadership.onApplied(term, consensus.status().term);
  }

  /** Called periodically on the leader. */
  look(): void {
    this.#leadership.look(this.queue.oldestUnappliedMs);
  }

  /** Whether a sweep has anything to do. */
  get hasOpen(): boolean {
    return this.proposals.hasOpen || this.queue.depth.commands > 0;
  }

  /** Answers what is due, and proposes what has waited long enough. */
  sweep(): void {
    this.proposals.sweep();
    this.queue.pump();
  }

  close(): void {
    this.queue.close();
    this.proposals.close();
  }
}
