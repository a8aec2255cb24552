/** Batches as they are sent: of events to record, and of anchors to verify. */
import type { Operation } from "./caller.ts";
import { batchFields } from "./client-options.ts";
import type { BatchOptions } from "./client-options.ts";
import { hex32 } from "./inputs.ts";
import type { JsonBody } from "./json-body.ts";
import { asOfBody } from "./query-inputs.ts";
import type { AnchorToVerify, AsOfQuestion } from "./query-inputs.ts";
import { chosenClientEventId, eventRequest } from "./signed-requests.ts";
import type { EventToCreate, SignedRequest } from "./signed-requests.ts";

interface EventBatch {
  readonly operation: Operation;
  /** Parallel to the events. */
  readonly requests: readonly SignedRequest[];
  readonly clientEventIds: readonly (string | null)[];
}

/** Signs the events one after the other. @throws InvalidInput, SigningFailed */
export async function batchOf(
  events: readonly EventToCreate[],
  origin: string,
  options: BatchOptions,
): Promise<EventBatch> {
  const requests: SignedRequest[] = [];
  const clientEventIds: (string | null)[] = [];
  for (const event of events) {
    const id = chosenClientEventId(event.clientEventId);
    clientEventIds.push(id);
    requests.push(await eventRequest(event.eventHash, event, event.originFingerprint ?? origin, id));
  }
  const operation: Operation = {
    method: "POST",
    path: "/v1/event-anchors/batch",
    body: { origin_fingerprint: origin, events: requests.map(({ body }) => body), ...batchFields(options) },
    isWrite: true,
    isRepeatable: clientEventIds.every((id) => id !== null),
    clientEventIds,
    isBatch: true,
  };
  return { operation, requests, clientEventIds };
}

/** @throws InvalidInput */
export function batchToVerify(anchors: readonly AnchorToVerify[], { asOf }: AsOfQuestion): Operation {
  const items = anchors.map(({ anchorId, eventHash }, at): JsonBody => ({
    anchor_id: hex32(`anchors[${at}].anchorId`, anchorId),
    ...(eventHash === undefined ? {} : { event_hash: hex32(`anchors[${at}].eventHash`, eventHash) }),
  }));
  const body = { anchors: items, ...asOfBody(asOf) };
  return { method: "POST", path: "/v1/event-anchors:batchVerify", body, isBatch: true };
}
