/** What each route of events takes: wire shape to typed request. Wire names are converted here, once. */
import { equalBytes } from "@event-anchoring/protocol";
import type { AnchorId, OriginFingerprint, SemanticAnchor } from "@event-anchoring/protocol";
import { z } from "zod";
import {
  anchorIdField,
  asOfBodyField,
  asOfQueryField,
  clientEventIdField,
  clientEventIdQueryField,
  delegationCursorQueryField,
  docsAssetField,
  hash32,
  integerQueryField,
  listCursorQueryField,
  optionalIntegerQueryField,
  originField,
  semanticAnchorField,
  signatureField,
  trustedRootsQueryField,
} from "./fields.ts";
import type { AsOf } from "./fields.ts";
import { LIMITS } from "./limits.ts";
import { pairOf, signerOf } from "./signer.ts";
import type { Signer } from "./signer.ts";

/** One event to be anchored. */
export interface EventToAnchor {
  readonly eventHash: Uint8Array;
  /** All zeros if the request has none. */
  readonly semanticAnchor: SemanticAnchor;
  readonly clientEventId: string | null;
  /** Who acted, and their signature; null: nobody has signed. */
  readonly actor: Signer | null;
}

export interface CreateEventRequest extends EventToAnchor {
  readonly originFingerprint: OriginFingerprint;
}

export const WRITE_ORIGIN = "An active origin of this cluster: read it from GET /healthz of the target node.";

const ACTOR_PAIR = pairOf("actor_public_key", "actor_signature");

const eventFields = {
  event_hash: hash32.describe("32 bytes: the hash of the event."),
  semantic_anchor: semanticAnchorField.describe("References to older anchors. Absent or null: none."),
  client_event_id: clientEventIdField.describe(
    "Choose one for each event: the same id with the same content is the same anchor, however often and to " +
      "whichever node you send it. With other content it is refused.",
  ),
  actor_public_key: hash32
    .nullish()
    .describe(
      "The Ed25519 key of the actor; give it together with actor_signature, or neither. It makes a signed event.",
    ),
  actor_signature: signatureField.nullish().describe("Over the event-actor payload."),
};

/** An event as it is sent, its fields parsed. */
export interface WireEvent {
  readonly event_hash: Uint8Array;
  readonly semantic_anchor: SemanticAnchor;
  readonly client_event_id: string | null;
  readonly actor_public_key?: Uint8Array | null | undefined;
  readonly actor_signature?: Uint8Array | null | undefined;
}

function eventToAnchor(event: WireEvent): EventToAnchor {
  return {
    eventHash: event.event_hash,
    semanticAnchor: event.semantic_anchor,
    clientEventId: event.client_event_id,
    actor: signerOf(event.actor_public_key, event.actor_signature),
  };
}

export interface WireCreateEvent extends WireEvent {
  readonly origin_fingerprint: OriginFingerprint;
}

export function createEventRequest(body: WireCreateEvent): CreateEventRequest {
  return { originFingerprint: body.origin_fingerprint, ...eventToAnchor(body) };
}

export const createEventSchema = z
  .strictObject({ origin_fingerprint: originField.describe(WRITE_ORIGIN), ...eventFields })
  .check(ACTOR_PAIR.check)
  .meta({ id: "CreateEvent", description: "An event to be anchored.", ...ACTOR_PAIR.meta })
  .transform(createEventRequest);

export interface CreateBatchRequest {
  readonly originFingerprint: OriginFingerprint;
  readonly events: readonly EventToAnchor[];
  /** One refused item refuses all. */
  readonly isAtomic: boolean;
  readonly receipts: BatchReceipts;
}

/** Whether each receipt of an answer has its checkpoint, or names it in a list of the answer. */
export const BATCH_RECEIPTS = ["whole", "shared"] as const;

type BatchReceipts = (typeof BATCH_RECEIPTS)[number];

