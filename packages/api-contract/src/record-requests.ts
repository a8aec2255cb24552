/** What the routes of claims and grants take: wire shape to typed request. */
import type { AnchorId, ClaimBody, GrantBody, OriginFingerprint } from "@event-anchoring/protocol";
import { z } from "zod";
import {
  anchorIdField,
  asOfBodyField,
  attributeTypeField,
  attributeTypeQueryField,
  hash32,
  listCursorQueryField,
  optionalIntegerQueryField,
  originField,
  referenceField,
  revocationReasonField,
  signatureField,
  timeMsField,
  trustedRootsBodyField,
  unsigned32Field,
} from "./fields.ts";
import type { AsOf } from "./fields.ts";
import { LIMITS } from "./limits.ts";
import { WRITE_ORIGIN } from "./requests.ts";
import { pairOf, signerOf } from "./signer.ts";
import type { Signer } from "./signer.ts";

const ISSUED_AT = "Unix milliseconds; recorded, and at most 300,000 ahead of the cluster. Absent or 0: not stated.";

export interface CreateClaimRequest extends ClaimBody {
  readonly originFingerprint: OriginFingerprint;
}

export const createClaimSchema = z
  .strictObject({
    origin_fingerprint: originField.describe(WRITE_ORIGIN),
    entity_fingerprint: hash32.describe("32 bytes that name the entity."),
    attribute_type: attributeTypeField.describe("u32, as an integer or as 0x and 1 to 8 hex digits."),
    attribute_hash: hash32.describe("32 bytes: the hash of the claim about the entity."),
    subject_public_key: hash32.describe("Ed25519 key of the subject."),
    subject_signature: signatureField.describe("Over the claim payload."),
    issuer_public_key: hash32.describe("Ed25519 key of the issuer."),
    issuer_signature: signatureField.describe("Over the claim-issuer payload, which holds the subject's signature."),
    issued_at: timeMsField.describe(ISSUED_AT),
    expires_at: timeMsField.describe("Unix milliseconds from which on it is not in force. Absent or 0: never."),
  })
  .meta({ id: "CreateClaim", description: "A claim, signed by subject and issuer." })
  .transform((body): CreateClaimRequest => ({
    originFingerprint: body.origin_fingerprint,
    entityFingerprint: body.entity_fingerprint,
    attributeType: body.attribute_type,
    attributeHash: body.attribute_hash,
    issuedAt: body.issued_at,
    expiresAt: body.expires_at,
    subjectPublicKey: body.subject_public_key,
    subjectSignature: body.subject_signature,
    issuerPublicKey: body.issuer_public_key,
    issuerSignature: body.issuer_signature,
  }));

export interface CreateGrantRequest extends GrantBody {
  readonly originFingerprint: OriginFingerprint;
}

const GRANT_BOUND = "Unix milliseconds, inside the parent's window. Absent or 0: as the parent has it, or unbounded.";

export const createGrantSchema = z
  .strictObject({
    origin_fingerprint: originField.describe(WRITE_ORIGIN),
    grantor_claim_ref: hash32.describe("The grantor's ClaimAnchor, in force."),
    grantee_claim_ref: hash32.describe("The grantee's ClaimAnchor, in force."),
    scope_hash: hash32.describe("32 bytes: the hash of what is delegated."),
    delegation_depth: unsigned32Field.describe("u32: how many further hops may be granted below this one."),
    grantor_public_key: hash32.describe("The subject key of the grantor's ClaimAnchor."),
    grantor_signature: signatureField.describe("Over the grant payload."),
    witness_public_key: hash32.describe("Ed25519 key of the witness; it must differ from the grantor's."),
    witness_signature: signatureField.describe("Over the grant-witness payload, which holds the grantor's signature."),
    parent_grant_ref: referenceField.describe(
      "The GrantAnchor to the grantor under which this grant is made. Absent, null, an empty string or 64 zeros: none.",
    ),
    issued_at: timeMsField.describe(ISSUED_AT),
    not_before: timeMsField.describe(GRANT_BOUND),
    expires_at: timeMsField.describe(GRANT_BOUND),
  })
  .meta({ id: "CreateGrant", description: "A grant, signed by grantor and witness." })
  .transform((body): CreateGrantRequest => ({
    originFingerprint: body.origin_fingerprint,
    grantorClaimRef: body.grantor_claim_ref,
    granteeClaimRef: body.grantee_claim_ref,
    parentGrantRef: body.parent_grant_ref,
    scopeHash: body.scope_hash,
    delegationDepth: body.delegation_depth,
    issuedAt: body.issued_at,
    notBefore: body.not_before,
    expiresAt: body.expires_at,
    grantorPublicKey: body.grantor_public_key,
    grantorSignature: body.grantor_signature,
    witnessPublicKey: body.witness_public_key,
    witnessSignature: body.witness_signature,
  }));

