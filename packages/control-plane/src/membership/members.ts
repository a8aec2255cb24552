import { type TrustRoot, type TrustRootNode, raftIdOf } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import type { ConfState, RaftId, RawNode } from "raft-ts";

const VERSION_BYTES = 4;

/** Node ids and Raft ids, both ways: a Raft id is a hash of cluster and node id, and is never used again. */
export class Members {
  readonly #clusterId: Uint8Array;
  readonly #raftIds = new Map<string, RaftId>();
  readonly #nodeIds = new Map<RaftId, string>();

  constructor(root: TrustRoot) {
    this.#clusterId = root.clusterId;
    this.learn(root);
  }

  /** A newer trust root may list nodes that no earlier one did. */
  learn(root: TrustRoot): void {
    for (const { nodeId } of root.nodes) {
      const raftId = raftIdOf(this.#clusterId, nodeId, nodeCrypto.sha256);
      this.#raftIds.set(nodeId, raftId);
      this.#nodeIds.set(raftId, nodeId);
    }
  }

  raftIdOf(nodeId: string): RaftId | null {
    return this.#raftIds.get(nodeId) ?? null;
  }

  nodeIdOf(raftId: RaftId): string | null {
    return this.#nodeIds.get(raftId) ?? null;
  }
}

/** The membership that an empty log starts with: the active nodes of version 1, ascending by Raft id. */
export function bootstrapConfState(root: TrustRoot): ConfState {
  const empty: ConfState = { voters: [], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
  const active = root.nodes.filter((node: TrustRootNode) => node.status === "active");
  const voters = active
    .map(({ nodeId }) => raftIdOf(root.clusterId, nodeId, nodeCrypto.sha256))
    .sort((left, right) => (left < right ? -1 : 1));
  // A node that version 1 does not list waits without a vote, knowing who votes, until the group adds it: the log that
  // it will be sent begins with these members. If its version is later, it knows no members and needs a snapshot.
  return root.version === 1 ? { ...empty, voters } : empty;
}

/** The context of a membership change: the version of the trust root that it follows from, as u32. */
export function membershipContext(version: number): Uint8Array {
  const context = new Uint8Array(VERSION_BYTES);
  new DataView(context.buffer).setUint32(0, version);
  return context;
}

/** A committed membership change, to be put into force; null if it follows from another version than that in force. */
export function changeInForce(
  node: Pick<RawNode, "decodeConfChange">,
  payload: Uint8Array,
  version: number,
): Uint8Array | null {
  const { changes, context } = node.decodeConfChange(payload);
  // The engine itself makes the change that leaves a joint configuration; it has no version.
  if (changes.length === 0) return payload;
  const { buffer, byteOffset, length } = context;
  return length === VERSION_BYTES && new DataView(buffer, byteOffset).getUint32(0) === version ? payload : null;
}
