import type {
  Hello,
  HelloRefusal,
  HelloVerdict,
  OwnWord,
  PeerFrame,
  SignedProgress,
} from "@event-anchoring/control-contract";
import type { Members } from "../membership/members.ts";
import type { Group } from "../membership/group.ts";
import { type OriginFingerprint, type TrustRoot, bytesToHex, honestSigners } from "@event-anchoring/protocol";
import { committedBySignature } from "../promises/fencing.ts";
import { type OwnState, isSignedProgress } from "../promises/own-word.ts";
import { PeerMemories } from "../promises/peer-memories.ts";
import { termMax } from "../raft/term-bound.ts";
import type { Consensus } from "./consensus.ts";
import type { Life } from "./how-a-life-ends.ts";
import { OwnHello } from "./own-hello.ts";
import { PeerWords } from "./peer-words.ts";
import type { SessionOptions } from "./session-options.ts";
import type { RaftIndex, Term } from "raft-ts";

export interface PeerStandingParts {
  readonly consensus: Consensus;
  readonly members: Members;
  readonly group: Group;
  readonly trustRoot: () => TrustRoot;
  /** The highest rules that this node lets the cluster raise to. */
  readonly rulesMax: () => number;
  readonly broadcast: (frame: PeerFrame) => void;
  readonly life: Life;
}

/**
 * What this node and its peers have promised each other: its own hello, its memory of peers, and its judgement of what
 * they say.
 */
export class PeerStanding {
  readonly memories: PeerMemories;
  readonly words: PeerWords;
  readonly #options: SessionOptions;
  readonly #members: Members;
  readonly #group: Group;
  readonly #trustRoot: () => TrustRoot;
  readonly #epoch: () => number;
  readonly #own: OwnHello;
  /** For nodes that have left for good: the entry that was applied when this was first seen. */
  readonly #goneBy = new Map<string, RaftIndex>();

