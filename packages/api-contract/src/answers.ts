/** What each route answers. The schemas are checked against real answers by tests. */
import { z } from "zod";

const hex32 = z.string().regex(/^[0-9a-f]{64}$/);
const hex64 = z.string().regex(/^[0-9a-f]{128}$/);
const base64 = z.string().regex(/^[A-Za-z0-9+/]*={0,2}$/);
const rfc3339 = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const count = z.number().int().min(0);

export const ANCHOR_KINDS = ["genesis", "event", "claim", "grant", "revocation", "trust_root", "signed_event"] as const;

export type AnchorKindName = (typeof ANCHOR_KINDS)[number];

const semanticAnchorJson = z.strictObject({
  iris_ref: hex32.nullable(),
  scroll_ref: hex32.nullable(),
  grant_ref: hex32.nullable(),
  bond_ref: hex32.nullable(),
  yield_ref: hex32.nullable(),
  event_data_hash: hex32.nullable(),
});

const anchorHeader = {
  anchor_id: hex32,
  origin_fingerprint: hex32,
  depth: count,
  sequence: count,
  parent_anchor_id: hex32.nullable(),
  accepted_ms: count,
  accepted_at: rfc3339,
  finality: z.enum(["committed", "certified"]),
};

const eventAnchorJson = {
  ...anchorHeader,
  event_hash: hex32,
  semantic_anchor: semanticAnchorJson.nullable(),
  client_event_commit: hex32.nullable(),
  /** Shown to keys of the API client that wrote it, and to `admin`. */
  client_event_id: z.string().nullable().optional(),
  client_event_salt: hex32.nullable().optional(),
};

export const anchorSchema = z
  .discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("genesis"), ...anchorHeader, cluster_id: hex32, root_thk: hex32 }),
    z.strictObject({ kind: z.literal("event"), ...eventAnchorJson }),
    z.strictObject({
      kind: z.literal("claim"),
      ...anchorHeader,
      entity_fingerprint: hex32,
      attribute_type: count,
      attribute_hash: hex32,
      issued_at: count,
      expires_at: count,
      subject_public_key: hex32,
      subject_signature: hex64,
      issuer_public_key: hex32,
      issuer_signature: hex64,
    }),
    z.strictObject({
      kind: z.literal("grant"),
      ...anchorHeader,
      grantor_claim_ref: hex32,
      grantee_claim_ref: hex32,
      parent_grant_ref: hex32.nullable(),
      scope_hash: hex32,
      delegation_depth: count,
      issued_at: count,
      not_before: count,
      expires_at: count,
      grantor_public_key: hex32,
      grantor_signature: hex64,
      witness_public_key: hex32,
      witness_signature: hex64,
    }),
    z.strictObject({
      kind: z.literal("revocation"),
      ...anchorHeader,
      target_anchor_id: hex32,
      reason: z.string(),
      suspect_since: count,
      issued_at: count,
      authority: z.string(),
      revoker: hex32,
      signature: hex64.nullable(),
    }),
    z.strictObject({ kind: z.literal("trust_root"), ...anchorHeader, version: count, root_thk: hex32 }),
    z.strictObject({
      kind: z.literal("signed_event"),
      ...eventAnchorJson,
      actor_public_key: hex32,
      actor_signature: hex64,
    }),
  ])
  .meta({ id: "Anchor" });

export type AnchorJson = z.infer<typeof anchorSchema>;

export const receiptSchema = z
  .strictObject({
    anchor_id: hex32,
    leaf: base64,
    index: count,
    tree_size: count,
    inclusion: z.array(base64),
    checkpoint: z.string(),
    trust_root_version: count,
  })
  .meta({ id: "Receipt" });

export type ReceiptAnswer = z.infer<typeof receiptSchema>;

const problemItemSchema = z.strictObject({
  pointer: z.string().optional(),
  parameter: z.string().optional(),
  code: z.string(),
  detail: z.string(),
});

export const problemSchema = z
  .strictObject({
    type: z.string(),
    title: z.string(),
    status: count,
    detail: z.string(),
    code: z.string(),
    request_id: z.string().optional(),
    errors: z.array(problemItemSchema).optional(),
  })
  .meta({ id: "Problem" });

