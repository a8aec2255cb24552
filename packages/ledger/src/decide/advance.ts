import { bytesToHex } from "@event-anchoring/protocol";
import { keyIdHex } from "../state/api-key.ts";
import type { CertificateWrite, EntryDecision, EntryWrites, GrownOrigin } from "./decision.ts";
import { LedgerHaltError } from "../entry/halt.ts";
import { emptyOriginState } from "../state/state.ts";
import type { LedgerState, OriginState } from "../state/state.ts";

/** Leaves that stay provable in memory although a recorded certificate covers them. */
const RECENT_LEAVES_KEPT = 4096;

function addOrigins(state: LedgerState, writes: EntryWrites): void {
  const added = new Map<string, OriginState>();
  for (const { originFingerprint, status } of writes.originStatuses) {
    const key = bytesToHex(originFingerprint);
    const known = state.origins.get(key);
    const origin = known ?? emptyOriginState(originFingerprint, state.sha256);
    origin.status = status;
    if (known === undefined) added.set(key, origin);
  }
  if (added.size === 0) return;
  const all = [...state.origins, ...added];
  state.origins = new Map(all.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Takes in the newest certificate, and drops what only older ones needed. */
function recordCertificate(origin: OriginState, write: CertificateWrite): void {
  const { treeSize, rootHash, certifiedAtS } = write;
  const before = origin.certified?.treeSize ?? 0;
  origin.certified = { treeSize, rootHash, certifiedAtS };
  // Keeps one certificate back, so that waiters for this one can still be answered; and never drops the newest leaves.
  origin.tree.forgetBefore(Math.min(before, origin.tree.size - RECENT_LEAVES_KEPT));
}

function addLeaves(state: LedgerState, { originFingerprint, tree, tiles, lastAnchorId }: GrownOrigin): void {
  const origin = state.origins.get(bytesToHex(originFingerprint));
  if (origin === undefined) throw new RangeError("leaves grow on an origin of the state");
  origin.tree.adopt(tree);
  origin.tiles = tiles;
  origin.lastAnchorId = lastAnchorId;
}

/**
 * Makes a decision part of the state: the only function that changes one. A decision is used up by it, as the state
 * takes over its trees.
 * @throws LedgerHaltError `index_out_of_order`
 */
export function advance(state: LedgerState, decision: EntryDecision): void {
  const { index, term, writes } = decision;
  if (index !== state.appliedIndex + 1)
    throw new LedgerHaltError("index_out_of_order", `entry ${index} after applied index ${state.appliedIndex}`);
  state.trustRootChain = decision.trustRootChain ?? state.trustRootChain;
  addOrigins(state, writes);
  for (const write of writes.certificates) {
    const origin = state.origins.get(bytesToHex(write.originFingerprint));
    if (origin !== undefined) recordCertificate(origin, write);
  }
  for (const grown of decision.grown) addLeaves(state, grown);
  for (const { originFingerprint, leafIndex, version } of writes.trustRootPositions)
    state.origins.get(bytesToHex(originFingerprint))?.trustRootPositions.push({ leafIndex, version });
  for (const key of writes.apiKeys) state.apiKeys.set(keyIdHex(key.keyId), key);
  for (const { operator, counter } of writes.operatorActs) state.operatorCounters.set(operator, counter);
  for (const id of writes.groupIds) state.groupIds.add(id, index);
  state.groupIds.forgetBelow(writes.forgetGroupIdsBelow);
  state.appliedIndex = index;
  state.appliedTerm = term;
  state.effect = decision.effect;
  state.nextSequence = decision.nextSequence;
  state.lastAcceptedMs = decision.lastAcceptedMs;
  state.rules = decision.rules;
  state.stampMs = decision.stampMs;
  state.groupIdsHash = decision.groupIdsHash;
  state.clientEventsHash = decision.clientEventsHash;
}
