import type { Hello, HelloVerdict, Membership } from "@event-anchoring/control-contract";
import type { Signer } from "@event-anchoring/node-crypto";
import { type TrustRoot, type TrustRootNode, equalBytes } from "@event-anchoring/protocol";
import type { Restoration } from "@event-anchoring/store";
import type { ConfChange, ConfState, RaftId, RaftIndex, RawNode } from "raft-ts";
import type { Environment } from "../ports/environment.ts";
import type { NodeIdentity } from "../ports/identity.ts";
import type { SessionNetwork } from "../transport/network-types.ts";
import { type Members, changeInForce } from "./members.ts";
import type { KnownTrustRoot } from "./known-trust-root.ts";
import { MembershipKeeper } from "./membership-keeper.ts";
import { isVoter, listedNodes, refusalOf } from "./membership-plan.ts";
import { cosignerUnder, missingKeyUnder } from "./own-keys.ts";
import type { PromiseKeeper } from "../promises/promises.ts";
import { RestoredGroup } from "./restored-group.ts";

export interface GroupOptions {
  readonly environment: Environment;
  readonly identity: NodeIdentity;
  readonly node: RawNode;
  /** As it is at the session's applied index. */
  readonly confState: ConfState;
  readonly members: Members;
  readonly known: KnownTrustRoot;
  readonly restoration: Restoration | null;
  /** The newest applied version; null before genesis. */
  readonly applied: () => TrustRoot | null;
  readonly propose: (change: ConfChange) => RaftIndex | null;
  readonly transferLeadership: () => void;
  readonly network: Pick<SessionNetwork, "isConnected" | "disconnect">;
  readonly promises: Pick<PromiseKeeper, "current" | "confirm">;
  /** This node is no member any more, and under the trust root never will be again. */
  readonly onRetired: (detail: string) => void;
}

/** Who is in the group, as one session sees it: changes put into force, and what follows from them. */
export class Group {
  readonly restored: RestoredGroup;
  readonly #options: GroupOptions;
  readonly #keeper: MembershipKeeper;
  #confState: ConfState;
  /** Members before the changes whose entries are not in the database yet. */
  #before: ConfState | null = null;
  #saidMissing = "";

