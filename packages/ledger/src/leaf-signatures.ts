import { LEAF_KIND, eventActorPayload } from "@event-anchoring/protocol";
import type { Leaf, Sha256 } from "@event-anchoring/protocol";
import { claimSignatures, grantSignatures } from "./signatures.ts";
import type { SignatureToVerify } from "./signatures.ts";

/**
 * The signatures that verifying or tracing a leaf verifies, so that whoever loads many leaves can verify them ahead of
 * time and have the verdicts remembered. That of a revoker is not among them: a revocation counts because it is there.
 */
export function signaturesOfLeaf(leaf: Leaf, sha256: Sha256): readonly SignatureToVerify[] {
  switch (leaf.kind) {
    case LEAF_KIND.claim:
      return claimSignatures(leaf, sha256);
    case LEAF_KIND.grant:
      return grantSignatures(leaf, sha256);
    case LEAF_KIND.signedEvent: {
      const { actorPublicKey: publicKey, actorSignature: signature } = leaf;
      return [{ publicKey, message: eventActorPayload(leaf), signature, pointer: "/actor_signature" }];
    }
    default:
      return [];
  }
}
