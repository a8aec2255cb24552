/** What verification and tracing answer: never one bare boolean. */
import { z } from "zod";
import { anchorSchema, receiptSchema } from "./anchor-schema.ts";
import { eventListSchema } from "./answers.ts";
import { LIMITS } from "./limits.ts";
import { problemSchema } from "./problem-schema.ts";
import { proofMember } from "./proof-answers.ts";
import { count, hex32, openWord, recordState, rfc3339, timeMsOr } from "./wire.ts";

/** `sequence` is null for a time before the first leaf. */
const asOfJson = z
  .strictObject({
    sequence: count.nullable().describe("null: a time before the first leaf."),
    time_ms: count.describe("Unix milliseconds."),
    time: rfc3339.describe("The same as RFC 3339."),
  })
  .meta({ id: "AsOf", description: "The position at which was judged." });

export type AsOfAnswer = z.infer<typeof asOfJson>;

/** Every check there is, over all kinds. */
export const CHECK_CODES = [
  "exists",
  "event_hash",
  "subject_signature",
  "issuer_signature",
  "grantor_signature",
  "witness_signature",
  "delegation_chain",
  "grantor_claim",
  "grantee_claim",
  "leaf",
  "parent",
  "inclusion",
  "certificate",
  "revocation",
  "superseded",
  "window",
  "root_authority",
  "actor_signature",
  "actor_is_iris_subject",
  "event_data_hash_matches",
  "depth",
] as const;

const checkResult = z.enum(["pass", "fail", "not_checked"]);

const checkJson = z
  .strictObject({
    code: openWord(CHECK_CODES, "What was checked."),
    result: checkResult.describe("not_checked: it does not apply, or nothing was given to compare with."),
    detail: z.string().describe("For people."),
  })
  .meta({ id: "Check", description: "One check of a verification." });

const verification = {
  valid: z.boolean().describe("No deciding check failed, and every check that applies was made."),
  as_of: asOfJson,
  checks: z.array(checkJson).describe("Each check that was made, or does not apply."),
  anchor: anchorSchema,
  receipt: receiptSchema,
  ...proofMember,
};

export const verifiedSchema = z
  .strictObject(verification)
  .meta({ id: "Verified", description: "What a verification has found." });

export type VerifiedAnswer = z.infer<typeof verifiedSchema>;

/** Without receipts: a thousand copies of one checkpoint are megabytes, and a receipt can be had by its anchor's id. */
const verifiedItem = z
  .strictObject({
    anchor_id: hex32.describe("The anchor that was asked about: 32 bytes."),
    valid: z.boolean().describe("As in the verification of one anchor alone."),
    checks: z.array(checkJson).optional().describe("As in the verification of one anchor alone."),
    anchor: anchorSchema.optional(),
    problem: problemSchema.optional(),
  })
  .meta({ id: "VerifiedItem", description: "checks and anchor; or problem, for an id that does not exist." });

export const verifiedBatchSchema = z
  .strictObject({
    as_of: asOfJson,
    results: z.array(verifiedItem).describe("In the order of the request."),
    summary: z
      .strictObject({
        total: count.describe("Anchors of the request."),
        valid: count.describe("Those that are valid."),
        invalid: count.describe("Those that exist and are not valid."),
        not_found: count.describe("Ids that no anchor has."),
      })
      .describe("How many came to what."),
  })
  .meta({ id: "VerifiedBatch", description: "What the verification of several anchors has found." });

export type VerifiedBatchAnswer = z.infer<typeof verifiedBatchSchema>;

/** One hop, from the grant asked about towards the root. Each `state` is as of the position judged at. */
const delegationHop = z
  .strictObject({
    grant: anchorSchema,
    grantor_claim: anchorSchema,
    grantee_claim: anchorSchema,
    witness_public_key: hex32.describe("Ed25519 key of the witness of the grant: 32 bytes."),
    witness_is_grantee: z.boolean().describe("Whether that key is the subject key of the grantee's claim."),
  })
  .meta({ id: "DelegationHop", description: "One grant of a chain, with the two claims that it names." });

const delegation = {
  delegation: z
    .array(delegationHop)
    .describe(`From the grant towards the root; at most ${LIMITS.traceHopsMax} in one answer.`),
  delegation_omitted: count.describe("The number of further hops towards the root. They are judged too."),
};

const stateAsOf = recordState.describe("As of the position judged at.");

