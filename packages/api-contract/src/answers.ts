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
  .meta({ id: "Created", description: "What was recorded, and its receipt." });

export type CreatedAnswer = z.infer<typeof createdSchema>;

/** `anchor` is the record of the revocation. Statuses as for `Created`. */
export const revokedSchema = z
  .strictObject({
    anchor: anchorSchema.describe("The record of the revocation."),
    revoked_anchor_id: hex32.describe("What was revoked."),
    receipt: awaitedReceipt,
    replayed,
  })
  .meta({ id: "Revoked", description: "The revocation, and what it ended." });

export type RevokedAnswer = z.infer<typeof revokedSchema>;

/** `status` is what the item would have been answered alone: 201, 200, 202, or that of its problem. */
const batchItemResult = z
  .strictObject({
    status: z.number().int().min(200).max(599).describe("The status that the item would have had alone."),
    anchor: anchorSchema.optional(),
    receipt: receiptSchema.nullable().optional().describe("null: the anchor is committed and not yet certified."),
    shared_receipt: sharedReceiptSchema.nullable().optional().describe("Instead of receipt, with `receipts: shared`."),
    replayed: z.boolean().optional().describe("As in the answer to a single write."),
    problem: problemSchema.optional(),
  })
  .meta({ id: "BatchItemResult", description: "anchor, receipt or shared_receipt, and replayed; or problem." });

const batchSummary = z
  .strictObject({
    total: count.describe("Items of the request."),
    created: count.describe("Status 201."),
    replayed: count.describe("Status 200."),
    committed: count.describe("Status 202."),
    refused: count.describe("Items with a problem."),
  })
  .meta({ id: "BatchSummary", description: "How many items came to what." });

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
  .meta({ id: "CreatedBatch", description: "The results of a batch." });

export type CreatedBatchAnswer = z.infer<typeof createdBatchSchema>;
export type BatchItemResult = z.infer<typeof batchItemResult>;

/** 409 `batch_refused`: the problem, with the results of all items. */
export const refusedBatchSchema = problemSchema
  .extend({ results: batchResults, summary: batchSummary })
  .meta({ id: "RefusedBatch", description: "RFC 9457, with the results of all items." });

const quorumJson = z
  .strictObject({
    threshold: count.describe("The number of cosignatures needed."),
    trust_root_version: count.describe("The version of the trust root whose quorum it is."),
    cosigners: z
      .array(
        z.strictObject({
          name: z.string().describe("Name of the key, as in the trust root."),
          time: count.describe("Unix seconds."),
        }),
      )
      .describe("Nodes that have signed."),
  })
  .meta({ id: "Quorum", description: "Who has co-signed the checkpoint." });

const consistencyProof = z.strictObject({
  from_size: count.describe("Leaves of the older tree."),
  tree_size: count.describe("Leaves of the newer tree."),
  proof: z.array(base64).describe("Hashes of 32 bytes, in the order of RFC 6962."),
});

export const headEventSchema = z
  .strictObject({
    origin_fingerprint: hex32.describe("The origin whose head it is: 32 bytes."),
    tree_size: count.describe("Leaves of its tree."),
    root_hash: hex32.describe("Root of that tree: 32 bytes."),
    certified_at: rfc3339.describe("When the cosignatures reached a quorum."),
    trust_root_version: count.describe("The version of the trust root that judges the checkpoint."),
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
    origin_fingerprint: hex32.describe("The origin: 32 bytes."),
    depth: count.describe("Leaf index of the anchor: tree_size less 1."),
    tree_size: count.describe("Leaves of the tree."),
    anchor: anchorSchema,
    root_hash: hex32.describe("Root of that tree: 32 bytes."),
    certified_at: rfc3339.describe("When the cosignatures reached a quorum."),
    checkpoint: z.string().describe("The signed note, with the cosignatures."),
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
  .meta({ id: "AnchorAnswer", description: "An anchor, and its receipt." });

export type AnchorAnswer = z.infer<typeof anchorAnswerSchema>;

/** The active claim of a pair. */
export const activeClaimSchema = z
  .strictObject({
    anchor: anchorSchema,
    receipt: receiptSchema,
    state: recordState.describe("active: a record in any other state answers 404."),
  })
  .meta({ id: "ActiveClaim", description: "The active claim of a pair of entity and attribute type." });

export type ActiveClaimAnswer = z.infer<typeof activeClaimSchema>;

/** The grant in force between two entities. */
export const activeGrantSchema = z
  .strictObject({
    anchor: anchorSchema,
    receipt: receiptSchema,
    state: recordState.describe("active: a record in any other state answers 404."),
    others: count.describe("Further grants in force between other lineages of the same two entities."),
  })
  .meta({ id: "ActiveGrant", description: "The grant in force from one entity to another." });

export type ActiveGrantAnswer = z.infer<typeof activeGrantSchema>;

/** Every item has `finality: certified`. */
export const eventListSchema = z
  .strictObject({
    items: z.array(anchorSchema).describe("Certified events, ascending by sequence."),
    next_cursor: z.string().nullable().describe("null: there are no more at the moment."),
    certified: z
      .array(
        z.strictObject({
          origin_fingerprint: hex32.describe("The origin: 32 bytes."),
          tree_size: count.describe("Leaves that are certified."),
        }),
      )
      .describe("How far the list reaches: the certified size of each origin."),
  })
  .meta({ id: "EventList", description: "A page of certified events." });

export type EventListAnswer = z.infer<typeof eventListSchema>;

export const consistencySchema = z
  .strictObject({
    origin_fingerprint: hex32.describe("The origin whose trees they are: 32 bytes."),
    from: z
      .strictObject({ tree_size: count.describe("Its leaves."), root_hash: hex32.describe("Its root: 32 bytes.") })
      .describe("The older tree."),
    to: z
      .strictObject({
        tree_size: count.describe("Its leaves."),
        root_hash: hex32.describe("Its root: 32 bytes."),
        checkpoint: z.string().nullable().describe("null unless this is the newest certified size."),
      })
      .describe("The newer tree."),
    proof: z.array(base64).describe("RFC 6962 consistency proof; empty if the sizes are equal."),
  })
  .meta({
    id: "Consistency",
    description: "The proof that the older of two trees of an origin is the beginning of the newer one.",
  });

export type ConsistencyAnswer = z.infer<typeof consistencySchema>;

export const erasedSchema = z
  .strictObject({
    anchor: anchorSchema,
    erased: z.boolean().describe("False: there was nothing to erase, or it was erased before."),
  })
  .meta({ id: "Erased", description: "The event, whose client_event_id is gone." });

export type ErasedAnswer = z.infer<typeof erasedSchema>;
