/** The exact bytes that a party of a draft signs. docs/PROTOCOL.md, "What parties sign". */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  REVOCATION_REASONS,
  ZERO_32,
  claimIssuerPayload,
  claimPayload,
  eventActorPayload,
  grantPayload,
  grantWitnessPayload,
  hexToBytes,
  revocationPayload,
  toAnchorId,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import type { SemanticAnchor } from "@event-anchoring/protocol";
import { countAt, fieldsOrNullAt, textAt } from "../answer-fields.ts";
import type { Fields } from "../answer-fields.ts";
import type { Draft, Party } from "./draft.ts";

const { sha256 } = nodeCrypto;

const bytesAt = (fields: Fields, name: string): Uint8Array =>
  fields[name] === undefined ? ZERO_32 : hexToBytes(textAt(fields, name), 32);

const numberAt = (fields: Fields, name: string): number => (fields[name] === undefined ? 0 : countAt(fields, name));

/** @param draft checked fields; for a second party the first one's signature is among them */
export function payloadOf({ kind, fields }: Draft, party: Party): Uint8Array {
  const originFingerprint = toOriginFingerprint(bytesAt(fields, "origin_fingerprint"));
  switch (kind) {
    case "claim":
      return twoParties(claimBytes(fields), fields, party === "issuer" ? "subject" : null);
    case "grant":
      return twoParties(grantBytes(fields), fields, party === "witness" ? "grantor" : null);
    case "event":
      return eventActorPayload({
        originFingerprint,
        eventHash: bytesAt(fields, "event_hash"),
        semanticAnchor: semanticAnchorOf(fieldsOrNullAt(fields, "semantic_anchor") ?? {}),
      });
    case "revocation":
      return revocationPayload({
        originFingerprint: toOriginFingerprint(bytesAt(fields, "target_origin_fingerprint")),
        targetAnchorId: toAnchorId(bytesAt(fields, "target_anchor_id")),
        reason: Math.max(
          0,
          REVOCATION_REASONS.findIndex((word) => word === fields["reason"]),
        ),
        suspectSince: numberAt(fields, "suspect_since"),
        issuedAt: numberAt(fields, "issued_at"),
      });
  }
}

/** @param first who has signed before; null: nobody */
function twoParties(payload: Uint8Array, fields: Fields, first: "subject" | "grantor" | null): Uint8Array {
  if (first === null) return payload;
  const signature = hexToBytes(textAt(fields, `${first}_signature`), 64);
  const second = first === "subject" ? claimIssuerPayload : grantWitnessPayload;
  return second(payload, signature, sha256);
}

function claimBytes(fields: Fields): Uint8Array {
  return claimPayload({
    originFingerprint: toOriginFingerprint(bytesAt(fields, "origin_fingerprint")),
    entityFingerprint: bytesAt(fields, "entity_fingerprint"),
    attributeType: numberAt(fields, "attribute_type"),
    attributeHash: bytesAt(fields, "attribute_hash"),
    issuedAt: numberAt(fields, "issued_at"),
    expiresAt: numberAt(fields, "expires_at"),
    subjectPublicKey: bytesAt(fields, "subject_public_key"),
    issuerPublicKey: bytesAt(fields, "issuer_public_key"),
  });
}

function grantBytes(fields: Fields): Uint8Array {
  return grantPayload({
    originFingerprint: toOriginFingerprint(bytesAt(fields, "origin_fingerprint")),
    grantorClaimRef: bytesAt(fields, "grantor_claim_ref"),
    granteeClaimRef: bytesAt(fields, "grantee_claim_ref"),
    parentGrantRef: bytesAt(fields, "parent_grant_ref"),
    scopeHash: bytesAt(fields, "scope_hash"),
    delegationDepth: numberAt(fields, "delegation_depth"),
    issuedAt: numberAt(fields, "issued_at"),
    notBefore: numberAt(fields, "not_before"),
    expiresAt: numberAt(fields, "expires_at"),
    grantorPublicKey: bytesAt(fields, "grantor_public_key"),
    witnessPublicKey: bytesAt(fields, "witness_public_key"),
  });
}

/** @param fields checked, empty references left out */
export function semanticAnchorOf(fields: Fields): SemanticAnchor {
  return {
    irisRef: bytesAt(fields, "iris_ref"),
    scrollRef: bytesAt(fields, "scroll_ref"),
    grantRef: bytesAt(fields, "grant_ref"),
    bondRef: bytesAt(fields, "bond_ref"),
    yieldRef: bytesAt(fields, "yield_ref"),
    eventDataHash: bytesAt(fields, "event_data_hash"),
  };
}
