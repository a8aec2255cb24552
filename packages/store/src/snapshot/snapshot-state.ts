/** Whether nodes have signed what a snapshot contains beyond its leaves. */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  StateHeadError,
  bytesToHex,
  equalBytes,
  honestSigners,
  raftIdOf,
  verifyStateHead,
} from "@event-anchoring/protocol";
import type { StateHead, TrustRootChain, VerifiedStateHead } from "@event-anchoring/protocol";
import type { ConfState } from "raft-ts";
import { StoreError } from "../postgres/errors.ts";
import type { SnapshotRebuild } from "./snapshot-rebuild.ts";

/** Who must have signed: a quorum; as many that one of them is honest if at most one node lies; or one node. */
export type StateSigners = "quorum" | "honest" | "alone";

/** An unpacked snapshot. */
export interface UnpackedState {
  /** Root of the state tree that follows from its records, API keys and erasures. */
  readonly stateRoot: Uint8Array;
  /** Its members, or those with which the cluster began. */
  readonly confState: ConfState;
}

function refuse(what: string): StoreError {
  return new StoreError("snapshot_refused", what);
}

/** A cluster begins with the active nodes of trust root version 1 as its voters. */
export function birthConfState(chain: TrustRootChain | null): ConfState {
  const root = chain?.versions[0]?.trustRoot;
  if (root === undefined) throw refuse("neither members nor trust root are in the snapshot");
  const voters = root.nodes
    .filter(({ status }) => status === "active")
    .map(({ nodeId }) => raftIdOf(root.clusterId, nodeId, nodeCrypto.sha256));
  voters.sort((a, b) => (a < b ? -1 : 1));
  return { voters, votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
}

function sameIds(ids: readonly bigint[], others: readonly bigint[]): boolean {
  return ids.length === others.length && ids.every((id) => others.includes(id));
}

function sameMembers(told: StateHead["members"], { confState }: UnpackedState): boolean {
  return (
    sameIds(told.voters, confState.voters) &&
    sameIds(told.votersOutgoing, confState.votersOutgoing) &&
    sameIds(told.learners, confState.learners) &&
    sameIds(told.learnersNext, confState.learnersNext) &&
    told.autoLeave === confState.autoLeave
  );
}

function sameOrigins(told: StateHead["origins"], rebuild: SnapshotRebuild): boolean {
  const origins = new Map(rebuild.origins().map((origin) => [bytesToHex(origin.originFingerprint), origin]));
  return (
    told.length === origins.size &&
    told.every(({ originFingerprint, treeSize, rootHash }) => {
      const origin = origins.get(bytesToHex(originFingerprint));
      return origin !== undefined && origin.treeSize === treeSize && equalBytes(origin.rootHash, rootHash);
    })
  );
}

/** The first difference between the snapshot and what was signed; null: none. */
function differenceOf(head: StateHead, rebuild: SnapshotRebuild, unpacked: UnpackedState): string | null {
  const { header, runningHashes } = rebuild;
  const parts: readonly (readonly [string, boolean])[] = [
    ["log entry", head.raftIndex === header.raftIndex && head.raftTerm === header.raftTerm],
    ["effect chain", equalBytes(head.effect, header.effect)],
    ["leaves", head.nextSequence === header.nextSequence && head.lastAcceptedMs === header.lastAcceptedMs],
    ["time", head.stampMs === header.stampMs],
    ["rules", head.rules === header.rules],
    ["members", sameMembers(head.members, unpacked)],
    ["origins", sameOrigins(head.origins, rebuild)],
    ["records, API keys or erasures", equalBytes(head.stateRoot, unpacked.stateRoot)],
    ["group ids", equalBytes(head.groupIdsHash, runningHashes.groupIdsHash)],
    ["client events", equalBytes(head.clientEventsHash, runningHashes.clientEventsHash)],
  ];
  return parts.find(([, isSame]) => !isSame)?.[0] ?? null;
}

/** Members come only from the trust root: a node that it does not list, or distrusts, cannot be one. */
function assertMembersListed({ confState }: UnpackedState, { newest }: TrustRootChain): void {
  const { clusterId, nodes } = newest.trustRoot;
  const listed = nodes
    .filter(({ status }) => status !== "distrusted")
    .map(({ nodeId }) => raftIdOf(clusterId, nodeId, nodeCrypto.sha256));
  const { voters, votersOutgoing, learners, learnersNext } = confState;
  for (const id of [...voters, ...votersOutgoing, ...learners, ...learnersNext]) {
    if (!listed.includes(id)) throw refuse(`member ${id.toString(16)} is in no trust root`);
  }
}

/**
 * Compares an unpacked snapshot with its state head.
 * @throws StoreError `snapshot_refused` if it has none, if too few signed it, or if it differs from it
 */
export function verifySnapshotState(
  rebuild: SnapshotRebuild,
  unpacked: UnpackedState,
  signers: StateSigners,
): VerifiedStateHead {
  const { chain, stateHead } = rebuild;
  if (chain === null || stateHead === null) throw refuse("no node has signed the state: there is no state head");
  const verified = verifiedStateHead(stateHead, chain, signers);
  const difference = differenceOf(verified.head, rebuild, unpacked);
  if (difference !== null) throw refuse(`it differs from the state head that was signed: ${difference}`);
  assertMembersListed(unpacked, chain);
  return verified;
}

/** @throws StoreError `snapshot_refused` */
export function verifiedStateHead(note: string, { newest }: TrustRootChain, signers: StateSigners): VerifiedStateHead {
  const { quorum } = newest.trustRoot;
  const signersMin: Readonly<Record<StateSigners, number>> = { quorum, honest: honestSigners(quorum), alone: 1 };
  try {
    return verifyStateHead(note, newest, nodeCrypto, signersMin[signers]);
  } catch (cause) {
    if (!(cause instanceof StateHeadError)) throw cause;
    throw new StoreError("snapshot_refused", `the state head is refused: ${cause.code}: ${cause.message}`, { cause });
  }
}