export interface RevokeRequest {
  /** null = that of the target. */
  readonly originFingerprint: OriginFingerprint | null;
  /** Index into REVOCATION_REASONS. */
  readonly reason: number;
  /** Unix milliseconds, 0 = not stated. */
  readonly suspectSince: number;
  /** Unix milliseconds, 0 = not stated. */
  readonly issuedAt: number;
  /** null: no party has signed. */
  readonly signer: Signer | null;
}

const REVOKER_PAIR = pairOf("revoker_public_key", "revoker_signature");

export const revokeSchema = z
  .strictObject({
    origin_fingerprint: originField
      .nullish()
      .describe("The target's origin, or absent. If that origin is lost: the active one to write to."),
    reason: revocationReasonField.describe("Absent: unspecified."),
    suspect_since: timeMsField.describe(
      "Unix milliseconds: earlier acts accepted from then on are shown as suspect. Absent or 0: none.",
    ),
    issued_at: timeMsField.describe(ISSUED_AT),
    revoker_public_key: hash32
      .nullish()
      .describe(
        "Key of the issuer or subject (grants: grantor or witness); with revoker_signature or not at all. " +
          "Absent: the API client revokes a record of its own, which needs the scope revoke.",
      ),
    revoker_signature: signatureField.nullish().describe("Over the revocation payload."),
  })
  .check(REVOKER_PAIR.check)
  .meta({ id: "Revoke", description: "Why a claim or grant is revoked, and who signs that.", ...REVOKER_PAIR.meta })
  .transform((body): RevokeRequest => ({
    originFingerprint: body.origin_fingerprint ?? null,
    reason: body.reason,
    suspectSince: body.suspect_since,
    issuedAt: body.issued_at,
    signer: signerOf(body.revoker_public_key, body.revoker_signature),
  }));

/** One page of a history. */
export interface HistoryPage {
  /** As an earlier page gave it; attacker-controlled. null = from the start. */
  readonly cursor: string | null;
  readonly limit: number;
}

const HISTORY = "true: every record there has been, page by page, with how each has ended.";
const NOT_A_LIST = "only a list has pages: give history=true";

const historyFields = {
  history: z.enum(["true", "false"]).optional().describe(`${HISTORY} Absent, or false: the current one.`),
  cursor: listCursorQueryField.describe(
    "With history=true: next_cursor of the page before, with the same filter. Opaque. Absent: the first page.",
  ),
  limit: optionalIntegerQueryField(1, LIMITS.listItemsMax).describe(
    `With history=true, items of a page. Absent: ${LIMITS.listItemsDefault}.`,
  ),
};

interface WireHistory {
  readonly history?: "true" | "false" | undefined;
  readonly cursor: string | null;
  readonly limit: number | null;
}

/** null: the current record is asked for. */
function historyPageOf({ history, cursor, limit }: WireHistory, context: z.RefinementCtx): HistoryPage | null {
  if (history === "true") return { cursor, limit: limit ?? LIMITS.listItemsDefault };
  if (cursor !== null) context.addIssue({ code: "custom", message: NOT_A_LIST, path: ["cursor"] });
  if (limit !== null) context.addIssue({ code: "custom", message: NOT_A_LIST, path: ["limit"] });
  return null;
}

function missing(context: z.RefinementCtx, parameter: string): void {
  context.addIssue({ code: "invalid_type", expected: "string", path: [parameter] });
}

/** The current claim of a pair, or the claims of an entity. */
export type ClaimQuery =
  | { readonly history: null; readonly entityFingerprint: Uint8Array; readonly attributeType: number }
  | {
      readonly history: HistoryPage;
      readonly entityFingerprint: Uint8Array;
      /** null = of every type. */
      readonly attributeType: number | null;
    };

