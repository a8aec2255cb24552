import type { StateHead, StateMembers } from "@event-anchoring/protocol";
import type { LedgerState } from "../state/state.ts";

/**
 * The state head after the last applied entry.
 * @param parts what is not in the state in memory: the members, and the root of the state tree (32 bytes)
 * @returns null: there was no genesis yet
 */
export function stateHeadOf(
  state: LedgerState,
  { members, stateRoot }: { readonly members: StateMembers; readonly stateRoot: Uint8Array },
): StateHead | null {
  const newest = state.trustRootChain?.newest;
  if (newest === undefined) return null;
  const { clusterName, clusterId, epoch, version } = newest.trustRoot;
  return {
    clusterName,
    clusterId,
    epoch,
    trustRootVersion: version,
    rootThk: newest.rootThk,
    raftIndex: state.appliedIndex,
    raftTerm: state.appliedTerm,
    effect: state.effect,
    nextSequence: state.nextSequence,
    lastAcceptedMs: state.lastAcceptedMs,
    stampMs: state.stampMs,
    rules: state.rules,
    members,
    origins: [...state.origins.values()].map(({ originFingerprint, tree }) => ({
      originFingerprint,
      treeSize: tree.size,
      rootHash: tree.rootAt(tree.size),
    })),
    stateRoot,
    groupIdsHash: state.groupIdsHash,
    clientEventsHash: state.clientEventsHash,
  };
}