const batchItemSchema = z
  .strictObject({
    origin_fingerprint: originField.nullish().describe("If given, it must be the batch's."),
    ...eventFields,
  })
  .check(ACTOR_PAIR.check)
  .meta({ id: "CreateBatchItem", description: "One event of a batch.", ...ACTOR_PAIR.meta });

export interface WireBatchItem extends WireEvent {
  readonly origin_fingerprint?: OriginFingerprint | null | undefined;
}

export interface WireBatch {
  readonly origin_fingerprint: OriginFingerprint;
  readonly events: readonly WireBatchItem[];
  readonly atomic?: boolean | null | undefined;
  readonly receipts?: BatchReceipts | null | undefined;
}

/** Whether the item may be in the batch: it may repeat the origin of its batch, not name another. */
export function isOfBatch(item: WireBatchItem, batch: WireBatch): boolean {
  return equalBytes(item.origin_fingerprint ?? batch.origin_fingerprint, batch.origin_fingerprint);
}

export function createBatchRequest(body: WireBatch): CreateBatchRequest {
  return {
    originFingerprint: body.origin_fingerprint,
    isAtomic: body.atomic ?? false,
    receipts: body.receipts ?? "whole",
    events: body.events.map(eventToAnchor),
  };
}

export const createBatchSchema = z
  .strictObject({
    origin_fingerprint: originField.describe(WRITE_ORIGIN),
    events: z
      .array(batchItemSchema)
      .min(1)
      .max(LIMITS.batchItemsMax)
      .describe(`At most ${LIMITS.batchSignedItemsMax} of them may carry a signature.`),
    atomic: z.boolean().nullish().describe("True: one refused item refuses all. Absent: false."),
    receipts: z
      .enum(BATCH_RECEIPTS)
      .nullish()
      .describe("shared: results have `shared_receipt`, and the answer has each checkpoint once. Absent: whole."),
  })
  .meta({ id: "CreateBatch", description: "Events to be anchored together." })
  .transform((body, context): CreateBatchRequest => {
    for (const [index, item] of body.events.entries()) {
      if (isOfBatch(item, body)) continue;
      const message = "an item may repeat the origin of its batch, not name another";
      context.addIssue({ code: "custom", message, path: ["events", index, "origin_fingerprint"] });
    }
    return createBatchRequest(body);
  });

/** One anchor to be verified. */
export interface AnchorToVerify {
  readonly anchorId: AnchorId;
  /** What the caller believes was anchored; null = not compared. */
  readonly eventHash: Uint8Array | null;
}

export interface VerifyEventRequest extends AnchorToVerify {
  readonly asOf: AsOf | null;
}

const verifyFields = {
  anchor_id: anchorIdField.describe("An anchor of any kind."),
  event_hash: hash32.nullish().describe("What you believe was anchored. Absent: not compared."),
};

export const verifyEventSchema = z
  .strictObject({ ...verifyFields, as_of: asOfBodyField })
  .meta({ id: "VerifyEvent", description: "Which anchor to verify, and as of when." })
  .transform((body): VerifyEventRequest => ({
    anchorId: body.anchor_id,
    eventHash: body.event_hash ?? null,
    asOf: body.as_of,
  }));

export interface VerifyBatchRequest {
  readonly anchors: readonly AnchorToVerify[];
  readonly asOf: AsOf | null;
}

export const verifyBatchSchema = z
  .strictObject({
    anchors: z
      .array(z.strictObject(verifyFields).meta({ id: "VerifyBatchItem", description: "One anchor to verify." }))
      .min(1)
      .max(LIMITS.batchItemsMax)
      .describe("The anchors, in the order in which the results come."),
    as_of: asOfBodyField,
  })
  .meta({ id: "VerifyBatch", description: "Which anchors to verify, and as of when." })
  .transform((body): VerifyBatchRequest => ({
    anchors: body.anchors.map((item) => ({
      anchorId: item.anchor_id,
      eventHash: item.event_hash ?? null,
    })),
    asOf: body.as_of,
  }));

