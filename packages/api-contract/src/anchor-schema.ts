/** An anchor of each kind, and the receipt that proves it. */
import { REVOCATION_AUTHORITIES, REVOCATION_REASONS } from "@event-anchoring/protocol";
import { z } from "zod";
import { base64, count, hex32, hex64, recordState, rfc3339, timeMsOr } from "./wire.ts";

export const ANCHOR_KINDS = ["genesis", "event", "claim", "grant", "revocation", "trust_root", "signed_event"] as const;

export type AnchorKindName = (typeof ANCHOR_KINDS)[number];

const reference = hex32.nullable();

const semanticAnchorJson = z
  .strictObject({
    iris_ref: reference.describe("The claim of who acts: an anchor id."),
    scroll_ref: reference.describe("Any earlier anchor, of the client's choice: an anchor id."),
    grant_ref: reference.describe("The grant under which it was done: an anchor id."),
    bond_ref: reference.describe("Any earlier anchor, of the client's choice: an anchor id."),
    yield_ref: reference.describe("Any earlier anchor, of the client's choice: an anchor id."),
    event_data_hash: reference.describe("A hash that a verification compares with event_hash: 32 bytes."),
  })
  .meta({ id: "SemanticAnchor", description: "The anchors that the event refers to; an empty reference is null." });

const anchorHeader = {
  anchor_id: hex32.describe("The RFC 6962 leaf hash: the anchor's name, and what a receipt proves."),
  origin_fingerprint: hex32.describe("The origin in whose tree it is."),
  depth: count.describe("Leaf index in the tree of its origin."),
  sequence: count.describe("Position among the leaves of all origins."),
  parent_anchor_id: hex32.nullable().describe("The anchor one depth above; null for a genesis leaf."),
  accepted_ms: count.describe("When the cluster accepted it, Unix milliseconds."),
  accepted_at: rfc3339.describe("The same as RFC 3339."),
  finality: z
    .enum(["committed", "certified"])
    .describe("committed: durable on a majority of the nodes. certified: also co-signed by a quorum of them."),
};

const eventAnchorJson = {
  ...anchorHeader,
  event_hash: hex32.describe("What was anchored: a hash of 32 bytes. The service never sees what it is of."),
  semantic_anchor: semanticAnchorJson.nullable().describe("The anchors that the event refers to; null: none."),
  client_event_commit: hex32.nullable().describe("Commitment to client_event_id; null if there was none."),
  client_event_id: z
    .string()
    .nullable()
    .optional()
    .describe("Shown to keys of the API client that wrote it, and to admin. null: none, or erased."),
  client_event_salt: hex32.nullable().optional().describe("Opens client_event_commit. Shown to the same keys."),
  client_event_erased: z
    .literal(true)
    .optional()
    .describe("Present only on an event whose id and salt were erased. Shown to the same keys."),
};

const currentState = recordState.describe("How the record has ended, if it has.");

const genesisAnchor = z
  .strictObject({
    kind: z.literal("genesis").describe("Of which kind the anchor is."),
    ...anchorHeader,
    cluster_id: hex32.describe("The cluster that the origin is of: 32 bytes."),
    root_thk: hex32.describe("RootTHK of the trust root by which the origin began: 32 bytes."),
  })
  .meta({ id: "GenesisAnchor", description: "The first leaf of an origin." });

const eventAnchor = z
  .strictObject({ kind: z.literal("event").describe("Of which kind the anchor is."), ...eventAnchorJson })
  .meta({ id: "EventAnchor", description: "An unsigned event." });

const claimAnchor = z
  .strictObject({
    kind: z.literal("claim").describe("Of which kind the anchor is."),
    ...anchorHeader,
    state: currentState,
    entity_fingerprint: hex32.describe("Whom or what the claim is about: 32 bytes."),
    attribute_type: count.describe("In which respect: a u32. docs/names.md has the registered values."),
    attribute_hash: hex32.describe("Hash of what is claimed: 32 bytes."),
    issued_at: timeMsOr("not stated"),
    expires_at: timeMsOr("never"),
    subject_public_key: hex32.describe("Ed25519 key that speaks for the entity: 32 bytes."),
    subject_signature: hex64.describe("The subject's Ed25519 signature over the claim payload: 64 bytes."),
    issuer_public_key: hex32.describe("Ed25519 key of who vouches for it: 32 bytes."),
    issuer_signature: hex64.describe(
      "The issuer's Ed25519 signature over the claim-issuer payload, which holds the subject's: 64 bytes.",
    ),
  })
  .meta({ id: "ClaimAnchor", description: "An identity, signed by its subject and then by its issuer." });

