/** What each route takes: wire shape to typed request. Wire names are converted here, once. */
import { equalBytes } from "@event-anchoring/protocol";
import type { AnchorId, OriginFingerprint, SemanticAnchor } from "@event-anchoring/protocol";
import { z } from "zod";
import {
  anchorIdField,
  asOfBodyField,
  asOfQueryField,
  clientEventIdField,
  hash32,
  integerQueryField,
  originField,
  semanticAnchorField,
  trustedRootsQueryField,
} from "./fields.ts";
import type { AsOf } from "./fields.ts";
import { LIMITS } from "./limits.ts";

/** One event to be anchored. */
export interface EventToAnchor {
  readonly eventHash: Uint8Array;
  /** All zeros if the request has none. */
  readonly semanticAnchor: SemanticAnchor;
  readonly clientEventId: string | null;
}

export interface CreateEventRequest extends EventToAnchor {
  readonly originFingerprint: OriginFingerprint;
}

const eventFields = {
  event_hash: hash32,
  semantic_anchor: semanticAnchorField,
  client_event_id: clientEventIdField,
};

export const createEventSchema = z
  .strictObject({ origin_fingerprint: originField, ...eventFields })
  .transform((body): CreateEventRequest => ({
    originFingerprint: body.origin_fingerprint,
    eventHash: body.event_hash,
    semanticAnchor: body.semantic_anchor,
    clientEventId: body.client_event_id,
  }));

export interface CreateBatchRequest {
  readonly originFingerprint: OriginFingerprint;
  readonly events: readonly EventToAnchor[];
  /** One refused item refuses all. */
  readonly isAtomic: boolean;
}

const batchItemSchema = z.strictObject({ origin_fingerprint: originField.nullish(), ...eventFields });

export const createBatchSchema = z
  .strictObject({
    origin_fingerprint: originField,
    events: z.array(batchItemSchema).min(1).max(LIMITS.batchItemsMax),
    atomic: z.boolean().nullish(),
  })
  .transform((body, context): CreateBatchRequest => {
    for (const [index, item] of body.events.entries()) {
      const origin = item.origin_fingerprint ?? body.origin_fingerprint;
      if (equalBytes(origin, body.origin_fingerprint)) continue;
      const message = "an item may repeat the origin of its batch, not name another";
      context.addIssue({ code: "custom", message, path: ["events", index, "origin_fingerprint"] });
    }
    return {
      originFingerprint: body.origin_fingerprint,
      isAtomic: body.atomic ?? false,
      events: body.events.map((item) => ({
        eventHash: item.event_hash,
        semanticAnchor: item.semantic_anchor,
        clientEventId: item.client_event_id,
      })),
    };
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

const verifyFields = { anchor_id: anchorIdField, event_hash: hash32.nullish() };

export const verifyEventSchema = z
  .strictObject({ ...verifyFields, as_of: asOfBodyField })
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
    anchors: z.array(z.strictObject(verifyFields)).min(1).max(LIMITS.batchItemsMax),
    as_of: asOfBodyField,
  })
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
}

export const latestQuerySchema = z
  .strictObject({ origin_fingerprint: originField.optional(), from_size: integerQueryField(1) })
  .transform((query): LatestQuery => ({
    originFingerprint: query.origin_fingerprint ?? null,
    fromSize: query.from_size,
  }));

export interface TraceQuery {
  readonly asOf: AsOf | null;
  readonly trustedRoots: readonly AnchorId[] | null;
  /** Depth below which the page of parents starts; null = from the anchor's own parent. */
  readonly cursor: number | null;
  readonly limit: number;
}

export const traceQuerySchema = z
  .strictObject({
    as_of: asOfQueryField,
    trusted_roots: trustedRootsQueryField,
    cursor: integerQueryField(1),
    limit: integerQueryField(1, LIMITS.traceParentsMax),
  })
  .transform((query): TraceQuery => ({
    asOf: query.as_of,
    trustedRoots: query.trusted_roots,
    cursor: query.cursor,
    limit: query.limit ?? LIMITS.traceParentsDefault,
  }));

export const emptyQuerySchema = z.strictObject({});

export interface AnchorPath {
  readonly anchorId: AnchorId;
}

export const anchorPathSchema = z
  .strictObject({ anchor_id: anchorIdField })
  .transform((path): AnchorPath => ({ anchorId: path.anchor_id }));
