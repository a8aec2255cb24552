/** The authority by which a key revokes: the first one that applies. docs/PROTOCOL.md, "Revoking". */
import { equalBytes } from "@event-anchoring/protocol";
import type { ClaimBody, GrantBody, REVOCATION_AUTHORITIES } from "@event-anchoring/protocol";

export type RevocationAuthority = (typeof REVOCATION_AUTHORITIES)[number];

/** null: by none. */
export function authorityOverClaim(
  claim: Pick<ClaimBody, "issuerPublicKey" | "subjectPublicKey">,
  publicKey: Uint8Array,
): RevocationAuthority | null {
  if (equalBytes(publicKey, claim.issuerPublicKey)) return "issuer";
  return equalBytes(publicKey, claim.subjectPublicKey) ? "subject" : null;
}

/** null: by none. */
export function authorityOverGrant(
  grant: Pick<GrantBody, "grantorPublicKey" | "witnessPublicKey">,
  publicKey: Uint8Array,
): RevocationAuthority | null {
  if (equalBytes(publicKey, grant.grantorPublicKey)) return "grantor";
  return equalBytes(publicKey, grant.witnessPublicKey) ? "witness" : null;
}
