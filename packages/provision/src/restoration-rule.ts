import { bytesToHex, findOrigin } from "@event-anchoring/protocol";
import type { TrustRoot, TrustRootNode } from "@event-anchoring/protocol";

const isOfGroup = ({ status }: TrustRootNode): boolean => status === "active" || status === "learner";

/**
 * An epoch is raised by restoring the whole cluster. The group of the new epoch is a new one: whoever was in the old
 * one may remember what the backup does not, and may not come back; nor does an origin of it stay active. Within an
 * epoch an origin may be given up (`lost`) like anything else that the root keys decide. Verifiers do not ask for this,
 * because any version that the root keys have signed counts; whoever writes, signs or puts a version into force does.
 * @returns what is wrong with the step from one version to the next; null: nothing
 */
export function restorationFault(before: TrustRoot, after: TrustRoot): string | null {
  if (after.epoch === before.epoch) return null;
  if (after.epoch !== before.epoch + 1) return `the epoch goes from ${before.epoch} to ${after.epoch}, not up by one`;
  const old = before.nodes.map(({ nodeId }) => nodeId);
  const kept = after.nodes.find((node) => old.includes(node.nodeId) && isOfGroup(node));
  if (kept !== undefined) {
    return `node ${kept.nodeId} was there before: the nodes of a raised epoch are new ones, the old ones retired`;
  }
  const open = before.origins.find(
    ({ originFingerprint }) => findOrigin(after, originFingerprint)?.status === "active",
  );
  if (open === undefined) return null;
  return `origin ${bytesToHex(open.originFingerprint)} stays active: with a raised epoch it is closed or lost`;
}
