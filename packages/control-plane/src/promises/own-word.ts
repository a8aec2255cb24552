import { type OwnWord, type SignedProgress, progressSignedBytes, isBefore } from "@event-anchoring/control-contract";
import { type Crypto, type OriginFingerprint, type TrustRoot, bytesToHex, equalBytes } from "@event-anchoring/protocol";
import type { EntryId, RaftIndex, Term } from "raft-ts";
import { isGoodCosignature } from "../signatures/certificates.ts";
import type { SignedHead } from "./promise-file.ts";

/**
 * What a peer's proof shows.
 * - `unproven`: this node has not signed that. It is only the peer's word.
 * - `kept`: it has, and has forgotten nothing of it.
 * - `regained`: it has, the promise file has forgotten it, and its log leads to what was signed, or may lead there
 *   once it is applied.
 * - `unread`: it has, the promise file has forgotten it, and only the database still holds a tree of that size.
 * - `forgotten`: it has, and does not know it any more.
 */
export type OwnWordVerdict =
  | { readonly kind: "unproven" | "forgotten"; readonly detail: string }
  | { readonly kind: "regained"; readonly head: SignedHead }
  | ({ readonly kind: "unread" } & UnreadHead)
  | { readonly kind: "kept" };

/** A size that the database has to be asked about. */
export interface UnreadHead {
  readonly originFingerprint: OriginFingerprint;
  readonly treeSize: number;
}

/** This node's own state, to compare a proof with. */
export interface OwnState {
  readonly nodeId: string;
  readonly clusterId: Uint8Array;
  /** Every trust root that this node has verified: one of them names the key that signed. */
  readonly trustRoots: readonly TrustRoot[];
  readonly crypto: Crypto;
  /** What it would report about its log now. */
  readonly progress: SignedProgress;
  readonly lastIndex: RaftIndex;
  readonly appliedIndex: RaftIndex;
  readonly appliedTerm: Term;
  /** The largest size that its promise file says it has signed; null: none. */
  readonly headOf: (origin: OriginFingerprint) => SignedHead | null;
  /** The root of its own tree; `not_held`: the tree has grown beyond that size, and its old root is not in memory. */
  readonly rootAt: (origin: OriginFingerprint, treeSize: number) => Uint8Array | "not_reached" | "not_held";
}

/** Only this node can have signed what a peer shows here, so the verdict does not depend on the peer. */
export function judgeOwnWord(word: OwnWord, own: OwnState): OwnWordVerdict {
  return word.kind === "progress" ? judgeProgress(word.progress, own) : judgeCosignature(word, own);
}

const KEPT: OwnWordVerdict = { kind: "kept" };

/** Whether that node's auth key, as any of the trust roots names it, has signed this. */
export function isSignedProgress(
  progress: SignedProgress,
  { nodeId, clusterId, trustRoots, crypto }: Pick<OwnState, "nodeId" | "clusterId" | "trustRoots" | "crypto">,
): boolean {
  const message = progressSignedBytes({ clusterId, nodeId }, progress);
  const keys = new Map(
    trustRoots
      .flatMap(({ nodes }) => nodes.filter((node) => node.nodeId === nodeId))
      .map(({ authPublicKey }) => [bytesToHex(authPublicKey), authPublicKey]),
  );
  return [...keys.values()].some((key) => crypto.ed25519Verify(key, message, progress.signature));
}

function judgeProgress(said: SignedProgress, own: OwnState): OwnWordVerdict {
  const { progress } = own;
  if (said.epoch !== progress.epoch) {
    return { kind: "unproven", detail: `a progress of epoch ${said.epoch}, this is epoch ${progress.epoch}` };
  }
  if (!isSignedProgress(said, own)) return { kind: "unproven", detail: "a progress that this node has not signed" };
  const { incarnation } = progress;
  if (said.incarnation > incarnation) {
    return { kind: "forgotten", detail: `incarnation ${said.incarnation} has spoken, this is ${incarnation}` };
  }
  if (said.incarnation === incarnation && !equalBytes(said.lifeId, progress.lifeId)) {
    return { kind: "forgotten", detail: `another process has spoken in incarnation ${incarnation}` };
  }
  if (!isBefore(progress, said)) return KEPT;
  return { kind: "forgotten", detail: `this log has reached ${show(progress)}, and had reached ${show(said)}` };
}

function show({ index, term }: EntryId): string {
  return `index ${index} of term ${term}`;
}

function judgeCosignature(said: Extract<OwnWord, { kind: "cosignature" }>, own: OwnState): OwnWordVerdict {
  const { originFingerprint, treeSize, rootHash, timeS, signature } = said;
  const cosignature = { nodeId: own.nodeId, timeS, signature };
  const isOwn = own.trustRoots.some((root) =>
    isGoodCosignature(root, originFingerprint, said, cosignature, own.crypto),
  );
  if (!isOwn) return { kind: "unproven", detail: "a cosignature that this node has not made" };
  const head = own.headOf(originFingerprint);
  // The promise file is checked first: if it still holds the promise, nothing is forgotten.
  if (head !== null && (head.treeSize > treeSize || isSameHead(head, said))) return KEPT;
  const what = `size ${treeSize} of origin ${bytesToHex(originFingerprint)} was signed`;
  const root = own.rootAt(originFingerprint, treeSize);
  if (root === "not_held") return { kind: "unread", originFingerprint, treeSize };
  if (root === "not_reached") {
    const mayFollow = own.appliedIndex < own.lastIndex && said.raftIndex <= own.lastIndex;
    if (!mayFollow) return { kind: "forgotten", detail: `${what}, and this log does not lead there` };
  } else if (!equalBytes(root, rootHash)) {
    return { kind: "forgotten", detail: `${what} with another root` };
  }
  // Where the tree is not that large yet: its peers hear this node only once it knows again what it has signed, and
  // only from them does it learn what to apply. The tree is compared when it gets there. A cosignature does not cover
  // its raft index, so the head is kept under an entry that is certainly committed: the later of the two, because a
  // start counts as committed what the promise file names.
  const applied = { raftIndex: own.appliedIndex, raftTerm: own.appliedTerm };
  const { raftIndex, raftTerm } = head !== null && head.raftIndex > own.appliedIndex ? head : applied;
  return { kind: "regained", head: { originFingerprint, treeSize, rootHash, raftIndex, raftTerm, timeS } };
}

type ShownHead = Pick<SignedHead, "treeSize" | "rootHash">;

function isSameHead(left: ShownHead, right: ShownHead): boolean {
  return left.treeSize === right.treeSize && equalBytes(left.rootHash, right.rootHash);
}