const grantAnchor = z
  .strictObject({
    kind: z.literal("grant").describe("Of which kind the anchor is."),
    ...anchorHeader,
    state: currentState,
    grantor_claim_ref: hex32.describe("The claim of who delegates: an anchor id."),
    grantee_claim_ref: hex32.describe("The claim of whom it is delegated to: an anchor id."),
    parent_grant_ref: hex32.nullable().describe("null: a root grant."),
    scope_hash: hex32.describe("Hash of what is delegated: 32 bytes."),
    delegation_depth: count.describe("How many further hops may be granted below it."),
    issued_at: timeMsOr("not stated"),
    not_before: timeMsOr("as the parent has it, or unbounded"),
    expires_at: timeMsOr("as the parent has it, or never"),
    grantor_public_key: hex32.describe("The subject key of the grantor's claim: 32 bytes."),
    grantor_signature: hex64.describe("The grantor's Ed25519 signature over the grant payload: 64 bytes."),
    witness_public_key: hex32.describe("Ed25519 key of the witness of the grant: 32 bytes."),
    witness_signature: hex64.describe(
      "The witness's Ed25519 signature over the grant-witness payload, which holds the grantor's: 64 bytes.",
    ),
  })
  .meta({ id: "GrantAnchor", description: "A delegation, signed by its grantor and then by a witness." });

const revocationAnchor = z
  .strictObject({
    kind: z.literal("revocation").describe("Of which kind the anchor is."),
    ...anchorHeader,
    target_anchor_id: hex32.describe("The claim or grant that was revoked: an anchor id."),
    reason: z.enum(REVOCATION_REASONS).describe("Why, in the words of its revoker."),
    suspect_since: timeMsOr("none"),
    issued_at: timeMsOr("not stated"),
    authority: z.enum(REVOCATION_AUTHORITIES).describe("By whose authority it was revoked."),
    revoker: hex32.describe("The revoker's public key; if no party has signed, a hash of the API client or operator."),
    signature: hex64.nullable().describe("null if and only if the authority is operator."),
  })
  .meta({ id: "RevocationAnchor", description: "The record of a revocation, kept for ever." });

const trustRootAnchor = z
  .strictObject({
    kind: z.literal("trust_root").describe("Of which kind the anchor is."),
    ...anchorHeader,
    version: count.describe("The version of the trust root, from 1 on."),
    root_thk: hex32.describe("RootTHK, the hash of that version: 32 bytes."),
  })
  .meta({
    id: "TrustRootAnchor",
    description: "Another version of the trust root judges this origin from this leaf on.",
  });

const signedEventAnchor = z
  .strictObject({
    kind: z.literal("signed_event").describe("Of which kind the anchor is."),
    ...eventAnchorJson,
    actor_public_key: hex32.describe("Ed25519 key of who has signed the event: 32 bytes."),
    actor_signature: hex64.describe("That key's signature over the event-actor payload: 64 bytes."),
  })
  .meta({ id: "SignedEventAnchor", description: "An event that its actor has signed." });

export const anchorSchema = z
  .discriminatedUnion("kind", [
    genesisAnchor,
    eventAnchor,
    claimAnchor,
    grantAnchor,
    revocationAnchor,
    trustRootAnchor,
    signedEventAnchor,
  ])
  .meta({ id: "Anchor", description: "A leaf of an origin's tree. `kind` says which." });

export type AnchorJson = z.infer<typeof anchorSchema>;

export const receiptSchema = z
  .strictObject({
    anchor_id: hex32.describe("The anchor that is proved: 32 bytes."),
    leaf: base64.describe("The leaf's bytes; their hash, after one zero byte, is anchor_id."),
    index: count.describe("Leaf index."),
    tree_size: count.describe("Leaves of the tree that the checkpoint is of."),
    inclusion: z.array(base64).describe("Hashes of the RFC 6962 inclusion path, from the leaf up."),
    checkpoint: z.string().describe("C2SP tlog-checkpoint with the cosignatures of the nodes."),
    trust_root_version: count.describe("The trust-root version that judges the checkpoint: a hint."),
  })
  .meta({ id: "Receipt", description: "Proves offline that the anchor is in a tree that a quorum has co-signed." });

export type ReceiptAnswer = z.infer<typeof receiptSchema>;

const { leaf, index, inclusion, tree_size, checkpoint, trust_root_version } = receiptSchema.shape;

export const sharedReceiptSchema = z
  .strictObject({
    leaf,
    index,
    inclusion,
    checkpoint: count.describe("Its place, from 0, in `checkpoints` of the answer."),
  })
  .meta({
    id: "SharedReceipt",
    description:
      "A receipt without what it shares. With the anchor's id and the fields of its checkpoint it is a whole one.",
  });

export type SharedReceiptAnswer = z.infer<typeof sharedReceiptSchema>;

export const sharedCheckpointSchema = z
  .strictObject({ tree_size, checkpoint, trust_root_version })
  .meta({ id: "SharedCheckpoint", description: "What the receipts of an answer share." });