const revocationOf = z
  .strictObject({
    anchor: anchorSchema.describe("The record of the revocation."),
    target_anchor_id: hex32.describe("What was revoked: an anchor id."),
  })
  .meta({ id: "RevocationInView", description: "A revocation that was known at the position judged at." });

const recordVerification = {
  ...verification,
  state: stateAsOf,
  revocations: z
    .array(revocationOf)
    .describe("Revocations of the record and of the records it depends on, up to the position judged at."),
};

export const verifiedClaimSchema = z
  .strictObject(recordVerification)
  .meta({ id: "VerifiedClaim", description: "What the verification of a claim has found." });

export type VerifiedClaimAnswer = z.infer<typeof verifiedClaimSchema>;

export const verifiedGrantSchema = z
  .strictObject({ ...recordVerification, ...delegation })
  .meta({ id: "VerifiedGrant", description: "What the verification of a grant has found." });

export type VerifiedGrantAnswer = z.infer<typeof verifiedGrantSchema>;

/** What can end a record: each gives it another state than `active`. */
const RECORD_END_CODES = [
  "claim_revoked",
  "claim_superseded",
  "claim_expired",
  "grant_revoked",
  "grant_superseded",
  "grant_expired",
  "grantor_claim_revoked",
  "grantee_claim_revoked",
  "grantor_not_in_force",
  "grantee_not_in_force",
] as const;

const recordEnd = z
  .strictObject({
    code: openWord(RECORD_END_CODES, "What has ended it."),
    anchor_id: hex32.describe("The record whose end it was: this one, or one that it depends on."),
    sequence: count.nullable().describe("The sequence where that record ended; null if time ended it."),
    ended_by: hex32
      .nullable()
      .describe("The anchor at that sequence: a revocation, or the record that superseded it. null if time ended it."),
  })
  .meta({ id: "RecordEnd", description: "What has ended a record." });

export type RecordEndAnswer = z.infer<typeof recordEnd>;

const historyItem = z
  .strictObject({
    anchor: anchorSchema,
    ended: recordEnd.nullable().describe("What gave it its `state`; null while that is `active`."),
  })
  .meta({ id: "RecordHistoryItem", description: "A claim or a grant, and its end." });

/** Items are certified, but for those of a lost origin that never will be. */
export const recordHistorySchema = eventListSchema
  .extend({
    items: z.array(historyItem).describe("Claims or grants, ascending by sequence."),
    as_of: asOfJson.describe("The position at which states were judged."),
  })
  .meta({ id: "RecordHistory", description: "A page of claims or grants: all that were recorded, ended or not." });

export type RecordHistoryAnswer = z.infer<typeof recordHistorySchema>;

const verdict = z.union([z.boolean(), z.literal("unknown")]);

/** The latest certified anchor of the traced anchor's origin, in brief. */
const eeaJson = z
  .strictObject({
    origin_fingerprint: hex32.describe("The origin: 32 bytes."),
    anchor_id: hex32.describe("Its latest certified anchor: 32 bytes."),
    depth: count.describe("Leaf index of that anchor."),
    tree_size: count.describe("Leaves of the tree."),
    root_hash: hex32.describe("Root of that tree: 32 bytes."),
    certified_at: rfc3339.describe("When the cosignatures reached a quorum."),
  })
  .meta({ id: "LatestBrief", description: "The latest certified anchor (EEA) of the anchor's origin, in brief." });

const pointedAnchor = z
  .strictObject({
    field: z.string().describe("Such as iris_ref."),
    anchor_id: hex32.describe("The id that the field has."),
    exists: z.boolean().describe("Whether there is an anchor with that id."),
    kind: z.string().nullable().describe("Its kind; null: there is no such anchor."),
  })
  .meta({ id: "PointedAnchor", description: "An anchor that the event refers to." });

/** Why a verdict is not true. */
export const TRACE_REASON_CODES = [
  "not_an_event",
  "iris_ref_empty",
  "grant_ref_empty",
  "reference_wrong_kind",
  "records_not_loaded",
  "actor_not_grantee",
  "actor_key_mismatch",
  "claim_revoked",
  "claim_superseded",
  "claim_expired",
  "grant_revoked",
  "grant_superseded",
  "grant_not_yet_valid",
  "grant_expired",
  "grantor_claim_revoked",
  "grantee_claim_revoked",
  "grantor_not_in_force",
  "grantee_not_in_force",
] as const;