/** 201; 200 when `replayed`; 202 with `receipt: null` while the anchor is committed and not yet certified. */
export const createdSchema = z
  .strictObject({ anchor: anchorSchema, receipt: receiptSchema.nullable(), replayed: z.boolean() })
  .meta({ id: "Created" });

export type CreatedAnswer = z.infer<typeof createdSchema>;

/** `status` is what the item would have been answered alone: 201, 200, 202, or that of its problem. */
const batchItemResult = z.strictObject({
  status: count,
  anchor: anchorSchema.optional(),
  receipt: receiptSchema.nullable().optional(),
  replayed: z.boolean().optional(),
  problem: problemSchema.optional(),
});

const batchSummary = z.strictObject({
  total: count,
  created: count,
  replayed: count,
  committed: count,
  refused: count,
});

export const createdBatchSchema = z
  .strictObject({ results: z.array(batchItemResult), summary: batchSummary })
  .meta({ id: "CreatedBatch" });

export type CreatedBatchAnswer = z.infer<typeof createdBatchSchema>;
export type BatchItemResult = z.infer<typeof batchItemResult>;

/** 409 `batch_refused`: the problem, with the results of all items. */
export const refusedBatchSchema = problemSchema
  .extend({ results: z.array(batchItemResult), summary: batchSummary })
  .meta({ id: "RefusedBatch" });

/** `sequence` is null for a time before the first leaf. */
const asOfJson = z.strictObject({ sequence: count.nullable(), time_ms: count, time: rfc3339 });

export type AsOfAnswer = z.infer<typeof asOfJson>;

const checkJson = z.strictObject({
  code: z.string(),
  result: z.enum(["pass", "fail", "not_checked"]),
  detail: z.string(),
});

const verification = {
  valid: z.boolean(),
  as_of: asOfJson,
  checks: z.array(checkJson),
  anchor: anchorSchema,
  receipt: receiptSchema,
};

export const verifiedSchema = z.strictObject(verification).meta({ id: "Verified" });

export type VerifiedAnswer = z.infer<typeof verifiedSchema>;

/** Without receipts: a thousand copies of one checkpoint are megabytes, and a receipt can be had by its anchor's id. */
const verifiedItem = z.strictObject({
  anchor_id: hex32,
  valid: z.boolean(),
  checks: z.array(checkJson).optional(),
  anchor: anchorSchema.optional(),
  problem: problemSchema.optional(),
});

export const verifiedBatchSchema = z
  .strictObject({
    as_of: asOfJson,
    results: z.array(verifiedItem),
    summary: z.strictObject({ total: count, valid: count, invalid: count, not_found: count }),
  })
  .meta({ id: "VerifiedBatch" });

export type VerifiedBatchAnswer = z.infer<typeof verifiedBatchSchema>;

const quorumJson = z.strictObject({
  threshold: count,
  trust_root_version: count,
  cosigners: z.array(z.strictObject({ name: z.string(), time: count })),
});

export const latestSchema = z
  .strictObject({
    origin_fingerprint: hex32,
    depth: count,
    tree_size: count,
    anchor: anchorSchema,
    root_hash: hex32,
    certified_at: rfc3339,
    checkpoint: z.string(),
    quorum: quorumJson,
    receipt: receiptSchema,
    consistency: z.strictObject({ from_size: count, tree_size: count, proof: z.array(base64) }).optional(),
  })
  .meta({ id: "Latest" });

export type LatestAnswer = z.infer<typeof latestSchema>;

const verdict = z.union([z.boolean(), z.literal("unknown")]);

/** The latest certified anchor of the traced anchor's origin, in brief. */
const eeaJson = z.strictObject({
  origin_fingerprint: hex32,
  anchor_id: hex32,
  depth: count,
  tree_size: count,
  root_hash: hex32,
  certified_at: rfc3339,
});

const pointedAnchor = z.strictObject({
  field: z.string(),
  anchor_id: hex32,
  exists: z.boolean(),
  kind: z.string().nullable(),
});

