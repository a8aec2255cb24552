/** What the routes that write and read anchors answer. The schemas are checked against real answers by tests. */
import { z } from "zod";
import { anchorSchema, receiptSchema, sharedCheckpointSchema, sharedReceiptSchema } from "./anchor-schema.ts";
import { problemSchema } from "./problem-schema.ts";
import { base64, count, hex32, recordState, rfc3339 } from "./wire.ts";

const replayed = z.boolean().describe("True: the same content was recorded before; this is that record, as it is now.");
const awaitedReceipt = receiptSchema
  .nullable()
  .describe("null in a 202: the anchor is committed and not yet certified.");

/** 201; 200 when `replayed`; 202 with `receipt: null` while the anchor is committed and not yet certified. */
export const createdSchema = z
  .strictObject({ anchor: anchorSchema, receipt: awaitedReceipt, replayed })
  .meta({ id: "Created" });

export type CreatedAnswer = z.infer<typeof createdSchema>;

/** `anchor` is the record of the revocation. Statuses as for `Created`. */
export const revokedSchema = z
  .strictObject({
    anchor: anchorSchema.describe("The record of the revocation."),
    revoked_anchor_id: hex32.describe("What was revoked."),
    receipt: awaitedReceipt,
    replayed,
  })
  .meta({ id: "Revoked" });

export type RevokedAnswer = z.infer<typeof revokedSchema>;

/** `status` is what the item would have been answered alone: 201, 200, 202, or that of its problem. */
const batchItemResult = z
  .strictObject({
    status: z.number().int().min(200).max(599).describe("The status that the item would have had alone."),
    anchor: anchorSchema.optional(),
    receipt: receiptSchema.nullable().optional(),
    shared_receipt: sharedReceiptSchema.nullable().optional().describe("Instead of receipt, with `receipts: shared`."),
    replayed: z.boolean().optional(),
    problem: problemSchema.optional(),
  })
  .meta({ id: "BatchItemResult", description: "anchor, receipt or shared_receipt, and replayed; or problem." });

const batchSummary = z
  .strictObject({
    total: count,
    created: count.describe("Status 201."),
    replayed: count.describe("Status 200."),
    committed: count.describe("Status 202."),
    refused: count,
  })
  .meta({ id: "BatchSummary" });

const batchResults = z.array(batchItemResult).describe("In the order of the request.");

export const createdBatchSchema = z
  .strictObject({
    results: batchResults,
    summary: batchSummary,
    checkpoints: z
      .array(sharedCheckpointSchema)
      .optional()
      .describe("With `receipts: shared`: what shared_receipt names, each once."),
  })
  .meta({ id: "CreatedBatch" });

export type CreatedBatchAnswer = z.infer<typeof createdBatchSchema>;
export type BatchItemResult = z.infer<typeof batchItemResult>;

/** 409 `batch_refused`: the problem, with the results of all items. */
export const refusedBatchSchema = problemSchema
  .extend({ results: batchResults, summary: batchSummary })
  .meta({ id: "RefusedBatch", description: "RFC 9457, with the results of all items." });

const quorumJson = z
  .strictObject({
    threshold: count.describe("The number of cosignatures needed."),
    trust_root_version: count,
    cosigners: z.array(z.strictObject({ name: z.string(), time: count.describe("Unix seconds.") })),
  })
  .meta({ id: "Quorum", description: "Who has co-signed the checkpoint." });

const consistencyProof = z.strictObject({ from_size: count, tree_size: count, proof: z.array(base64) });

export const headEventSchema = z
  .strictObject({
    origin_fingerprint: hex32,
    tree_size: count,
    root_hash: hex32,
    certified_at: rfc3339,
    trust_root_version: count,
    checkpoint: z.string().describe("The signed note, with the cosignatures."),
    consistency: consistencyProof
      .nullable()
      .describe("The RFC 6962 proof from the event before, or from the size that you named; null: there was none."),
  })
  .meta({ id: "HeadEvent", description: "`event: head`; its `id` is the tree size." });

export type HeadEvent = z.infer<typeof headEventSchema>;

export const endEventSchema = z
  .strictObject({ code: z.string().describe("The problem for which the node ends the feed.") })
  .meta({ id: "EndEvent", description: "`event: end`: the last of a feed that the node ends. Ask any node again." });

export type EndEvent = z.infer<typeof endEventSchema>;

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
    consistency: consistencyProof
      .optional()
      .describe("With from_size: the RFC 6962 proof that the tree you know is the beginning of this one."),
  })
  .meta({ id: "Latest", description: "The latest certified anchor (EEA) of one origin." });

export type LatestAnswer = z.infer<typeof latestSchema>;

/** `receipt` is null while the anchor is committed and not yet certified, on request. */
export const anchorAnswerSchema = z
  .strictObject({ anchor: anchorSchema, receipt: receiptSchema.nullable().describe("null: not yet certified.") })
  .meta({ id: "AnchorAnswer" });

export type AnchorAnswer = z.infer<typeof anchorAnswerSchema>;

/** The active claim of a pair. */
export const activeClaimSchema = z
  .strictObject({ anchor: anchorSchema, receipt: receiptSchema, state: recordState })
  .meta({ id: "ActiveClaim" });

export type ActiveClaimAnswer = z.infer<typeof activeClaimSchema>;

/** The grant in force between two entities. */
export const activeGrantSchema = z
  .strictObject({
    anchor: anchorSchema,
    receipt: receiptSchema,
    state: recordState,
    others: count.describe("Further grants in force between other lineages of the same two entities."),
  })
  .meta({ id: "ActiveGrant" });

export type ActiveGrantAnswer = z.infer<typeof activeGrantSchema>;

/** Every item has `finality: certified`. */
export const eventListSchema = z
  .strictObject({
    items: z.array(anchorSchema).describe("Certified events, ascending by sequence."),
    next_cursor: z.string().nullable().describe("null: there are no more at the moment."),
    certified: z
      .array(z.strictObject({ origin_fingerprint: hex32, tree_size: count }))
      .describe("How far the list reaches: the certified size of each origin."),
  })
  .meta({ id: "EventList" });

export type EventListAnswer = z.infer<typeof eventListSchema>;

export const consistencySchema = z
  .strictObject({
    origin_fingerprint: hex32,
    from: z.strictObject({ tree_size: count, root_hash: hex32 }),
    to: z.strictObject({
      tree_size: count,
      root_hash: hex32,
      checkpoint: z.string().nullable().describe("null unless this is the newest certified size."),
    }),
    proof: z.array(base64).describe("RFC 6962 consistency proof; empty if the sizes are equal."),
  })
  .meta({ id: "Consistency" });

export type ConsistencyAnswer = z.infer<typeof consistencySchema>;

export const erasedSchema = z
  .strictObject({
    anchor: anchorSchema,
    erased: z.boolean().describe("False: there was nothing to erase, or it was erased before."),
  })
  .meta({ id: "Erased" });

export type ErasedAnswer = z.infer<typeof erasedSchema>;