  constructor(options: GroupOptions) {
    this.#options = options;
    this.#confState = options.confState;
    this.restored = new RestoredGroup(options.restoration, () => options.applied()?.version ?? 0);
    const { environment, identity, members } = options;
    this.#keeper = new MembershipKeeper({
      clock: environment.clock,
      logger: environment.logger,
      self: { nodeId: identity.nodeId, raftId: identity.raftId },
      members,
      trustRoot: options.applied,
      confState: () => this.#confState,
      status: () => options.node.status(),
      propose: options.propose,
      transferLeadership: options.transferLeadership,
    });
  }

  get confState(): ConfState {
    return this.#confState;
  }

  /** Node ids of the voters. */
  voters(): readonly string[] {
    return namesOf(this.#confState, this.#options.members)["voters"] ?? [];
  }

  view(): Membership {
    return this.#keeper.view();
  }

  onRoleChange(): void {
    this.#keeper.onRoleChange();
  }

  /** Called periodically; only a leader does something. */
  look(): void {
    // A restored group already has its members; the versions before the one that lists them cause no change.
    if (this.restored.pending() === null) this.#keeper.look();
  }

  /** A committed change: put into force, or refused by every replica alike. */
  applyConfChange(payload: Uint8Array): ConfState {
    const { node, members, identity, environment } = this.#options;
    const root = this.#options.applied() ?? identity.trustRoot;
    const listed = listedNodes(root, (nodeId) => members.raftIdOf(nodeId));
    const isOfVersion = changeInForce(node, payload, root.version) !== null;
    const refusal = isOfVersion
      ? refusalOf(node.decodeConfChange(payload), listed, this.#confState)
      : `it does not follow from trust-root version ${root.version}`;
    if (refusal !== null) environment.logger.warn("membership_change_refused", { reason: refusal });
    this.#before ??= this.#confState;
    this.#confState = node.applyConfChange(refusal === null ? payload : null);
    return this.#confState;
  }

  /** An entry is in the database: nodes that it removed are disconnected now; if this node is one, it retires. */
  onApplied(): void {
    const before = this.#before;
    if (before === null) return;
    this.#before = null;
    const { node, identity, members, network, environment } = this.#options;
    environment.logger.info("membership", { ...namesOf(this.#confState, members) });
    // A node that falls behind the log gets the current members, the newest one included.
    const compactedTo = node.basicStatus().firstIndex - 1;
    if (compactedTo > 0) node.mirrorCompact(compactedTo, this.#confState);
    const after = allOf(this.#confState);
    const gone = allOf(before).filter((id) => !after.includes(id));
    for (const id of gone) {
      const nodeId = members.nodeIdOf(id);
      if (id !== identity.raftId && nodeId !== null) network.disconnect(nodeId, "it has left the group");
    }
    if (gone.includes(identity.raftId)) this.#options.onRetired(this.#leftBecause());
    // A learner that has let this node in becomes a voter while the connection stays.
    for (const nodeId of this.voters()) if (network.isConnected(nodeId)) this.onPeerUp(nodeId);
  }

  #leftBecause(): string {
    const { applied, identity } = this.#options;
    const root = applied() ?? identity.trustRoot;
    const { nodeId } = identity;
    return `trust-root version ${root.version} says that ${nodeId} is ${this.#lineOf(nodeId)?.status ?? "no node"}`;
  }

  /** Whether a node, this one by default, is in the group, with a vote or without. */
  isMember(raftId: RaftId | null = this.#options.identity.raftId): boolean {
    return raftId !== null && allOf(this.#confState).includes(raftId);
  }

  /**
   * Whether a node has left for good: it is no member, and the trust root in force rules out that it becomes one again.
   * Then `judgeHello` refuses all of its hellos.
   */
  hasLeft(nodeId: string): boolean {
    return isToGo(this.#lineOf(nodeId)) && !this.isMember(this.#options.members.raftIdOf(nodeId));
  }

  /** That peer has judged this node's hello, and remembers no promise that it lacks. Only a voter's word counts. */
  onPeerUp(nodeId: string): void {
    const { promises, members, environment } = this.#options;
    const raftId = members.raftIdOf(nodeId);
    if (!promises.current.mayLackNewest || raftId === null || !isVoter(this.#confState, raftId)) return;
    promises.confirm();
    environment.logger.info("promises_confirmed", { peer: nodeId });
  }

  /** After a damaged slot of the promise file a peer must confirm first; a sole voter has no peer to ask. */
  #mayHaveForgotten(): boolean {
    return this.#options.promises.current.mayLackNewest && this.#confState.voters.length > 1;
  }

  /** Whether this node's cosignatures count, now that the group is as it is, and the key for them is here. */
  maySign(): boolean {
    const { identity, applied } = this.#options;
    const root = applied();
    if (root === null || this.#lineOf(identity.nodeId)?.status !== "active" || this.#mayHaveForgotten()) return false;
    return isVoter(this.#confState, identity.raftId) && this.cosignerUnder(root) !== null;
  }

  /**
   * The node that should lead instead: of the other eligible voters, the one whose log reaches furthest; null: none.
   */
  successor(): RaftId | null {
    const { id, progress } = this.#options.node.status();
    const others = [...progress].filter(([peer, { isLearner }]) => peer !== id && !isLearner);
    others.sort(([, left], [, right]) => right.match - left.match);
    return others.find(([peer]) => this.#mayLead(peer))?.[0] ?? null;
  }

  /** It can be reached, and the trust root does not ask it to go. */
  #mayLead(peer: RaftId): boolean {
    const { members, network } = this.#options;
    const nodeId = members.nodeIdOf(peer);
    if (nodeId === null || !network.isConnected(nodeId)) return false;
    return !isToGo(this.#lineOf(nodeId));
  }

  /** The newest trust root names a key of this node that is not here. */
  isKeyMissing(): boolean {
    const { identity, applied } = this.#options;
    const root = applied();
    const isListed = this.#lineOf(identity.nodeId) !== undefined;
    return root !== null && isListed && missingKeyUnder(identity, root) !== null;
  }

  /** The key to cosign with under the version that judges; null: it is not here, and nothing is signed. */
  cosignerUnder(root: TrustRoot): Signer | null {
    const { identity, environment } = this.#options;
    const signer = cosignerUnder(identity, root);
    const missing = signer === null ? missingKeyUnder(identity, root) : null;
    if (missing !== null && this.#saidMissing !== missing) {
      environment.logger.error("key_missing", { version: root.version, reason: missing });
      this.#saidMissing = missing;
    }
    return signer;
  }

  /** A node that has left is told so, with the proof; null: the hello is accepted. */
  judgeHello(hello: Hello): HelloVerdict | null {
    const { nodeId } = hello;
    const root = this.restored.promised() ?? this.#options.applied();
    const line = root?.nodes.find((node) => node.nodeId === nodeId);
    const other = this.restored.judge(hello);
    if (other !== null) return other;
    if (line === undefined || !isToGo(line)) return null;
    const raftId = this.#options.members.raftIdOf(nodeId);
    if (this.isMember(raftId) && line.status === "retired") return null;
    const detail = `${nodeId} is ${line.status} since trust-root version ${root?.version ?? 1} or before`;
    return {
      accepted: false,
      code: "retired",
      detail,
      trustRootChain: this.#options.known.after(hello.trustRootVersion),
    };
  }

  /** A newer version is in force. */
  onTrustRoot(before: TrustRoot | null, after: TrustRoot): void {
    for (const { nodeId, status, authPublicKey } of after.nodes) {
      const old = before?.nodes.find((node) => node.nodeId === nodeId);
      if (old === undefined || nodeId === this.#options.identity.nodeId) continue;
      const hasOtherKey = !equalBytes(old.authPublicKey, authPublicKey);
      const isOut = status === "distrusted" && old.status !== "distrusted";
      if (isOut || hasOtherKey) this.#options.network.disconnect(nodeId, `trust-root version ${after.version}`);
    }
    const missing = missingKeyUnder(this.#options.identity, after);
    if (missing === null || this.#lineOf(this.#options.identity.nodeId) === undefined) return;
    this.#options.environment.logger.error("key_missing", { version: after.version, reason: missing });
  }

  #lineOf(nodeId: string): TrustRootNode | undefined {
    return this.#options.applied()?.nodes.find((node) => node.nodeId === nodeId);
  }
}

/** The trust root asks the node to go; no later version takes that back. */
function isToGo(line: TrustRootNode | undefined): boolean {
  return line?.status === "retired" || line?.status === "distrusted";
}

function allOf({ voters, votersOutgoing, learners, learnersNext }: ConfState): readonly bigint[] {
  return [...voters, ...votersOutgoing, ...learners, ...learnersNext];
}

function namesOf(conf: ConfState, members: Members): Readonly<Record<string, readonly string[]>> {
  const names = (ids: readonly bigint[]): readonly string[] => ids.map((id) => members.nodeIdOf(id) ?? id.toString(16));
  return {
    voters: names(conf.voters),
    outgoing: names(conf.votersOutgoing),
    learners: [...names(conf.learners), ...names(conf.learnersNext)],
  };
}