export const claimQuerySchema = z
  .strictObject({
    entity_fingerprint: hash32.describe("Names the entity."),
    attribute_type: attributeTypeQueryField
      .optional()
      .describe(
        "u32: decimal digits, or 0x and 1 to 8 hex digits. Required without history; with it, absent: every type.",
      ),
    ...historyFields,
  })
  .transform((query, context): ClaimQuery => {
    const { entity_fingerprint: entityFingerprint, attribute_type: attributeType } = query;
    const history = historyPageOf(query, context);
    if (history !== null) return { history, entityFingerprint, attributeType: attributeType ?? null };
    if (attributeType !== undefined) return { history, entityFingerprint, attributeType };
    missing(context, "attribute_type");
    return z.NEVER;
  });

/** Whose grants a history holds: those of one party, or those from one to another. */
export type GrantFilter =
  | { readonly by: "grantor" | "grantee"; readonly fingerprint: Uint8Array }
  | { readonly by: "both"; readonly grantorFingerprint: Uint8Array; readonly granteeFingerprint: Uint8Array };

/** The grant in force from one entity to another, or a history of grants. */
export type GrantQuery =
  | {
      readonly history: null;
      readonly grantorFingerprint: Uint8Array;
      readonly granteeFingerprint: Uint8Array;
    }
  | { readonly history: HistoryPage; readonly filter: GrantFilter };

const A_PARTY = "Give grantor_fingerprint, grantee_fingerprint or both.";
const ONE_PARTY = "Required without history; with it, one of the two is enough.";

export const grantQuerySchema = z
  .strictObject({
    grantor_fingerprint: hash32.optional().describe(`entity_fingerprint of the grantor's ClaimAnchor. ${ONE_PARTY}`),
    grantee_fingerprint: hash32.optional().describe(`entity_fingerprint of the grantee's ClaimAnchor. ${ONE_PARTY}`),
    ...historyFields,
  })
  .transform((query, context): GrantQuery => {
    const { grantor_fingerprint: grantorFingerprint, grantee_fingerprint: granteeFingerprint } = query;
    const history = historyPageOf(query, context);
    if (grantorFingerprint !== undefined && granteeFingerprint !== undefined) {
      if (history === null) return { history, grantorFingerprint, granteeFingerprint };
      return { history, filter: { by: "both", grantorFingerprint, granteeFingerprint } };
    }
    if (history === null) {
      if (grantorFingerprint === undefined) missing(context, "grantor_fingerprint");
      if (granteeFingerprint === undefined) missing(context, "grantee_fingerprint");
      return z.NEVER;
    }
    if (grantorFingerprint !== undefined)
      return { history, filter: { by: "grantor", fingerprint: grantorFingerprint } };
    if (granteeFingerprint !== undefined)
      return { history, filter: { by: "grantee", fingerprint: granteeFingerprint } };
    context.addIssue({ code: "custom", message: A_PARTY, path: ["grantor_fingerprint"] });
    return z.NEVER;
  });

export interface VerifyClaimRequest {
  readonly anchorId: AnchorId;
  readonly asOf: AsOf | null;
}

export const verifyClaimSchema = z
  .strictObject({ anchor_id: anchorIdField.describe("A ClaimAnchor."), as_of: asOfBodyField })
  .meta({ id: "VerifyClaim", description: "Which claim to verify, and as of when." })
  .transform((body): VerifyClaimRequest => ({ anchorId: body.anchor_id, asOf: body.as_of }));

export interface VerifyGrantRequest extends VerifyClaimRequest {
  /** null: root_authority is not checked. */
  readonly trustedRoots: readonly AnchorId[] | null;
}

export const verifyGrantSchema = z
  .strictObject({
    anchor_id: anchorIdField.describe("A GrantAnchor."),
    as_of: asOfBodyField,
    trusted_roots: trustedRootsBodyField,
  })
  .meta({ id: "VerifyGrant", description: "Which grant to verify, and as of when." })
  .transform((body): VerifyGrantRequest => ({
    anchorId: body.anchor_id,
    asOf: body.as_of,
    trustedRoots: body.trusted_roots,
  }));
