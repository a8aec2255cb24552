import { trustRootInForce } from "../membership/known-trust-root.ts";
import type { Members } from "../membership/members.ts";
import { Applier, type EntryReactions } from "../raft/applier.ts";
import { createDriver } from "../raft/create-driver.ts";
import type { Driver } from "../raft/driver.ts";
import { LogCompaction } from "../raft/log-compaction.ts";
import type { PayloadCache } from "../raft/payload-cache.ts";
import { RepeatedAcks } from "../raft/repeated-acks.ts";
import { ReadRounds } from "../raft/read-rounds.ts";
import { TableLane } from "../raft/table-lane.ts";
import type { SentGroup } from "../proposals/proposals.ts";
import { EntryArrivals } from "../signatures/entry-arrivals.ts";
import type { NodeStatus } from "@event-anchoring/control-contract";
import type { BasicStatus, ConfChange, ConfState, InboundMessage, RaftId, RaftIndex, SoftState } from "raft-ts";
import { Failover, turnAfter } from "./failover.ts";
import type { Life } from "./how-a-life-ends.ts";
import type { SessionOptions } from "./session-options.ts";

/** What a node without a session says of consensus. */
export const NO_RAFT: NodeStatus["raft"] = {
  role: "follower",
  term: 0,
  leader: null,
  commitIndex: 0,
  appliedIndex: 0,
  lastIndex: 0,
};

export interface ConsensusParts {
  readonly members: Members;
  readonly life: Life;
  /** This node has begun or ceased to lead. */
  readonly onRole: (isLeader: boolean) => void;
  /** Another node leads; it may be this one. */
  readonly onLeader: () => void;
  /** The log has grown on disk, and the growth is not acknowledged yet. */
  readonly onDurable: () => void;
  /** The tables hold more entries. */
  readonly onWritten: () => void;
  /** Whether this node, if it led, would refuse all of these now. */
  readonly wouldRefuse: (groups: readonly SentGroup[]) => boolean;
  /** The members as they are now. */
  readonly confState: () => ConfState;
  /** The last entry that as many active nodes have as must sign a state before a peer takes it over. */
  readonly heldByEnough: () => RaftIndex;
}

/**
 * The engine with its lanes: what is proposed, appended, sent and applied, who leads, and what a quorum confirms.
 *
 * Nothing happens, and no part is called back, before `start`.
 */
export class Consensus {
  /** 16 random bytes, unique to this life: they tell a clone with the same incarnation apart. */
  readonly lifeId = new Uint8Array(16);
  readonly acks = new RepeatedAcks();
  readonly arrivals: EntryArrivals;
  readonly cache: PayloadCache;
  readonly compaction: LogCompaction;
  readonly failover: Failover;
  readonly rounds: ReadRounds;
  readonly tables: TableLane;
  readonly #options: SessionOptions;
  readonly #parts: ConsensusParts;
  readonly #driver: Driver;
  #apply: Applier["apply"] = () => Promise.reject(new Error("consensus has not started"));
  #leader: RaftId = 0n;
  #role: SoftState["role"] = "follower";

