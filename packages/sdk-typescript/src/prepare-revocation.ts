import {
  REVOCATION_REASONS,
  bytesToHex,
  revocationPayload,
  toAnchorId,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import type { AnchorId, OriginFingerprint } from "@event-anchoring/protocol";
import { InvalidInput } from "./errors.ts";
import { absentOr, bytes32, bytes64, contentOf, reasonNumber, timeMs } from "./inputs.ts";
import type { Bytes32, Bytes64, RevocationReason } from "./inputs.ts";
import { jsonBody } from "./json-body.ts";
import type { JsonBody } from "./json-body.ts";
import { Payload } from "./payload.ts";
import type { PreparedRequest } from "./prepared-request.ts";
import { checkSignature } from "./signing.ts";

/** What a revocation of a claim or a grant says, without its signature. */
export interface RevocationContent {
  /** `originFingerprint` of the anchor that is revoked. It is signed. */
  readonly targetOriginFingerprint: Bytes32;
  readonly targetAnchorId: Bytes32;
  /** Absent: unspecified. */
  readonly reason?: RevocationReason | null | undefined;
  /** Unix milliseconds from which earlier acts are shown as suspect; absent or 0: none. */
  readonly suspectSince?: number | null | undefined;
  /** Unix milliseconds; absent or 0: not stated. */
  readonly issuedAt?: number | null | undefined;
  /** Issuer or subject of a claim, grantor or witness of a grant, who will sign; absent: unsigned. */
  readonly revokerPublicKey?: Bytes32 | null | undefined;
}

/** A revocation as it was read. */
export interface RevocationFields {
  readonly targetOriginFingerprint: OriginFingerprint;
  readonly targetAnchorId: AnchorId;
  readonly reason: RevocationReason;
  readonly suspectSince: number;
  readonly issuedAt: number;
  readonly revokerPublicKey: Uint8Array | null;
}

/** A revocation, to be signed by a party of the target, or sent as it is by the API client that recorded that. */
export class PreparedRevocation implements PreparedRequest {
  readonly signingOrder = ["revoker"] as const;
  readonly fields: RevocationFields;
  /** What the revoker signs: 113 bytes. */
  readonly revokerPayload: Payload;

  constructor(fields: RevocationFields) {
    this.fields = Object.freeze(fields);
    const bytes = revocationPayload({
      originFingerprint: fields.targetOriginFingerprint,
      targetAnchorId: fields.targetAnchorId,
      reason: REVOCATION_REASONS.indexOf(fields.reason),
      suspectSince: fields.suspectSince,
      issuedAt: fields.issuedAt,
    });
    this.revokerPayload = new Payload("revoker", fields.revokerPublicKey, bytes);
  }

  /** The body without its signature; the target is in the path. */
  get unsigned(): JsonBody {
    const { fields } = this;
    return jsonBody(
      {
        reason: fields.reason === "unspecified" ? null : fields.reason,
        suspect_since: fields.suspectSince,
        issued_at: fields.issuedAt,
        revoker_public_key: fields.revokerPublicKey,
      },
      ["suspect_since", "issued_at"],
    );
  }

  /** What is signed after these signatures; null: the revoker has signed, or an operator revokes. */
  nextPayload(signatures: readonly Bytes64[]): Payload | null {
    return this.fields.revokerPublicKey === null || signatures.length > 0 ? null : this.revokerPayload;
  }

  /** The body to POST to the target's path. @throws InvalidInput; SigningFailed if the signature is not good */
  request(revokerSignature?: Bytes64 | null): JsonBody {
    const signature =
      revokerSignature === undefined || revokerSignature === null
        ? null
        : bytes64("revokerSignature", revokerSignature);
    if ((signature === null) !== (this.fields.revokerPublicKey === null)) {
      throw new InvalidInput("revokerSignature", "goes with revokerPublicKey, or not at all");
    }
    if (signature === null) return this.unsigned;
    checkSignature(this.revokerPayload, signature);
    return { ...this.unsigned, revoker_signature: bytesToHex(signature) };
  }
}

/**
 * Prepares the revocation of a claim or a grant, offline.
 * @throws InvalidInput `field` names the member
 */
export function prepareRevocation(content: RevocationContent): PreparedRevocation {
  const fields = contentOf<RevocationFields>(content, {
    targetOriginFingerprint: (field, value) => toOriginFingerprint(bytes32(field, value)),
    targetAnchorId: (field, value) => toAnchorId(bytes32(field, value)),
    reason: (field, value) => REVOCATION_REASONS[reasonNumber(field, value)] ?? "unspecified",
    suspectSince: timeMs,
    issuedAt: timeMs,
    revokerPublicKey: absentOr(bytes32),
  });
  return new PreparedRevocation(fields);
}
