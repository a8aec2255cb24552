import type { ShownCertificate } from "@event-anchoring/control-contract";
import type { HeldCertificate } from "./certifier.ts";

const SHOWN = new WeakMap<HeldCertificate, ShownCertificate>();

/** A held certificate as the api process sees it: one object until its note changes. The local link sends it once. */
export function shownCertificate(held: HeldCertificate): ShownCertificate {
  const known = SHOWN.get(held);
  if (known !== undefined) return known;
  const shown = {
    originFingerprint: held.originFingerprint,
    treeSize: held.treeSize,
    rootHash: held.rootHash,
    certifiedAtS: held.certifiedAtS,
    checkpoint: held.checkpoint(),
    trustRootVersion: held.trustRootVersion,
  };
  SHOWN.set(held, shown);
  return shown;
}

/** From now on it is shown with this note: the same text, with more signature lines. */
export function showWith(held: HeldCertificate, checkpoint: string): void {
  const shown = shownCertificate(held);
  if (shown.checkpoint !== checkpoint) SHOWN.set(held, { ...shown, checkpoint });
}
