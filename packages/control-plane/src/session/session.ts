import type { Hello, HelloVerdict, NodeStatus, PeerFrame } from "@event-anchoring/control-contract";
import {
  type Certificate,
  type EntryDecision,
  type Entry as LedgerEntry,
  type LedgerState,
  trustRootsOf,
} from "@event-anchoring/ledger";
import type { TrustRoot } from "@event-anchoring/protocol";
import type { EntryId, SoftState } from "raft-ts";
import { Applier } from "../raft/applier.ts";
import { Certifier } from "../certification/certifier.ts";
import { ClockGuard } from "./clock-guard.ts";
import { createDriver } from "../raft/create-driver.ts";
import type { Driver } from "../raft/driver.ts";
import { EntryArrivals } from "../signatures/entry-arrivals.ts";
import type { EntryGuard } from "../raft/entry-guard.ts";
import type { FenceCode } from "../promises/fencing.ts";
import { type SessionEnd, endOfError } from "./how-a-life-ends.ts";
import { Failover } from "./failover.ts";
import { entryGuardOf, framesOf } from "./frames-of.ts";
import { LeaderQueue, type LeaderQueueOptions } from "../proposals/leader-queue.ts";
import { Leadership } from "./leadership.ts";
import { LinearizableReads, type ReadRequest } from "../certification/linearizable-reads.ts";
import { Members } from "../membership/members.ts";
import type { PeerFrames } from "./peer-frames.ts";
import { PERIOD_MS, Periodics } from "./periodics.ts";
import { Proposals, type SentGroup, type Submission } from "../proposals/proposals.ts";
import { ReadRounds } from "../raft/read-rounds.ts";
import { contradictionOf } from "../membership/known-trust-root.ts";
import { membershipOf } from "./membership-of.ts";
import type { SessionMembership } from "../membership/session-membership.ts";
import { SessionStates } from "./session-states.ts";
import { SessionComparison } from "./session-comparison.ts";
import type { SessionOptions } from "./session-options.ts";
import { SessionPeers } from "./session-peers.ts";
import { SessionUpkeep } from "./session-upkeep.ts";

/** What a node without a session says of consensus. */
export const NO_RAFT: NodeStatus["raft"] = {
  role: "follower",
  term: 0,
  leader: null,
  commitIndex: 0,
  appliedIndex: 0,
  lastIndex: 0,
};

/**
 * One life of a node between two loads from disk: the engine, its lanes, and all that hangs on them.
 *
 * A session never repairs itself. Whatever it cannot be sure of ends it; the node loads what is durable and starts the
 * next one, with a higher incarnation.
 */
