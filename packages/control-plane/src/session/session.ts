import type { Hello, HelloRefusal, HelloVerdict, OwnWord, PeerFrame } from "@event-anchoring/control-contract";
import type { LedgerState } from "@event-anchoring/ledger";
import type { OriginFingerprint, TrustRoot } from "@event-anchoring/protocol";
import type { HeadRequest } from "../certification/awaited-heads.ts";
import type { Certifier, HeldCertificate } from "../certification/certifier.ts";
import type { ReadRequest } from "../certification/linearizable-reads.ts";
import { Members } from "../membership/members.ts";
import type { Submission } from "../proposals/proposals.ts";
import { Certifying } from "./certifying.ts";
import { Consensus } from "./consensus.ts";
import { entryReactions } from "./entry-reactions.ts";
import { type Life, type SessionEnd, endOfError } from "./how-a-life-ends.ts";
import { Membership } from "./membership.ts";
import { PeerFrames } from "./peer-frames.ts";
import { BEATS, PERIOD_MS, Periodics } from "./periodics.ts";
import type { SessionOptions } from "./session-options.ts";
import type { SessionParts } from "./session-parts.ts";
import type { SignedStates } from "./signed-states.ts";
import { type SessionView, viewOf } from "./view.ts";
import { Witnessing } from "./witnessing.ts";
import { Writes } from "./writes.ts";

/**
 * One life of a node between two loads from disk: five assemblies, and their timers.
 *
 * A session never repairs itself. Any uncertainty ends it; the node loads what is durable and starts the next session,
 * with a higher incarnation.
 */
