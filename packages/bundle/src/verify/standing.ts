/** Whether the claim or the grant that a bundle is about is in force. docs/PROTOCOL.md, "In force". */
import { LEAF_KIND } from "@event-anchoring/protocol";
import type { Leaf } from "@event-anchoring/protocol";
import { claimFaultAt, claimStateAt, grantForceAt, grantStateOf } from "@event-anchoring/records";
import type { AsOf, ForceFault, RecordState } from "@event-anchoring/records";
import type { BundleRecords, BundleView } from "./bundle-records.ts";

/** A root that has ended may end ten thousand links. */
const FAULTS_MAX = 100;

export interface Standing {
  readonly state: RecordState;
  readonly isInForce: boolean;
  /** Why it is not, the subject's own reasons first; at most 100. */
  readonly faults: readonly ForceFault[];
}

/** Null: the leaf is neither claim nor grant. */
export function standingOf(leaf: Leaf, view: BundleView, { book }: BundleRecords, asOf: AsOf): Standing | null {
  const [grant] = view.links;
  if (leaf.kind === LEAF_KIND.grant && grant !== undefined) {
    const force = grantForceAt(grant, asOf, book);
    const { faults, isComplete } = force;
    return {
      state: grantStateOf(force),
      isInForce: isComplete && faults.length === 0,
      faults: faults.slice(0, FAULTS_MAX),
    };
  }
  if (leaf.kind !== LEAF_KIND.claim || view.iris === null) return null;
  const fault = claimFaultAt(view.iris, asOf);
  const faults = fault === null ? [] : [fault];
  return { state: claimStateAt(view.iris, asOf), isInForce: fault === null, faults };
}
