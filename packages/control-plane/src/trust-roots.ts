import type { LedgerState } from "@event-anchoring/ledger";
import type { SignedTrustRoot } from "@event-anchoring/protocol";

/** Every version of the trust root that is applied, oldest first; none before genesis. */
export function trustRootsOf(state: LedgerState): readonly SignedTrustRoot[] {
  return state.trustRootChain?.versions ?? [];
}
