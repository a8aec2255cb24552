/** The routes of claims and grants. */
import { z } from "zod";
import { activeClaimSchema, activeGrantSchema, createdSchema, revokedSchema } from "./answers.ts";
import { recordHistorySchema, verifiedClaimSchema, verifiedGrantSchema } from "./authority-answers.ts";
import type { ProblemCode } from "./problems.ts";
import {
  claimQuerySchema,
  createClaimSchema,
  createGrantSchema,
  grantQuerySchema,
  revokeSchema,
  verifyClaimSchema,
  verifyGrantSchema,
} from "./record-requests.ts";
import { anchorPathSchema, proofQuerySchema } from "./requests.ts";
import { PROOF_PROBLEMS, READ_PROBLEMS, VERIFY_PROBLEMS, WRITE_PROBLEMS, WRITING, route } from "./route.ts";

const REVOKE_PROBLEMS: readonly ProblemCode[] = [
  ...WRITE_PROBLEMS,
  "anchor_not_found",
  "wrong_kind",
  "origin_unknown",
  "origin_mismatch",
  "signature_invalid",
  "not_own_record",
  "origin_closed",
  "issued_in_future",
];

const WITH_PROOF = "With `proof=true` the answer carries what proves offline whether the record was in force.";

const HISTORY_PAGES =
  "Items ascend by `sequence`; a page may have fewer than `limit`, and the last one has `next_cursor: null`. " +
  "`certified` says how far the list reaches, `as_of` at which position states were judged.";

export const CLAIM_ROUTES = [
  route({
    ...WRITING,
    id: "createClaimAnchor",
    path: "/v1/claim-anchors",
    tag: "claims",
    summary: "Create a ClaimAnchor",
    description:
      "Registers an identity that its subject and then its issuer have signed. It supersedes the newest claim " +
      "of the same `entity_fingerprint` and `attribute_type`, which must have the same issuer. Repeating the " +
      "same content returns the same anchor.",
    scopes: ["write"],
    bodySchema: createClaimSchema,
    answers: { 200: createdSchema, 201: createdSchema, 202: createdSchema },
    problems: [
      ...WRITE_PROBLEMS,
      "origin_unknown",
      "signature_invalid",
      "origin_closed",
      "issued_in_future",
      "window_invalid",
      "claim_conflict",
    ],
  }),
  route({
    id: "getClaimAnchor",
    method: "GET",
    path: "/v1/claim-anchors",
    tag: "claims",
    summary: "Query the current active ClaimAnchor, or list all claims of an entity",
    description:
      "Returns the active claim of one pair of `entity_fingerprint` and `attribute_type`. If none is active, " +
      "the problem names the newest. With `history=true`: every certified claim of the entity, or of the pair if " +
      `\`attribute_type\` is given, with how it has ended. ${HISTORY_PAGES} No claim: an empty list.`,
    scopes: ["read"],
    querySchema: claimQuerySchema,
    answers: { 200: z.union([activeClaimSchema, recordHistorySchema]) },
    problems: [...READ_PROBLEMS, "no_active_claim", "origin_lost"],
  }),
  route({
    id: "verifyClaimAnchor",
    method: "POST",
    path: "/v1/claim-anchors:verify",
    tag: "claims",
    summary: "Verify nested signatures, anchor validity and revocation state",
    description: `Now, or as of any earlier position. ${WITH_PROOF}`,
    scopes: ["read"],
    querySchema: proofQuerySchema,
    bodySchema: verifyClaimSchema,
    answers: { 200: verifiedClaimSchema },
    problems: [...VERIFY_PROBLEMS, ...PROOF_PROBLEMS, "anchor_not_found", "wrong_kind", "origin_lost"],
  }),
  route({
    ...WRITING,
    id: "revokeClaimAnchor",
    path: "/v1/claim-anchors/{anchor_id}/revoke",
    tag: "claims",
    summary: "Write a revocation record for a ClaimAnchor",
    description:
      "Irreversible, and kept as evidence. With a signature of the claim's subject or issuer, any API client " +
      "may send it; it needs the scope `write` or `revoke`. Without a signature and body, only the API client " +
      "that recorded the claim may send it, and needs `revoke`; any other API client gets `not_own_record`. " +
      "Grants that name the claim end with it; earlier acts stay authorised at action.",
    scopes: ["write", "revoke"],
    pathSchema: anchorPathSchema,
    bodySchema: revokeSchema,
    isBodyOptional: true,
    answers: { 200: revokedSchema, 201: revokedSchema, 202: revokedSchema },
    problems: REVOKE_PROBLEMS,
  }),
] as const;

export const GRANT_ROUTES = [
  route({
    ...WRITING,
    id: "createGrantAnchor",
    path: "/v1/grant-anchors",
    tag: "grants",
    summary: "Create a GrantAnchor",
    description:
      "Records a delegation that its grantor and then a witness have signed. Both claims must be in force, and " +
      "so must the parent grant, if one is named. It supersedes an older grant between the same two lineages. " +
      "Repeating the same content returns the same anchor.",
    scopes: ["write"],
    bodySchema: createGrantSchema,
    answers: { 200: createdSchema, 201: createdSchema, 202: createdSchema },
    problems: [
      ...WRITE_PROBLEMS,
      "origin_unknown",
      "signature_invalid",
      "origin_closed",
      "reference_not_found",
      "reference_wrong_kind",
      "issued_in_future",
      "window_invalid",
      "window_outside_parent",
      "claim_not_in_force",
      "grant_not_in_force",
      "grantor_key_mismatch",
      "witness_is_grantor",
      "parent_mismatch",
      "depth_exceeded",
    ],
  }),
  route({
    id: "getGrantAnchor",
    method: "GET",
    path: "/v1/grant-anchors",
    tag: "grants",
    summary: "Query the current active delegation, or list all grants of an entity",
    description:
      "The grant in force from one entity to another; `others` counts further ones, if an entity has several " +
      "identities. If none is in force, the problem names the newest. With `history=true`: every certified grant " +
      `of the grantor, to the grantee, or from one to the other, with how it has ended. ${HISTORY_PAGES}`,
    scopes: ["read"],
    querySchema: grantQuerySchema,
    answers: { 200: z.union([activeGrantSchema, recordHistorySchema]) },
    problems: [...READ_PROBLEMS, "no_active_grant", "origin_lost"],
  }),
  route({
    id: "verifyGrantAnchor",
    method: "POST",
    path: "/v1/grant-anchors:verify",
    tag: "grants",
    summary: "Verify nested signatures, delegation-chain integrity and linked ClaimAnchor validity",
    description: `Now, or as of any earlier position, up to the root of the delegation. ${WITH_PROOF}`,
    scopes: ["read"],
    querySchema: proofQuerySchema,
    bodySchema: verifyGrantSchema,
    answers: { 200: verifiedGrantSchema },
    problems: [...VERIFY_PROBLEMS, ...PROOF_PROBLEMS, "anchor_not_found", "wrong_kind", "origin_lost"],
  }),
  route({
    ...WRITING,
    id: "revokeGrantAnchor",
    path: "/v1/grant-anchors/{anchor_id}/revoke",
    tag: "grants",
    summary: "Write a revocation record for a GrantAnchor",
    description:
      "As for claims; signed by the grantor or the witness, or unsigned by the API client that recorded it. " +
      "Grants below it end with it.",
    scopes: ["write", "revoke"],
    pathSchema: anchorPathSchema,
    bodySchema: revokeSchema,
    isBodyOptional: true,
    answers: { 200: revokedSchema, 201: revokedSchema, 202: revokedSchema },
    problems: REVOKE_PROBLEMS,
  }),
] as const;