export class Session implements SessionParts {
  readonly state: LedgerState;
  readonly consensus: Consensus;
  readonly membership: Membership;
  readonly certifying: Certifying;
  readonly writes: Writes;
  readonly witnessing: Witnessing;
  readonly frames: PeerFrames;
  readonly life: Life;
  readonly #options: SessionOptions;
  readonly #periodics: Periodics;
  /** Each starts a periodic work that ends when nothing is left of it. */
  readonly #sweepSoon: () => void;
  readonly #resendSoon: () => void;
  #isEnded = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.state = options.state;
    this.#periodics = new Periodics(options.environment.clock);
    this.life = this.#makeLife();
    const { life } = this;
    const members = this.#makeMembers();
    const submit = (submission: Submission): void => this.submit(submission);
    const consensus = new Consensus(options, {
      members,
      life,
      onRole: (isLeader) => this.#onRole(isLeader),
      onLeader: () => this.#onLeader(),
      onDurable: () => this.membership.peers.onDurable(),
      onWritten: () => this.certifying.reads.onWritten(),
      wouldRefuse: (groups) => this.writes.wouldRefuse(groups),
      confState: () => this.membership.group.confState,
      heldByEnough: () => this.membership.peers.heldByEnough(),
    });
    const membership = new Membership(options, { consensus, members, life, submit });
    const onCosigned = (): void => this.writes.queue.onCosigned();
    const onUncovered = (): void => this.#resendSoon();
    const certifying = new Certifying(options, { consensus, membership, life, submit, onUncovered, onCosigned });
    this.consensus = consensus;
    this.membership = membership;
    this.certifying = certifying;
    this.writes = new Writes(options, { consensus, membership, certifying });
    this.witnessing = new Witnessing(options, { consensus, membership, certifying, life });
    this.frames = new PeerFrames(options, this);
    this.#sweepSoon = this.#sweeps();
    this.#resendSoon = this.#resends();
  }

  /** Restores the memory of peers, signs the last certify point again, starts the timers, and runs the engine. */
  start(): void {
    const { membership, certifying, writes, consensus } = this;
    membership.peers.recall();
    for (const certificate of this.#options.recorded) certifying.onRecorded(certificate);
    membership.peers.memories.settle();
    const { appliedIndex, appliedTerm, effect } = this.state;
    certifying.certifier.onCertifyPoint({ raftIndex: appliedIndex, raftTerm: appliedTerm, effect, isEmpty: false });
    this.#every(BEATS.tick, () => {
      consensus.tick();
      // What peers' frames have opened.
      if (this.#hasOpen()) this.#sweepSoon();
      if (certifying.certifier.hasUncovered) this.#resendSoon();
    });
    this.#every(BEATS.resendState, () => certifying.states.heads.resend());
    this.#every(BEATS.clockReport, () => membership.reportClock());
    this.#every(BEATS.leaderLook, () => this.isLeader() && writes.look());
    this.#every(BEATS.membershipLook, () => this.isLeader() && membership.group.look());
    this.#every(BEATS.upkeep, () => {
      if (this.isLeader()) membership.rules.look();
      certifying.look();
      this.witnessing.look();
    });
    this.#every(BEATS.savePeers, () => void membership.peers.save().catch(this.life.fail));
    this.#periodics.start();
    consensus.start(entryReactions(this, this.#options));
  }

  /** One command of a client, an operator or of this node itself. */
  submit(submission: Submission): void {
    this.#sweepSoon();
    this.writes.submit(submission);
  }

  read(request: ReadRequest): void {
    this.#sweepSoon();
    this.certifying.reads.read(request);
  }

  /** The next head of an origin, for those who follow it. */
  awaitHead(request: HeadRequest): void {
    this.certifying.heads.await(request);
  }

  /** The next head of an origin that is witnessed. */
  awaitWitnessed(request: HeadRequest): void {
    this.witnessing.await(request);
  }

  /** Has every node sign the state after an entry, and holds this node's tables as they are there. */
  holdSigned(...hold: Parameters<SignedStates["holdSigned"]>): ReturnType<SignedStates["holdSigned"]> {
    return this.certifying.states.holdSigned(...hold);
  }

  whenCovered(...what: Parameters<Certifier["whenCovered"]>): () => void {
    return this.certifying.certifier.whenCovered(...what);
  }

  /** For measuring alone: nothing is verified for it. */
  whenCosigned(...what: Parameters<Certifier["whenCosigned"]>): void {
    this.certifying.certifier.whenCosigned(...what);
  }

  /** The newest certificate of an origin that this node holds. */
  heldOf(origin: OriginFingerprint): HeldCertificate | null {
    return this.certifying.certifier.heldOf(origin);
  }

  onFrame(from: string, frame: PeerFrame): void {
    this.#guard(() => this.frames.onFrame(from, frame));
  }

  onPeerUp(nodeId: string): void {
    if (this.#isEnded) return;
    this.membership.group.onPeerUp(nodeId);
    this.consensus.onPeerUp(nodeId);
    const items = this.certifying.certifier.newestOwn();
    if (items.length > 0) this.#options.network.send(nodeId, "control", { type: "cosignatures", items, asks: false });
    this.witnessing.onPeerUp(nodeId);
    this.membership.reportClock();
    if (nodeId === this.leaderNodeId()) this.writes.proposals.onLeaderReachable();
  }

  onPeerDown(nodeId: string, isRefusing: boolean): void {
    if (this.#isEnded) return;
    this.membership.clockGuard.onPeerDown(nodeId);
    this.consensus.onPeerDown(nodeId, isRefusing);
  }

  hello(): Hello {
    return this.membership.peers.hello();
  }

  judgeHello(hello: Hello): HelloVerdict {
    return this.membership.judgeHello(hello);
  }

  /** A peer refused this node's hello. */
  onHelloRefused(peer: string, refusal: HelloRefusal): void {
    this.membership.peers.onRefused(peer, refusal);
  }

  /** Something that the peer itself has signed and that this node can show it; null: nothing. */
  ownWordOf(nodeId: string): OwnWord | null {
    return this.membership.peers.ownWordOf(nodeId);
  }

  /** A newer trust root is known. */
  onKnown(root: TrustRoot): void {
    this.membership.members.learn(root);
  }

  trustRoot(): TrustRoot {
    return this.membership.trustRoot();
  }

  leaderNodeId(): string | null {
    return this.consensus.leaderNodeId();
  }

  isLeader(): boolean {
    return this.consensus.isLeader();
  }

  transferLeadership(): void {
    this.membership.transferLeadership();
  }

  /** For status and metrics. */
  view(): SessionView {
    return viewOf(this, this.#options);
  }

  /** Ends this session from outside. Every waiter is answered with what is known. */
  stop(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#periodics.close();
    this.consensus.stop();
    this.writes.close();
    this.witnessing.close();
    this.certifying.close();
    this.membership.peers.close();
    this.consensus.free();
  }

  /** The work in the lanes is done: nothing of this session touches the database any more. */
  async drained(): Promise<void> {
    await this.consensus.drained();
  }

  #makeLife(): Life {
    const isEnded = (): boolean => this.#isEnded;
    const end = (reason: SessionEnd): void => {
      if (this.#isEnded) return;
      const isForGood = reason.kind === "halted" || reason.kind === "fenced";
      if (isForGood) this.certifying.contradictions.comparison.testify();
      this.stop();
      this.#options.onEnd(reason);
    };
    return {
      get isEnded() {
        return isEnded();
      },
      end,
      fail: (error) => end(endOfError(error)),
    };
  }

  /** Every node that any known trust root lists. */
  #makeMembers(): Members {
    const { identity, known, state, restoration } = this.#options;
    const members = new Members(identity.trustRoot);
    if (state.trustRootChain !== null) known.adopt(state.trustRootChain);
    known.learn(restoration?.trustRoots ?? []);
    for (const trustRoot of known.versions) members.learn(trustRoot);
    return members;
  }

  #onRole(isLeader: boolean): void {
    this.membership.group.onRoleChange();
    this.writes.onRole(isLeader);
  }

  #onLeader(): void {
    this.certifying.certifier.resendUncovered(0);
    // After the engine has finished this round of chores: a leader may not propose from within it.
    queueMicrotask(() => {
      if (!this.#isEnded) this.writes.proposals.onLeaderReachable();
    });
  }

  #hasOpen(): boolean {
    return this.writes.hasOpen || this.certifying.hasOpen || this.consensus.compaction.isOwing;
  }

  #sweeps(): () => void {
    const sweep = (): void => {
      // Deadlines first: no answer is late because lines are exchanged.
      this.writes.sweep();
      this.certifying.sweep();
      this.consensus.compaction.sweep();
    };
    return this.#periodics.whileOpen(
      PERIOD_MS.sweep,
      () => this.#hasOpen(),
      () => this.#guard(sweep),
    );
  }

  #resends(): () => void {
    const { certifier } = this.certifying;
    const resend = (): void => certifier.resendUncovered(PERIOD_MS.resendUncovered);
    return this.#periodics.whileOpen(
      PERIOD_MS.resendUncovered,
      () => certifier.hasUncovered,
      () => this.#guard(resend),
    );
  }

  #every(beats: number, action: () => void): void {
    this.#periodics.every(beats, () => this.#guard(action));
  }

  /** Errors in handling frames and timers must not take the process down. */
  #guard(action: () => void): void {
    if (this.#isEnded) return;
    try {
      action();
    } catch (error) {
      this.life.fail(error);
    }
  }
}