export interface LatestQuery {
  /** null = the origin of the node that answers. */
  readonly originFingerprint: OriginFingerprint | null;
  /** Size of the head the client has pinned; null = no consistency proof is wanted. */
  readonly fromSize: number | null;
  /** What is waited for, and how long; null: nothing. */
  readonly growth: { readonly afterSize: number; readonly waitS: number } | null;
}

const READ_ORIGIN = "Absent: the answering node's origin.";

export const latestQuerySchema = z
  .strictObject({
    origin_fingerprint: originField.optional().describe(READ_ORIGIN),
    from_size: optionalIntegerQueryField(1).describe(
      "Size of the tree that you know: the answer then proves that it is the beginning of this one.",
    ),
    after_size: optionalIntegerQueryField(1).describe(
      "With `wait`: the answer comes when the tree is larger than this, or when the time is over.",
    ),
    wait: optionalIntegerQueryField(0, LIMITS.latestWaitSecondsMax).describe(
      "Seconds, with `after_size`. In the end the answer is what there is, larger or not.",
    ),
  })
  .superRefine((query, context) => {
    if ((query.wait === null) === (query.after_size === null)) return;
    const [missing, given] = query.wait === null ? ["wait", "after_size"] : ["after_size", "wait"];
    context.addIssue({ code: "custom", path: [missing], message: `is expected with ${given}` });
  })
  .transform((query): LatestQuery => ({
    originFingerprint: query.origin_fingerprint ?? null,
    fromSize: query.from_size,
    growth:
      query.after_size === null || query.wait === null ? null : { afterSize: query.after_size, waitS: query.wait },
  }));

export interface ConsistencyQuery {
  /** null = the origin of the node that answers. */
  readonly originFingerprint: OriginFingerprint | null;
  readonly fromSize: number;
  /** At least fromSize; null = the newest certified size. */
  readonly toSize: number | null;
}

export const consistencyQuerySchema = z
  .strictObject({
    origin_fingerprint: originField.optional().describe(READ_ORIGIN),
    from_size: integerQueryField(1).describe("Leaves of the older tree."),
    to_size: optionalIntegerQueryField(1).describe(
      "Leaves of the newer tree, at least from_size. Absent: the newest certified one.",
    ),
  })
  .transform((query, context): ConsistencyQuery => {
    if (query.to_size !== null && query.to_size < query.from_size) {
      context.addIssue({ code: "custom", message: "to_size is at least from_size", path: ["to_size"] });
    }
    return {
      originFingerprint: query.origin_fingerprint ?? null,
      fromSize: query.from_size,
      toSize: query.to_size,
    };
  });

/** Which events a list holds. */
export type EventFilter =
  | { readonly by: "event_hash"; readonly eventHash: Uint8Array }
  | { readonly by: "iris_ref" | "grant_ref"; readonly anchorId: AnchorId }
  | { readonly by: "client_event_id"; readonly clientEventId: string };

export interface ListQuery {
  readonly filter: EventFilter;
  /** As an earlier page gave it; attacker-controlled. null = from the start. */
  readonly cursor: string | null;
  readonly limit: number;
}

const FILTERS = ["event_hash", "iris_ref", "grant_ref", "client_event_id"] as const;
const ONE_FILTER = "Give exactly one of event_hash, iris_ref, grant_ref and client_event_id.";

interface WireFilters {
  readonly event_hash?: Uint8Array | undefined;
  readonly iris_ref?: AnchorId | undefined;
  readonly grant_ref?: AnchorId | undefined;
  readonly client_event_id?: string | undefined;
}

/** null unless exactly one is given. */
function filterOf(query: WireFilters): EventFilter | null {
  if (FILTERS.filter((name) => query[name] !== undefined).length !== 1) return null;
  if (query.event_hash !== undefined) return { by: "event_hash", eventHash: query.event_hash };
  if (query.iris_ref !== undefined) return { by: "iris_ref", anchorId: query.iris_ref };
  if (query.grant_ref !== undefined) return { by: "grant_ref", anchorId: query.grant_ref };
  return query.client_event_id === undefined ? null : { by: "client_event_id", clientEventId: query.client_event_id };
}

