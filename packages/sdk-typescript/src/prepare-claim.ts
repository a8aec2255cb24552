import { bytesToHex, claimIssuerPayload, claimPayload, toOriginFingerprint } from "@event-anchoring/protocol";
import type { ClaimContent } from "@event-anchoring/protocol";
import { sha256 } from "./crypto.ts";
import { attributeType, bytes32, bytes64, contentOf, timeMs } from "./inputs.ts";
import type { Bytes32, Bytes64 } from "./inputs.ts";
import { jsonBody } from "./json-body.ts";
import type { JsonBody } from "./json-body.ts";
import { Payload } from "./payload.ts";
import type { PreparedRequest } from "./prepared-request.ts";
import { checkSignature } from "./signing.ts";

/** What a ClaimAnchor says, without its signatures. */
export interface ClaimAnchorContent {
  /** The target origin: `(await client.healthz()).originFingerprint`. It is signed. */
  readonly originFingerprint: Bytes32;
  /** Names the entity. */
  readonly entityFingerprint: Bytes32;
  /** A u32, or a text such as "0x1001". */
  readonly attributeType: number | string;
  /** What is claimed of the entity. */
  readonly attributeHash: Bytes32;
  /** Speaks for the entity. */
  readonly subjectPublicKey: Bytes32;
  /** Vouches for the claim. */
  readonly issuerPublicKey: Bytes32;
  /** Unix milliseconds; absent or 0: not stated. */
  readonly issuedAt?: number | null | undefined;
  /** Unix milliseconds; absent or 0: never. */
  readonly expiresAt?: number | null | undefined;
}

/** An unsigned claim. The subject signs first; the issuer signs that signature as well. */
export class PreparedClaimAnchor implements PreparedRequest {
  readonly signingOrder = ["subject", "issuer"] as const;
  /** As it was read. Spread it into `createClaimAnchor`, with the two signatures. */
  readonly fields: ClaimContent;
  /** What the subject signs: 207 bytes. */
  readonly subjectPayload: Payload;

  constructor(fields: ClaimContent) {
    this.fields = Object.freeze(fields);
    this.subjectPayload = new Payload("subject", fields.subjectPublicKey, claimPayload(fields));
  }

  /** The body without its signatures. */
  get unsigned(): JsonBody {
    const { fields } = this;
    return jsonBody(
      {
        origin_fingerprint: fields.originFingerprint,
        entity_fingerprint: fields.entityFingerprint,
        attribute_type: fields.attributeType,
        attribute_hash: fields.attributeHash,
        issued_at: fields.issuedAt,
        expires_at: fields.expiresAt,
        subject_public_key: fields.subjectPublicKey,
        issuer_public_key: fields.issuerPublicKey,
      },
      ["issued_at", "expires_at"],
    );
  }

  /** What is signed after these signatures; null: both have signed. @throws InvalidInput */
  nextPayload([first, second]: readonly Bytes64[]): Payload | null {
    if (first === undefined) return this.subjectPayload;
    return second === undefined ? this.issuerPayload(first) : null;
  }

  /** What the issuer signs, once the subject has: 130 bytes. @throws InvalidInput */
  issuerPayload(subjectSignature: Bytes64): Payload {
    const first = bytes64("subjectSignature", subjectSignature);
    const bytes = claimIssuerPayload(this.subjectPayload.bytes, first, sha256);
    return new Payload("issuer", this.fields.issuerPublicKey, bytes);
  }

  /** The body to POST. @throws InvalidInput; SigningFailed if a signature is not good */
  request(subjectSignature: Bytes64, issuerSignature: Bytes64): JsonBody {
    const first = bytes64("subjectSignature", subjectSignature);
    const second = bytes64("issuerSignature", issuerSignature);
    checkSignature(this.subjectPayload, first);
    checkSignature(this.issuerPayload(first), second);
    return { ...this.unsigned, subject_signature: bytesToHex(first), issuer_signature: bytesToHex(second) };
  }
}

/**
 * Prepares a ClaimAnchor, offline: the exact bytes to sign, and who signs them in which order.
 * @throws InvalidInput `field` names the member
 */
export function prepareClaimAnchor(content: ClaimAnchorContent): PreparedClaimAnchor {
  const fields = contentOf<ClaimContent>(content, {
    originFingerprint: (field, value) => toOriginFingerprint(bytes32(field, value)),
    entityFingerprint: bytes32,
    attributeType,
    attributeHash: bytes32,
    subjectPublicKey: bytes32,
    issuerPublicKey: bytes32,
    issuedAt: timeMs,
    expiresAt: timeMs,
  });
  return new PreparedClaimAnchor(fields);
}
