import { LIMITS, parseCreateBatch, parseCreateEvent, problemBody } from "@event-anchoring/api-contract";
import type { BatchItemResult, CreatedBatchAnswer, EventToAnchor } from "@event-anchoring/api-contract";
import type { EventInput, RecordEventsCommand } from "@event-anchoring/ledger";
import { assertNever } from "@event-anchoring/protocol";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import { parsed, ProblemError, problemError } from "../request/problem-error.ts";
import { callerOf } from "./handler.ts";
import type { Handler, HandlerDependencies, HandlerRequest } from "./handler.ts";
import { record, recordOne, recordedResponse, recordedStatus } from "./record.ts";
import type { RecordResult } from "./record.ts";

const CLIENT_EVENT_SALT_BYTES = 32;

/** Draws all salts at once. A replay draws one too; the ledger keeps the first. */
function eventInputs(
  events: readonly EventToAnchor[],
  originFingerprint: OriginFingerprint,
  randomBytes: HandlerDependencies["randomBytes"],
): EventInput[] {
  const salts = randomBytes(events.length * CLIENT_EVENT_SALT_BYTES);
  return events.map(({ eventHash, semanticAnchor, clientEventId, actor }, index) => {
    const start = index * CLIENT_EVENT_SALT_BYTES;
    const clientEventSalt = clientEventId === null ? null : salts.subarray(start, start + CLIENT_EVENT_SALT_BYTES);
    return { originFingerprint, eventHash, semanticAnchor, clientEventId, clientEventSalt, actor };
  });
}

function recordEvents(
  request: HandlerRequest,
  { randomBytes }: HandlerDependencies,
  batch: { originFingerprint: OriginFingerprint; events: readonly EventToAnchor[]; isAtomic: boolean },
): RecordEventsCommand {
  const { credential } = callerOf(request);
  const events = eventInputs(batch.events, batch.originFingerprint, randomBytes);
  return { kind: "record_events", credential, atomic: batch.isAtomic, events };
}

/** POST /v1/event-anchors */
export const createEventAnchor: Handler = async (request, dependencies) => {
  const { originFingerprint, ...event } = parsed(parseCreateEvent(request.body));
  const command = recordEvents(request, dependencies, { originFingerprint, events: [event], isAtomic: false });
  return recordedResponse(await recordOne(request, dependencies, command));
};

function itemJson(result: RecordResult): BatchItemResult {
  switch (result.kind) {
    case "recorded":
      return { status: recordedStatus(result.answer), ...result.answer };
    case "refused": {
      const { errors, ...body } = problemBody(result.problem, null);
      const problem = errors === undefined ? body : { ...body, errors: [...errors] };
      return { status: body.status, problem };
    }
    default:
      return assertNever(result);
  }
}

function summaryOf(results: readonly BatchItemResult[]): CreatedBatchAnswer["summary"] {
  const count = (status: number): number => results.filter((result) => result.status === status).length;
  const [created, replayed, committed] = [count(201), count(200), count(202)];
  const refused = results.length - created - replayed - committed;
  return { total: results.length, created, replayed, committed, refused };
}

/** Every node verifies every signature before it co-signs, so their number in one request is limited. */
function assertSignatures(events: readonly EventToAnchor[]): void {
  const signed = events.filter(({ actor }) => actor !== null).length;
  if (signed > LIMITS.batchSignedItemsMax) throw problemError("batch_too_many_signatures");
}

/** POST /v1/event-anchors/batch */
export const createEventAnchors: Handler = async (request, dependencies) => {
  const batch = parsed(parseCreateBatch(request.body));
  assertSignatures(batch.events);
  const command = recordEvents(request, dependencies, batch);
  const recorded = await record(request, dependencies, command, (index) => `/events/${index}`);
  const results = recorded.results.map(itemJson);
  const json: CreatedBatchAnswer = { results, summary: summaryOf(results) };
  if (recorded.isRefused) throw new ProblemError({ code: "batch_refused" }, { extension: json });
  return { status: 200, json };
};