export const traceSchema = z
  .strictObject({
    anchor: anchorSchema,
    authorised_at_action: verdict,
    authorised_now: verdict,
    reasons: z.array(z.strictObject({ code: z.string(), anchor_id: hex32.nullable(), sequence: count.nullable() })),
    actor: z.strictObject({
      claim: anchorSchema.nullable(),
      state: z.string().nullable(),
      actor_signature: z.enum(["pass", "fail", "not_checked"]),
    }),
    delegation: z.array(
      z.strictObject({
        grant: anchorSchema,
        grantor_claim: anchorSchema,
        grantee_claim: anchorSchema,
        witness_public_key: hex32,
        witness_is_grantee: z.boolean(),
      }),
    ),
    boundary: z
      .strictObject({
        scope_hash: hex32,
        depth: z.strictObject({ granted: count, used: count, left: count }),
        window: z.strictObject({ not_before: count, expires_at: count }),
      })
      .nullable(),
    root_authority: z.string(),
    possible_parents: z.array(hex32),
    revocations: z.array(anchorSchema),
    violations: z.array(z.strictObject({ code: z.string(), anchor_id: hex32, detail: z.string() })),
    references: z.array(pointedAnchor),
    parents: z.strictObject({ items: z.array(anchorSchema), next_cursor: z.string().nullable() }),
    eea: eeaJson,
    as_of: asOfJson,
    receipt: receiptSchema,
  })
  .meta({ id: "Trace" });

export type TraceAnswer = z.infer<typeof traceSchema>;

export const anchorAnswerSchema = z
  .strictObject({ anchor: anchorSchema, receipt: receiptSchema })
  .meta({ id: "AnchorAnswer" });

export type AnchorAnswer = z.infer<typeof anchorAnswerSchema>;

const trustRootVersion = z.strictObject({ version: count, root_thk: hex32, document: z.string() });

/** `chain` is oldest first and authenticates itself from the version a client has pinned. */
export const trustRootSchema = trustRootVersion
  .extend({ chain: z.array(trustRootVersion) })
  .meta({ id: "TrustRootAnswer" });

export type TrustRootAnswer = z.infer<typeof trustRootSchema>;

/** The Prime RootTHK sync summary. */
const rootSyncJson = z.strictObject({
  role: z.enum(["prime", "replica"]),
  version: count,
  root_thk: hex32.nullable(),
  prime_version: count.nullable(),
  in_sync: z.boolean(),
  last_success_at: rfc3339.nullable(),
  age_seconds: z.number().nullable(),
  expires_at: rfc3339.nullable(),
  last_error: z.string().nullable(),
});

export const healthSchema = z
  .strictObject({
    status: z.enum(["ok", "degraded", "error"]),
    node_id: z.string(),
    cluster_id: hex32,
    origin_fingerprint: hex32,
    prime_root_thk: rootSyncJson,
    raft: z.strictObject({
      role: z.string(),
      term: count,
      leader: z.string().nullable(),
      commit_index: count,
      applied_index: count,
    }),
    versions: z.strictObject({
      api_contract: z.literal("4.2"),
      locked_code: z.literal("V4.2"),
      service: z.string(),
    }),
  })
  .meta({ id: "Health" });

export type HealthAnswer = z.infer<typeof healthSchema>;

export const readySchema = z
  .strictObject({
    ready: z.boolean(),
    checks: z.array(z.strictObject({ check: z.string(), result: z.enum(["pass", "fail"]), detail: z.string() })),
  })
  .meta({ id: "Ready" });

export type ReadyAnswer = z.infer<typeof readySchema>;

export const limitsSchema = z
  .strictObject({
    body_bytes_max: count,
    batch_body_bytes_max: count,
    batch_items_max: count,
    batch_signed_items_max: count,
    client_event_id_chars_max: count,
    json_depth_max: count,
    write_timeout_ms: count,
    read_timeout_ms: count,
    batch_timeout_ms: count,
    prefer_wait_seconds_min: count,
    prefer_wait_seconds_max: count,
    timeout_grace_ms: count,
    trace_parents_max: count,
    trusted_roots_max: count,
    header_bytes_max: count,
    headers_max: count,
    target_bytes_max: count,
    integer_max: count,
    attribute_type_max: count,
    delegation_depth_max: count,
    key_requests_per_second: z.number().nullable(),
  })
  .meta({ id: "Limits" });

export type LimitsAnswer = z.infer<typeof limitsSchema>;