export class Session {
  readonly state: LedgerState;
  readonly certifier: Certifier;
  readonly clockGuard: ClockGuard;
  readonly members: Members;
  readonly membership: SessionMembership;
  readonly proposals: Proposals;
  readonly leaderQueue: LeaderQueue;
  readonly truth: SessionComparison;
  readonly states: SessionStates;
  readonly #options: SessionOptions;
  readonly #arrivals: EntryArrivals;
  readonly entryGuard: EntryGuard;
  readonly #driver: Driver;
  readonly #frames: PeerFrames;
  readonly #rounds: ReadRounds;
  readonly #reads: LinearizableReads;
  readonly failover: Failover;
  readonly peers: SessionPeers;
  readonly #leadership: Leadership;
  readonly upkeep: SessionUpkeep;
  readonly #periodics: Periodics;
  #leader: bigint = 0n;
  #role: SoftState["role"] = "follower";
  #isEnded = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.state = options.state;
    this.members = new Members(options.identity.trustRoot);
    options.known.learn(trustRootsOf(options.state).map(({ note }) => note));
    options.known.learn(options.restoration?.trustRoots ?? []);
    for (const trustRoot of options.known.versions) this.members.learn(trustRoot);
    this.membership = membershipOf(options, this, {
      propose: (change) => this.#driver.proposeConfChange(change),
      onRetired: (detail) => this.#fence("retired", detail),
    });
    const { clock } = options.environment;
    this.clockGuard = new ClockGuard(clock, () => this.membership.voters());
    this.peers = new SessionPeers(options, this, {
      fence: (code, detail) => this.#fence(code, detail),
      halt: (code, detail) => this.#end({ kind: "halted", code, detail }),
      fail: (error) => this.#fail(error),
    });
    this.#periodics = new Periodics(clock);
    this.truth = new SessionComparison(options, this, (end) => this.#end(end));
    this.states = new SessionStates(options, this, (end) => this.#end(end));
    this.certifier = this.#makeCertifier();
    this.proposals = this.#makeProposals();
    this.#leadership = new Leadership({
      environment: options.environment,
      state: this.state,
      certifier: this.certifier,
      clockGuard: this.clockGuard,
      genesisDocument: options.identity.configured.document,
      pendingTrustRoot: () => this.membership.restored.pending(),
      submit: (submission) => this.submit(submission),
      transferLeadership: () => this.transferLeadership(),
    });
    this.leaderQueue = this.#makeLeaderQueue();
    this.#arrivals = new EntryArrivals(options.signatures, options.state.ruleTable, () => this.trustRoot());
    this.#driver = this.#makeDriver();
    this.upkeep = new SessionUpkeep(options, this, (error) => this.#fail(error));
    this.entryGuard = entryGuardOf(options, this, (payload) => this.#arrivals.read(payload));
    const { lifeId } = this.peers;
    this.#rounds = new ReadRounds({ clock, lifeId, readIndex: (id) => this.#driver.readIndex(id) });
    this.#reads = new LinearizableReads({
      clock,
      state: this.state,
      rounds: this.#rounds,
      certifier: this.certifier,
      hasLeader: () => this.#leader !== 0n,
    });
    this.failover = new Failover({
      environment: options.environment,
      leader: () => this.leaderNodeId(),
      isCaughtUp: () => this.#driver.node.basicStatus().commit === this.state.appliedIndex,
      wouldRefuse: (groups) => groups.every((group) => this.#wouldRefuse(group)),
      forgetLeader: () => this.#driver.forgetLeader(),
      campaign: () => this.#driver.campaign(),
    });
    this.#frames = framesOf(options, this, (message) => this.#driver.step(message));
  }