  constructor(options: SessionOptions, parts: PeerStandingParts) {
    const { environment, identity, known, network, offences, promises } = options;
    const { consensus, members, group, trustRoot, life } = parts;
    const { restored } = group;
    this.#options = options;
    this.#members = members;
    this.#group = group;
    this.#trustRoot = trustRoot;
    this.#epoch = () => (restored.promised() ?? trustRoot()).epoch;
    this.memories = new PeerMemories(environment.clock);
    this.words = new PeerWords({
      offences,
      network,
      promises,
      isMember: (nodeId) => group.isMember(members.raftIdOf(nodeId)),
      ownState: () => this.#ownState(),
      storedRootAt: async (origin, treeSize) => {
        await consensus.tables.flush();
        return options.trees.rootAt(origin, treeSize);
      },
      onFenced: (code, detail) => life.end({ kind: "fenced", code, detail }),
      onHalted: (code, detail) => life.end({ kind: "halted", code, detail }),
      onFailure: (error) => life.fail(error),
    });
    this.#own = new OwnHello({
      clock: environment.clock,
      identity,
      known,
      promises,
      lifeId: consensus.lifeId,
      epoch: this.#epoch,
      rulesMax: parts.rulesMax,
      mark: () => restored.mark,
      leader: () => (consensus.isLeader() ? null : consensus.leaderNodeId()),
      sendTo: (nodeId, progress) => network.send(nodeId, "control", { type: "progress", progress }),
      broadcast: (progress) => parts.broadcast({ type: "progress", progress }),
    });
  }

  /**
   * The last entry that enough active nodes have in their logs, by what each has signed: so many that one of them is
   * honest if at most one lies. The state after it can be proven to a peer that has not got it.
   */
  heldByEnough(): RaftIndex {
    const { identity, state } = this.#options;
    const { nodes, quorum } = this.#trustRoot();
    const reached = nodes.map(({ nodeId, status }) => {
      if (status !== "active") return 0;
      if (nodeId === identity.nodeId) return state.appliedIndex;
      const said = this.memories.progressOf(nodeId);
      // Logs agree up to where both have entries of one term. Other terms tell nothing about what was replaced.
      return said?.term === state.appliedTerm && said.epoch === this.#epoch() ? said.index : 0;
    });
    return reached.sort((left, right) => right - left)[honestSigners(quorum) - 1] ?? 0;
  }

  /** Restores the memory of each peer from the promise file after a restart. */
  recall(): void {
    for (const [key, said] of this.#options.promises.current.peers) {
      const nodeId = this.#members.nodeIdOf(BigInt(`0x${key}`));
      if (nodeId !== null) this.memories.recall(nodeId, said);
    }
  }

  /** Resolves when the promise file holds what those peers have said that may come back. */
  save(): Promise<void> {
    this.#dropWords();
    return this.#options.promises.savePeers();
  }

  /**
   * Once a node has left for good and its removal is applied, every hello of it is refused: its words serve nothing.
   * They leave the promise file once it names an entry as signed that this node applied with the removal or after it.
   * A start counts such an entry as committed. So, even if the tables lost the removal with the power, this node does
   * not campaign before it has applied it again.
   */
  #dropWords(): void {
    const { promises, state, node } = this.#options;
    for (const key of promises.current.peers.keys()) {
      const raftId = BigInt(`0x${key}`);
      const nodeId = this.#members.nodeIdOf(raftId);
      if (nodeId === null || !this.#group.hasLeft(nodeId)) continue;
      const goneBy = this.#goneBy.get(nodeId) ?? state.appliedIndex;
      this.#goneBy.set(nodeId, goneBy);
      if (committedBySignature(promises.current, node.basicStatus().lastIndex) < goneBy) continue;
      promises.forgetPeer(raftId);
    }
  }

  hello(): Hello {
    return this.#own.hello();
  }

  judgeHello(hello: Hello): HelloVerdict {
    const { nodeId, progress } = hello;
    const refusal = this.words.refusalOf(nodeId);
    if (refusal !== null) return refusal;
    // A node that no known trust root lists has no key here; the transport lets only known nodes through.
    const isListed = this.#options.known.newest.nodes.some((node) => node.nodeId === nodeId);
    if (isListed && !isSignedProgress(progress, { ...this.#verifier(), nodeId })) {
      return { accepted: false, code: "bad_signature", detail: `the progress is not signed by ${nodeId}` };
    }
    const verdict = this.memories.judge(hello);
    if (verdict.accepted) this.#keep(nodeId);
    return verdict;
  }

  /** A peer's signed progress, from the life whose hello was accepted. It binds that peer alone. */
  onProgress(nodeId: string, progress: SignedProgress): void {
    if (this.memories.onProgress(nodeId, progress)) this.#keep(nodeId);
  }

  /** Something that the peer itself has signed and that this node can show it; null: nothing. */
  ownWordOf(nodeId: string): OwnWord | null {
    const progress = this.memories.progressOf(nodeId);
    return progress === null ? null : { kind: "progress", progress };
  }

  /** The highest term that is accepted from a peer. */
  termMax(): Term {
    const { environment, identity, state } = this.#options;
    return termMax(environment.clock.wallMs(), state, identity.trustRoot);
  }

  /** The log has grown on disk, and the growth is not acknowledged yet. */
  onDurable(): void {
    this.#own.onDurable();
  }

  /** A peer refused this node's hello; some refusals say that this node forgot. */
  onRefused(peer: string, refusal: HelloRefusal): void {
    const isAccused = refusal.code === "amnesia" || refusal.code === "stale_incarnation";
    if (isAccused) this.words.onAccused(peer, refusal);
  }

  close(): void {
    this.#own.close();
  }

  #keep(nodeId: string): void {
    const raftId = this.#members.raftIdOf(nodeId);
    const progress = this.memories.progressOf(nodeId);
    if (raftId !== null && progress !== null) this.#options.promises.notePeer(raftId, progress);
  }

  #verifier(): Pick<OwnState, "clusterId" | "crypto"> & { readonly trustRoots: readonly TrustRoot[] } {
    const { identity, known, signatures } = this.#options;
    return { clusterId: identity.clusterId, trustRoots: known.versions, crypto: signatures.crypto };
  }

  #ownState(): OwnState {
    const { identity, node, promises, state } = this.#options;
    return {
      ...this.#verifier(),
      nodeId: identity.nodeId,
      progress: this.#own.progress(),
      lastIndex: node.basicStatus().lastIndex,
      appliedIndex: state.appliedIndex,
      appliedTerm: state.appliedTerm,
      headOf: (origin) => promises.headOf(origin),
      rootAt: (origin, treeSize) => this.#rootAt(origin, treeSize),
    };
  }

  #rootAt(origin: OriginFingerprint, treeSize: number): Uint8Array | "not_reached" | "not_held" {
    const tree = this.#options.state.origins.get(bytesToHex(origin))?.tree;
    if (tree === undefined || treeSize > tree.size) return "not_reached";
    return treeSize < tree.base ? "not_held" : tree.rootAt(treeSize);
  }
}
