/** The signatures of records: who signed what. */
import {
  LEAF_KIND,
  claimIssuerPayload,
  claimPayload,
  eventActorPayload,
  grantPayload,
  grantWitnessPayload,
} from "@event-anchoring/protocol";
import type { ClaimBody, GrantBody, Leaf, OriginFingerprint, Sha256 } from "@event-anchoring/protocol";

/** One signature to be verified. */
export interface SignatureToVerify {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly message: Uint8Array;
  /** 64 bytes. */
  readonly signature: Uint8Array;
  /** RFC 6901, from the record, in wire names. */
  readonly pointer: string;
}

type SignedClaim = ClaimBody & { readonly originFingerprint: OriginFingerprint };
type SignedGrant = GrantBody & { readonly originFingerprint: OriginFingerprint };

/** The signatures of the subject and of the issuer, who signs over the subject's signature. */
export function claimSignatures(claim: SignedClaim, sha256: Sha256): [SignatureToVerify, SignatureToVerify] {
  const payload = claimPayload(claim);
  return [
    {
      publicKey: claim.subjectPublicKey,
      message: payload,
      signature: claim.subjectSignature,
      pointer: "/subject_signature",
    },
    {
      publicKey: claim.issuerPublicKey,
      message: claimIssuerPayload(payload, claim.subjectSignature, sha256),
      signature: claim.issuerSignature,
      pointer: "/issuer_signature",
    },
  ];
}

/** The signatures of the grantor and of the witness, who signs over the grantor's signature. */
export function grantSignatures(grant: SignedGrant, sha256: Sha256): [SignatureToVerify, SignatureToVerify] {
  const payload = grantPayload(grant);
  return [
    {
      publicKey: grant.grantorPublicKey,
      message: payload,
      signature: grant.grantorSignature,
      pointer: "/grantor_signature",
    },
    {
      publicKey: grant.witnessPublicKey,
      message: grantWitnessPayload(payload, grant.grantorSignature, sha256),
      signature: grant.witnessSignature,
      pointer: "/witness_signature",
    },
  ];
}

/**
 * The signatures that verifying or tracing a leaf verifies, so that a loader of many leaves can verify them ahead of
 * time and remember the verdicts. A revoker's is not among them: a recorded revocation counts as it is.
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