  /** Ticks begin, and what was promised before is said again. */
  start(): void {
    this.peers.recall();
    for (const certificate of this.#options.recorded) this.#onRecorded(certificate);
    this.peers.memories.settle();
    const { appliedIndex, appliedTerm, effect } = this.state;
    this.certifier.onCertifyPoint({ raftIndex: appliedIndex, raftTerm: appliedTerm, effect, isEmpty: false });
    this.#every(PERIOD_MS.tick, () => this.#driver.tick());
    this.#every(PERIOD_MS.sweep, () => {
      this.proposals.sweep();
      this.truth.comparison.sweep();
      this.#reads.sweep();
      this.leaderQueue.pump();
      this.upkeep.compaction.sweep();
    });
    this.#every(PERIOD_MS.resendUncovered, () => this.certifier.resendUncovered(PERIOD_MS.resendUncovered));
    this.#every(PERIOD_MS.resendState, () => this.states.heads.resend());
    this.#every(PERIOD_MS.clockReport, () => this.#reportClock());
    this.#every(
      PERIOD_MS.leaderLook,
      () => this.isLeader() && this.#leadership.look(this.leaderQueue.oldestUnderWayMs),
    );
    this.#every(PERIOD_MS.membershipLook, () => this.isLeader() && this.membership.look());
    this.#every(PERIOD_MS.upkeep, () => this.upkeep.look());
    this.#every(PERIOD_MS.savePeers, () => void this.#options.promises.savePeers().catch((error) => this.#fail(error)));
    this.#driver.drain();
  }

  #every(periodMs: number, action: () => void): void {
    this.#periodics.every(periodMs, () => this.#guard(action));
  }

  /** One command of a client, an operator or of this node itself. */
  submit(submission: Submission): void {
    const refusal = this.truth.refusalOf(submission.command);
    if (refusal === null) this.proposals.submit(submission);
    else submission.respond({ kind: "refused", ...refusal });
  }

  /** Whether this node would refuse it if it led. */
  #wouldRefuse({ purpose, commands }: SentGroup): boolean {
    return this.#leadership.refuses(purpose) || commands.some((command) => this.truth.refusalOf(command) !== null);
  }

  read(request: ReadRequest): void {
    this.#reads.read(request);
  }

  onFrame(from: string, frame: PeerFrame): void {
    this.#guard(() => this.#frames.onFrame(from, frame));
  }

  onPeerUp(nodeId: string): void {
    if (this.#isEnded) return;
    this.membership.onPeerUp(nodeId);
    const items = this.certifier.newestOwn();
    if (items.length > 0) this.#options.network.send(nodeId, "control", { type: "cosignatures", items });
    this.#reportClock();
    if (nodeId === this.leaderNodeId()) this.proposals.onLeaderReachable();
  }

  onPeerDown(nodeId: string, isRefusing: boolean): void {
    if (this.#isEnded) return;
    this.clockGuard.onPeerDown(nodeId);
    const raftId = this.members.raftIdOf(nodeId);
    if (raftId !== null) this.#driver.reportUnreachable(raftId);
    if (isRefusing) this.failover.onPeerGone(nodeId);
  }

  hello(): Hello {
    return this.peers.hello();
  }

  judgeHello(hello: Hello): HelloVerdict {
    const verdict = this.membership.judgeHello(hello) ?? this.peers.judgeHello(hello);
    if (verdict.accepted) this.upkeep.rules.onHello(hello);
    return verdict;
  }

  /** The newest applied version, or the one this node was set up with. */
  trustRoot(): TrustRoot {
    return this.state.trustRootChain?.newest.trustRoot ?? this.#options.identity.trustRoot;
  }

  leaderNodeId(): string | null {
    return this.#leader === 0n || this.#isEnded ? null : this.members.nodeIdOf(this.#leader);
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  isLeader(): boolean {
    return this.#role === "leader" && !this.#isEnded;
  }

  raftStatus(): NodeStatus["raft"] {
    if (this.#isEnded) return NO_RAFT;
    const { term, commit, lastIndex } = this.#driver.node.basicStatus();
    const { appliedIndex } = this.state;
    return { role: this.#role, term, leader: this.leaderNodeId(), commitIndex: commit, appliedIndex, lastIndex };
  }

  /** Hands leadership to the most advanced other voter, if this node leads. */
  transferLeadership(): void {
    const target = this.isLeader() ? this.membership.successor() : null;
    if (target !== null) this.#driver.transferLeader(target);
  }

  /** Ends this session from outside. Everybody who waits is answered with what is known. */
  stop(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#periodics.close();
    this.#driver.stop();
    this.failover.close();
    this.#rounds.close();
    this.#reads.close();
    this.leaderQueue.close();
    this.proposals.close();
    this.certifier.close();
    this.peers.close();
    this.states.close();
    this.#options.observer?.close();
    this.#driver.node.free();
  }

  /** The work in the lanes is done: nothing of this session touches the database any more. */
  async drained(): Promise<void> {
    await this.#driver.drained();
  }

  #end(end: SessionEnd): void {
    if (this.#isEnded) return;
    this.stop();
    this.#options.onEnd(end);
  }

  /** What comes from outside (frames, timers) must not take the process down with it. */
  #guard(action: () => void): void {
    if (this.#isEnded) return;
    try {
      action();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#end(endOfError(error));
  }

  #fence(code: FenceCode, detail: string): void {
    this.#end({ kind: "fenced", code, detail });
  }

  #makeDriver(): Driver {
    const { node, hardState, cache, log, promises, network, environment } = this.#options;
    return createDriver({
      node,
      hardState,
      cache,
      log,
      promises,
      logger: environment.logger,
      send: (to, lane, message) => {
        const nodeId = this.members.nodeIdOf(to);
        return nodeId !== null && network.send(nodeId, lane, { type: "raft", message });
      },
      apply: this.#makeApply(),
      onArrived: (entries) => {
        this.#arrivals.note(entries);
        this.upkeep.compaction.onArrived(entries);
      },
      onDurable: () => this.peers.onDurable(),
      onSnapshot: (snapshot) => this.#end({ kind: "behind", snapshot, leader: this.leaderNodeId() }),
      onSoftState: (soft) => this.#onSoftState(soft),
      onReadState: (read) => this.#rounds.onReadState(read),
      onFailure: (error) => this.#fail(error),
    });
  }

  #makeApply(): (entries: Parameters<Applier["apply"]>[0]) => Promise<void> {
    const { cache, log, tables, signatures, promises } = this.#options;
    const applier = new Applier({
      state: this.state,
      crypto: signatures.crypto,
      cache,
      arrivals: this.#arrivals,
      readLog: (from, to, maxBytes) => log.read(from, to, maxBytes),
      target: tables,
      applyConfChange: (payload) => this.membership.applyConfChange(payload),
      beforeAdvance: (decision) => {
        for (const certificate of decision.writes.certificates) this.#onRecorded(certificate);
        for (const certificate of decision.contradictions) this.truth.comparison.onCertificate(certificate);
      },
      beforeForgetting: ({ index }) => promises.promiseToForget(index),
      onAdvanced: (decision) => this.#onAdvanced(decision),
      onDecided: (entry, decision) => this.#onDecided(entry, decision),
      onAdvancing: () => this.states.onAdvancing(),
      onWritten: ({ stateRoot }, isStatePoint) => this.states.onApplied(stateRoot, isStatePoint),
      onApplied: (entry) => this.#onApplied(entry),
    });
    return (entries) => applier.apply(entries);
  }

  #onAdvanced({ index, term, effect, certify, writes }: EntryDecision): void {
    if (writes.trustRoots.length > 0) this.#onTrustRoot();
    if (!certify || this.#isEnded) return;
    this.truth.onOwnEffect(index, effect);
    const isEmpty = writes.leaves.length === 0;
    this.certifier.onCertifyPoint({ raftIndex: index, raftTerm: term, effect, isEmpty });
  }

  #onDecided(entry: LedgerEntry, decision: EntryDecision): void {
    this.#options.decisions.note(decision);
    if (this.#isEnded) return;
    if (decision.isToBeForgotten) this.upkeep.compaction.owe(decision.index);
    if (this.proposals.onDecided(entry, decision)) this.failover.onDecided();
    this.upkeep.judgeStamp(entry, decision.index);
    this.#reads.onApplied();
  }

  #makeCertifier(): Certifier {
    const { environment, signatures, identity, promises, network } = this.#options;
    return new Certifier({
      clock: environment.clock,
      logger: environment.logger,
      crypto: signatures.crypto,
      state: this.state,
      nodeId: identity.nodeId,
      cosignerUnder: (root) => this.membership.cosignerUnder(root),
      logSignerOf: identity.logSignerOf,
      promises,
      maySign: () => this.membership.maySign(),
      broadcast: (items) => this.broadcast({ type: "cosignatures", items }),
      sendTo: (nodeId, items) => network.send(nodeId, "control", { type: "cosignatures", items }),
      onCertificate: (certificate) => {
        this.peers.memories.onCertificate(certificate);
        this.leaderQueue.onCertificate();
      },
      comparison: this.truth.comparison,
      onRefused: (from) => this.#options.observer?.onCosignatureRefused(from),
      onForgotten: (detail) => this.#fence("root_differs", detail),
      onFailure: (error) => this.#fail(error),
    });
  }

  #makeProposals(): Proposals {
    const { environment, identity, promises, node, signatures, decisions } = this.#options;
    return new Proposals({
      ...environment,
      self: { node: identity.raftId, incarnation: promises.current.incarnation },
      commitIndex: () => node.basicStatus().commit,
      leader: () => this.leaderNodeId(),
      sendTo: (leader, groups) => this.#frames.propose(leader, groups),
      sha256: signatures.crypto.sha256,
      onOtherDecided: () => decisions.noteOtherGroup(),
      whenCovered: (origin, treeSize, covered) => this.certifier.whenCovered(origin, treeSize, covered),
    });
  }

  #makeLeaderQueue(): LeaderQueue {
    const options: LeaderQueueOptions = {
      clock: this.#options.environment.clock,
      propose: (payload) => this.#driver.propose(payload),
      onQueued: (group) => this.#options.signatures.verifyGroup(group, this.trustRoot()),
      certificatesToRecord: () => this.#leadership.certificatesToRecord(),
      onRecording: (certificates) => this.#leadership.onRecording(certificates),
      gate: () => this.#leadership.gate(),
      entryVersion: () => this.upkeep.rules.inForce.entryVersion,
      refuse: (groups, code, detail) => this.#frames.refuse(groups, code, detail),
    };
    return new LeaderQueue(this.#options.observer?.queue(options) ?? options);
  }

  #onSoftState(soft: SoftState): void {
    const hadLeader = this.#leader;
    this.#leader = soft.leader;
    if (this.#role !== soft.role) {
      this.#role = soft.role;
      this.#leadership.onRoleChange();
      this.membership.onRoleChange();
      this.leaderQueue.onLeadership(soft.role === "leader");
    }
    if (hadLeader === soft.leader) return;
    this.#options.environment.logger.info("leader_changed", { leader: this.leaderNodeId(), role: soft.role });
    this.#options.observer?.onLeaderChange();
    if (soft.leader === 0n) return;
    this.#rounds.onLeaderChange();
    this.certifier.resendUncovered(0);
    // After the engine has finished this round of chores: a leader may not propose from within it.
    queueMicrotask(() => {
      if (!this.#isEnded) this.proposals.onLeaderReachable();
    });
  }

  #onApplied({ index, term }: EntryId): void {
    if (this.#isEnded) return;
    this.membership.onApplied();
    if (this.#isEnded) return;
    this.#reads.onApplied();
    this.leaderQueue.onApplied(index);
    if (this.isLeader()) this.#leadership.onApplied(term, this.#driver.node.basicStatus().term);
    this.upkeep.compaction.onApplied(index);
  }

  /** Cosignatures that the log records are memory too: their nodes may not come back without them. */
  #onRecorded(certificate: Certificate): void {
    this.peers.memories.onCertificate(certificate);
    this.certifier.onRecorded(certificate);
  }

  #onTrustRoot(): void {
    const { versions } = this.state.trustRootChain ?? { versions: [] };
    for (const { trustRoot } of versions) this.members.learn(trustRoot);
    this.#options.known.learn(versions.map(({ note }) => note));
    this.truth.comparison.onTrustRoot();
    this.certifier.onTrustRoot();
    this.membership.onTrustRoot(versions.at(-2)?.trustRoot ?? null, this.trustRoot());
    const contradiction = contradictionOf(this.#options.identity, versions);
    if (contradiction !== null) this.#end({ kind: "halted", code: "wrong_root_thk", detail: contradiction });
  }

  #reportClock(): void {
    this.broadcast(this.clockGuard.ownReport(this.state.appliedIndex));
  }

  /** To every node that the newest trust root names. */
  broadcast(frame: PeerFrame): void {
    const { identity, network, known } = this.#options;
    for (const { nodeId } of known.newest.nodes) {
      if (nodeId !== identity.nodeId) network.send(nodeId, "control", frame);
    }
  }
}