  constructor(options: SessionOptions, parts: ConsensusParts) {
    const { environment, signatures, state, identity } = options;
    const { clock } = environment;
    this.#options = options;
    this.#parts = parts;
    this.cache = options.cache;
    environment.random.fill(this.lifeId);
    this.arrivals = new EntryArrivals(signatures, state.ruleTable, () => trustRootInForce(state, identity));
    this.tables = new TableLane({
      clock,
      tables: options.tables,
      writtenIndex: state.appliedIndex,
      stateRoot: options.stateRoot,
      onWritten: parts.onWritten,
      onFailure: (error) => parts.life.fail(error),
    });
    this.compaction = this.#makeCompaction();
    this.#driver = this.#makeDriver();
    this.rounds = new ReadRounds({ clock, lifeId: this.lifeId, readIndex: (id) => this.#readIndex(id) });
    this.failover = new Failover({
      environment,
      leader: () => this.leaderNodeId(),
      turnAfter: (nodeId) => {
        const leader = parts.members.raftIdOf(nodeId) ?? 0n;
        return turnAfter(leader, parts.members.raftIdOf(identity.nodeId) ?? 0n, parts.confState().voters);
      },
      isCaughtUp: () => this.status().commit === state.appliedIndex,
      wouldRefuse: parts.wouldRefuse,
      forgetLeader: () => this.#driver.forgetLeader(),
      campaign: () => this.#driver.campaign(),
    });
  }

  /** Starts the engine's work. @param reactions what a committed entry triggers */
  start(reactions: EntryReactions): void {
    const { state, log, signatures } = this.#options;
    const applier = new Applier({
      state,
      crypto: signatures.crypto,
      cache: this.cache,
      arrivals: this.arrivals,
      readLog: (from, to, maxBytes) => log.read(from, to, maxBytes),
      target: this.tables,
      reactions,
    });
    this.#apply = (entries) => applier.apply(entries);
    this.#driver.drain();
  }

  tick(): void {
    this.#driver.tick();
  }

  /** One message of a peer, already judged. */
  step(message: InboundMessage): void {
    this.acks.onHeard(message);
    if (message.type === "MsgReadIndex" && !this.mayConfirmReads()) return;
    this.#driver.step(message);
  }

  /**
   * False: this node is the only voter, leads, and has applied no entry of its term. The engine would answer a read
   * index with the commit index it knows, and after a restart that can be older than what it has acknowledged. With
   * more voters the engine itself waits for such an entry. Who asked asks again.
   */
  mayConfirmReads(): boolean {
    const { voters, votersOutgoing } = this.#parts.confState();
    if (voters.length > 1 || votersOutgoing.length > 0 || !this.isLeader()) return true;
    return this.#options.state.appliedTerm === this.status().term;
  }

  #readIndex(context: Uint8Array): void {
    if (this.mayConfirmReads()) this.#driver.readIndex(context);
  }

  /** Appends a payload to the log of this leader; its index, or null if this node does not take proposals now. */
  propose(payload: Uint8Array): RaftIndex | null {
    return this.#driver.propose(payload);
  }

  /** As propose, for a membership change; null also while an earlier one is not applied. */
  proposeConfChange(change: ConfChange): RaftIndex | null {
    return this.#driver.proposeConfChange(change);
  }

  transferLeader(to: RaftId): void {
    this.#driver.transferLeader(to);
  }

  onPeerUp(nodeId: string): void {
    const raftId = this.#parts.members.raftIdOf(nodeId);
    if (raftId !== null) this.acks.forget(raftId);
  }

  /** The peer's connections are closed. @param isRefusing new ones are refused as well: no process listens there */
  onPeerDown(nodeId: string, isRefusing: boolean): void {
    const raftId = this.#parts.members.raftIdOf(nodeId);
    if (raftId !== null) {
      this.acks.forget(raftId);
      this.#driver.reportUnreachable(raftId);
    }
    if (isRefusing) this.failover.onPeerGone(nodeId);
  }

  hasLeader(): boolean {
    return this.#leader !== 0n;
  }

  leaderNodeId(): string | null {
    return this.#leader === 0n || this.#parts.life.isEnded ? null : this.#parts.members.nodeIdOf(this.#leader);
  }

  isLeader(): boolean {
    return this.#role === "leader" && !this.#parts.life.isEnded;
  }

  status(): BasicStatus {
    return this.#driver.node.basicStatus();
  }

  view(): NodeStatus["raft"] {
    if (this.#parts.life.isEnded) return NO_RAFT;
    const { term, commit, lastIndex } = this.status();
    const { appliedIndex } = this.#options.state;
    return { role: this.#role, term, leader: this.leaderNodeId(), commitIndex: commit, appliedIndex, lastIndex };
  }

  stop(): void {
    this.#driver.stop();
    this.tables.stop();
    this.failover.close();
    this.rounds.close();
  }

  /** After `stop`: the work in the lanes is done, and nothing of this session touches the database any more. */
  async drained(): Promise<void> {
    await Promise.all([this.#driver.drained(), this.tables.drained()]);
  }

  /** After all parts are closed. */
  free(): void {
    this.#driver.node.free();
  }

  #makeDriver(): Driver {
    const { node, hardState, log, promises, network, environment } = this.#options;
    const { members, life, onDurable } = this.#parts;
    return createDriver({
      node,
      hardState,
      cache: this.cache,
      acks: this.acks,
      log,
      promises,
      logger: environment.logger,
      send: (to, lane, message) => {
        const nodeId = members.nodeIdOf(to);
        return nodeId !== null && network.send(nodeId, lane, { type: "raft", message });
      },
      flush: () => network.flush(),
      apply: (entries) => this.#apply(entries),
      onArrived: (entries) => {
        this.arrivals.note(entries);
        this.compaction.onArrived(entries);
      },
      onDurable,
      onSnapshot: (snapshot) => life.end({ kind: "behind", snapshot, leader: this.leaderNodeId() }),
      onSoftState: (soft) => this.#onSoftState(soft),
      onReadState: (read) => this.rounds.onReadState(read),
      onFailure: (error) => life.fail(error),
    });
  }

  #makeCompaction(): LogCompaction {
    const { environment, node } = this.#options;
    const { life, confState, heldByEnough } = this.#parts;
    return new LogCompaction({
      ...this.#options,
      clock: environment.clock,
      sizes: this.#options.logSizes,
      entriesKept: this.#options.logEntriesKept,
      bytesKept: this.#options.logBytesKept,
      tablesIndex: () => this.tables.writtenIndex,
      heldByEnough,
      onCompacted: ({ index }) => {
        if (life.isEnded) return;
        this.cache.forget(index);
        node.mirrorCompact(index, confState());
      },
      onFailure: (error) => life.fail(error),
    });
  }

  #onSoftState({ leader, role }: SoftState): void {
    const hadLeader = this.#leader;
    const hadRole = this.#role;
    this.#leader = leader;
    this.#role = role;
    if (hadRole !== role) this.#parts.onRole(role === "leader");
    if (hadLeader === leader) return;
    this.#options.environment.logger.info("leader_changed", { leader: this.leaderNodeId(), role });
    this.#options.counts.noteLeaderChange();
    if (leader === 0n) return;
    this.failover.onElected();
    this.rounds.onLeaderChange();
    this.#parts.onLeader();
  }
}