/** What the rules exclude, and a trace finds all the same. */
export const TRACE_VIOLATION_CODES = [
  "parent_link_broken",
  "reference_missing",
  "reference_wrong_kind",
  "actor_signature_invalid",
  "actor_key_mismatch",
  "record_differs",
  "signature_invalid",
  "grantor_key_mismatch",
  "witness_is_grantor",
  "delegation_broken",
] as const;

const traceReason = z
  .strictObject({
    verdict: z.enum(["at_action", "now"]).describe("The verdict that is not true for this reason."),
    code: openWord(TRACE_REASON_CODES, "Why."),
    anchor_id: hex32.nullable().describe("The record at fault."),
    sequence: count.nullable().describe("The sequence where the record ended; null if time ended it."),
  })
  .meta({ id: "TraceReason", description: "One reason why a verdict is not true." });

const traceViolation = z
  .strictObject({
    code: openWord(TRACE_VIOLATION_CODES, "What is wrong."),
    anchor_id: hex32.describe("The record at fault."),
    detail: z.string().describe("For people."),
  })
  .meta({ id: "TraceViolation", description: "One contradiction in the records." });

const boundaryJson = z
  .strictObject({
    scope_hash: hex32.describe("Hash of what is delegated, of the grant that the event names: 32 bytes."),
    depth: z
      .strictObject({
        granted: count.describe("Hops that the root grant allows below itself."),
        used: count.describe("Hops below the root grant that the chain has."),
        left: count.describe("Hops that may be granted below the grant that the event names."),
      })
      .describe("How many hops there may be."),
    window: z
      .strictObject({ not_before: timeMsOr("unbounded"), expires_at: timeMsOr("never") })
      .describe("When the delegation holds, in Unix milliseconds."),
  })
  .meta({ id: "Boundary", description: "How far the delegation reaches." });

export const traceSchema = z
  .strictObject({
    anchor: anchorSchema,
    actor_proven: z
      .boolean()
      .describe(
        "The subject of the claim that iris_ref names has signed the event. false: only the API client that " +
          "recorded the event says who acted, even if the act was authorised.",
      ),
    authorised_at_action: verdict.describe("Judged at the event's own position."),
    authorised_now: verdict.describe("Judged at as_of."),
    suspect: z.boolean().describe("A revocation in view names a suspect_since that is not after the event."),
    reasons: z.array(traceReason).describe("Why a verdict is not true."),
    actor: z
      .strictObject({
        claim: anchorSchema.nullable().describe("The ClaimAnchor that iris_ref names."),
        state: recordState.nullable().describe("The claim's state at the position judged at."),
        actor_signature: checkResult.describe("not_checked: the event is unsigned."),
      })
      .describe("Who acted."),
    ...delegation,
    delegation_next_cursor: z
      .string()
      .nullable()
      .describe("delegation_cursor of the next page of hops, which is judged at the same as_of. null: there is none."),
    lineage_claims: z
      .array(anchorSchema)
      .optional()
      .describe(
        "For each lineage in the chain, the newest claim at the event and at as_of, ascending by sequence, unless " +
          "it is shown elsewhere. Absent: there is none.",
      ),
    boundary: boundaryJson
      .nullable()
      .describe("How far the delegation reaches; null: there is no whole chain of grants."),
    root_authority: checkResult.describe("not_checked unless trusted_roots are given."),
    possible_parents: z.array(hex32).describe("Grants in force under which the root grantor could stand."),
    revocations: z
      .array(
        revocationOf
          .extend({ before_action: z.boolean().describe("Whether it came before the event.") })
          .meta({ id: "TracedRevocation", description: "A revocation that was known at as_of." }),
      )
      .describe("Revocations of the records that the verdicts depend on, up to as_of."),
    violations: z
      .array(traceViolation)
      .describe("Contradictions that the rules exclude: a row was altered, or a rule was broken."),
    references: z.array(pointedAnchor).describe("The references that are not empty."),
    parents: z
      .strictObject({
        items: z.array(anchorSchema).describe("Anchors of any kind."),
        next_cursor: z.string().nullable().describe("`cursor` of the next page; null: there is none."),
      })
      .describe("Leaves of the same origin before the anchor, deepest first."),
    eea: eeaJson,
    as_of: asOfJson,
    receipt: receiptSchema,
    ...proofMember,
  })
  .meta({ id: "Trace", description: "Who acted, who delegated it, and whether it was authorised." });

export type TraceAnswer = z.infer<typeof traceSchema>;
