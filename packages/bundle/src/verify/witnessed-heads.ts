/** Whether witnesses outside the cluster have signed all that a bundle rests on. docs/PROTOCOL.md, "Bundle". */
import { witnessingText } from "@event-anchoring/protocol";
import type { TrustRoot, Witnessing } from "@event-anchoring/protocol";

/** What is missing. `state_not_witnessed`: it has a state head, which no witness signs. */
export interface NotWitnessed {
  readonly code: "no_witnesses" | "state_not_witnessed" | "not_witnessed";
  readonly detail: string;
}

/** Null: every head of the bundle is witnessed. */
export function whyNotWitnessed(
  checkpoints: readonly { readonly witnessing: Witnessing }[],
  hasStateHead: boolean,
  newest: TrustRoot,
): NotWitnessed | null {
  if (newest.witnesses.length === 0) {
    return { code: "no_witnesses", detail: `trust root ${newest.version} lists no witness` };
  }
  if (hasStateHead) {
    return { code: "state_not_witnessed", detail: "no witness signs a state head, and this bundle rests on one" };
  }
  const at = checkpoints.findIndex(({ witnessing }) => !witnessing.witnessed);
  const first = checkpoints[at];
  if (first === undefined) return null;
  return { code: "not_witnessed", detail: `checkpoint ${at}: ${witnessingText(first.witnessing, newest)}` };
}