export const listQuerySchema = z
  .strictObject({
    event_hash: hash32.optional().describe(`Events with this hash. ${ONE_FILTER}`),
    iris_ref: anchorIdField.optional().describe(`Events that name this ClaimAnchor. ${ONE_FILTER}`),
    grant_ref: anchorIdField.optional().describe(`Events that name this GrantAnchor. ${ONE_FILTER}`),
    client_event_id: clientEventIdQueryField.describe(
      `The event that your API client wrote with this id: one or none. ${ONE_FILTER}`,
    ),
    cursor: listCursorQueryField,
    limit: optionalIntegerQueryField(1, LIMITS.listItemsMax).describe(
      `Items of a page. Absent: ${LIMITS.listItemsDefault}.`,
    ),
  })
  .transform((query, context): ListQuery => {
    const filter = filterOf(query);
    if (filter === null) {
      const given = FILTERS.find((name) => query[name] !== undefined) ?? FILTERS[0];
      context.addIssue({ code: "custom", message: ONE_FILTER, path: [given] });
      return z.NEVER;
    }
    return { filter, cursor: query.cursor, limit: query.limit ?? LIMITS.listItemsDefault };
  });

export interface ProofQuery {
  /** Whether the answer is to carry a proof of its verdicts. */
  readonly wantsProof: boolean;
}

const proofField = z
  .enum(["true", "false"])
  .optional()
  .describe(
    "true: the answer has `proof`, which proves its verdicts offline, and is as of a state that a quorum signs for " +
      "it: up to two seconds later. Absent, or false: none.",
  );

export const proofQuerySchema = z
  .strictObject({ proof: proofField })
  .transform(({ proof }): ProofQuery => ({ wantsProof: proof === "true" }));

export interface TraceQuery extends ProofQuery {
  readonly asOf: AsOf | null;
  readonly trustedRoots: readonly AnchorId[] | null;
  /** Depth below which the page of parents starts; null = from the anchor's own parent. */
  readonly cursor: number | null;
  /** Hops of the delegation that are left out before the page; 0 = from the grant itself. */
  readonly hopsBefore: number;
  readonly limit: number;
}

export const traceQuerySchema = z
  .strictObject({
    as_of: asOfQueryField,
    trusted_roots: trustedRootsQueryField,
    cursor: optionalIntegerQueryField(1).describe("parents.next_cursor of the page before. Absent: the first page."),
    delegation_cursor: delegationCursorQueryField,
    limit: optionalIntegerQueryField(1, LIMITS.traceParentsMax).describe(
      `Parents of a page. Absent: ${LIMITS.traceParentsDefault}.`,
    ),
    proof: proofField,
  })
  .transform((query, context): TraceQuery => {
    const wantsProof = query.proof === "true";
    if (wantsProof && query.delegation_cursor !== null)
      context.addIssue({ code: "custom", message: "a proof comes with the first page of hops", path: ["proof"] });
    return {
      asOf: query.delegation_cursor?.asOf ?? query.as_of,
      trustedRoots: query.trusted_roots,
      cursor: query.cursor,
      hopsBefore: query.delegation_cursor?.hopsBefore ?? 0,
      limit: query.limit ?? LIMITS.traceParentsDefault,
      wantsProof,
    };
  });

export const emptyQuerySchema = z.strictObject({});

export const emptyBodySchema = z.strictObject({}).meta({ id: "EmptyBody", description: "Nothing, or `{}`." });

export interface AnchorPath {
  readonly anchorId: AnchorId;
}

export const anchorPathSchema = z
  .strictObject({ anchor_id: anchorIdField.describe("An anchor's id.") })
  .transform((path): AnchorPath => ({ anchorId: path.anchor_id }));

export const docsAssetPathSchema = z.strictObject({ asset: docsAssetField.describe("A file of the page.") });
