import { bytesToHex, grantPayload, grantWitnessPayload, toOriginFingerprint } from "@event-anchoring/protocol";
import type { GrantContent } from "@event-anchoring/protocol";
import { sha256 } from "./crypto.ts";
import { bytes32, bytes64, contentOf, reference, timeMs, u32 } from "./inputs.ts";
import type { Bytes32, Bytes64, Reference } from "./inputs.ts";
import { jsonBody } from "./json-body.ts";
import type { JsonBody } from "./json-body.ts";
import { Payload } from "./payload.ts";
import type { PreparedRequest } from "./prepared-request.ts";
import { checkSignature } from "./signing.ts";

/** What a GrantAnchor says, without its signatures. */
export interface GrantAnchorContent {
  /** The target origin: `(await client.healthz()).originFingerprint`. It is signed. */
  readonly originFingerprint: Bytes32;
  /** Anchor id of the grantor's claim. */
  readonly grantorClaimRef: Bytes32;
  /** Anchor id of the grantee's claim. */
  readonly granteeClaimRef: Bytes32;
  /** What may be done. */
  readonly scopeHash: Bytes32;
  /** How many further hops may be granted below: a u32. */
  readonly delegationDepth: number;
  /** The subject key of the grantor's claim. */
  readonly grantorPublicKey: Bytes32;
  /** Another key, whose owner has seen the grant. */
  readonly witnessPublicKey: Bytes32;
  /** The grant *to* the grantor under which this one stands; empty: a root grant. */
  readonly parentGrantRef?: Reference;
  /** Unix milliseconds; absent or 0: not stated. */
  readonly issuedAt?: number | null | undefined;
  /** Unix milliseconds, inside the parent's window; absent or 0: as the parent has it. */
  readonly notBefore?: number | null | undefined;
  readonly expiresAt?: number | null | undefined;
}

/** An unsigned grant. The grantor signs first; the witness signs that signature as well. */
export class PreparedGrantAnchor implements PreparedRequest {
  readonly signingOrder = ["grantor", "witness"] as const;
  /** As it was read. Spread it into `createGrantAnchor`, with the two signatures. */
  readonly fields: GrantContent;
  /** What the grantor signs: 279 bytes. */
  readonly grantorPayload: Payload;

  constructor(fields: GrantContent) {
    this.fields = Object.freeze(fields);
    this.grantorPayload = new Payload("grantor", fields.grantorPublicKey, grantPayload(fields));
  }

  /** The body without its signatures. */
  get unsigned(): JsonBody {
    const { fields } = this;
    return jsonBody(
      {
        origin_fingerprint: fields.originFingerprint,
        grantor_claim_ref: fields.grantorClaimRef,
        grantee_claim_ref: fields.granteeClaimRef,
        parent_grant_ref: fields.parentGrantRef,
        scope_hash: fields.scopeHash,
        delegation_depth: fields.delegationDepth,
        issued_at: fields.issuedAt,
        not_before: fields.notBefore,
        expires_at: fields.expiresAt,
        grantor_public_key: fields.grantorPublicKey,
        witness_public_key: fields.witnessPublicKey,
      },
      ["parent_grant_ref", "issued_at", "not_before", "expires_at"],
    );
  }

  /** What is signed after these signatures; null: both have signed. @throws InvalidInput */
  nextPayload([first, second]: readonly Bytes64[]): Payload | null {
    if (first === undefined) return this.grantorPayload;
    return second === undefined ? this.witnessPayload(first) : null;
  }

  /** What the witness signs, once the grantor has: 131 bytes. @throws InvalidInput */
  witnessPayload(grantorSignature: Bytes64): Payload {
    const first = bytes64("grantorSignature", grantorSignature);
    const bytes = grantWitnessPayload(this.grantorPayload.bytes, first, sha256);
    return new Payload("witness", this.fields.witnessPublicKey, bytes);
  }

  /** The body to POST. @throws InvalidInput; SigningFailed if a signature is not good */
  request(grantorSignature: Bytes64, witnessSignature: Bytes64): JsonBody {
    const first = bytes64("grantorSignature", grantorSignature);
    const second = bytes64("witnessSignature", witnessSignature);
    checkSignature(this.grantorPayload, first);
    checkSignature(this.witnessPayload(first), second);
    return { ...this.unsigned, grantor_signature: bytesToHex(first), witness_signature: bytesToHex(second) };
  }
}

/**
 * Prepares a GrantAnchor, offline: the exact bytes to sign, and who signs them in which order.
 * @throws InvalidInput `field` names the member
 */
export function prepareGrantAnchor(content: GrantAnchorContent): PreparedGrantAnchor {
  const fields = contentOf<GrantContent>(content, {
    originFingerprint: (field, value) => toOriginFingerprint(bytes32(field, value)),
    grantorClaimRef: bytes32,
    granteeClaimRef: bytes32,
    parentGrantRef: reference,
    scopeHash: bytes32,
    delegationDepth: u32,
    grantorPublicKey: bytes32,
    witnessPublicKey: bytes32,
    issuedAt: timeMs,
    notBefore: timeMs,
    expiresAt: timeMs,
  });
  return new PreparedGrantAnchor(fields);
}
