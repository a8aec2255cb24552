import { LIMITS, parseCreateBatch, parseCreateEvent, problemBody } from "@event-anchoring/api-contract";
import type { BatchItemResult, CreatedBatchAnswer, EventToAnchor, Problem } from "@event-anchoring/api-contract";
import type { EventInput, RecordEventsCommand } from "@event-anchoring/ledger";
import type { OriginFingerprint, Sha256 } from "@event-anchoring/protocol";
import { parsed, ProblemError, problemError } from "../request/problem-error.ts";
import { JSON_MEDIA_TYPE, callerOf } from "./handler.ts";
import type { Handler, HandlerDependencies, HandlerRequest } from "./handler.ts";
import {
  createdJson,
  createdResponse,
  createdStatus,
  writeCreatedFields,
  writeSharedFields,
} from "./created-answer.ts";
import { JsonWriter } from "./json-writer.ts";
import { record, recordOne } from "./record.ts";
import type { RecordResult } from "./record.ts";
import { SharedCheckpoints } from "./shared-receipts.ts";

const CLIENT_EVENT_SALT_BYTES = 32;

/** Draws all salts at once, one for each event with an id. A replay draws one too; the ledger keeps the first. */
function eventInputs(
  events: readonly EventToAnchor[],
  originFingerprint: OriginFingerprint,
  randomBytes: HandlerDependencies["randomBytes"],
): EventInput[] {
  const count = events.filter(({ clientEventId }) => clientEventId !== null).length;
  const salts = randomBytes(count * CLIENT_EVENT_SALT_BYTES);
  let end = 0;
  return events.map(({ eventHash, semanticAnchor, clientEventId, actor }) => {
    const clientEventSalt = clientEventId === null ? null : salts.subarray(end, (end += CLIENT_EVENT_SALT_BYTES));
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
  return createdResponse(await recordOne(request, dependencies, command));
};

function refusedItem(problem: Problem): BatchItemResult {
  const { errors, ...body } = problemBody(problem, null);
  return { status: body.status, problem: errors === undefined ? body : { ...body, errors: [...errors] } };
}

function itemJson(result: RecordResult, sha256: Sha256): BatchItemResult {
  if (result.kind === "refused") return refusedItem(result.problem);
  return { status: createdStatus(result.record), ...createdJson(result.record, sha256) };
}

function summaryOf(results: readonly RecordResult[]): CreatedBatchAnswer["summary"] {
  const statuses = results.map((result) => (result.kind === "created" ? createdStatus(result.record) : null));
  const count = (status: number): number => statuses.filter((other) => other === status).length;
  const [created, replayed, committed] = [count(201), count(200), count(202)];
  const refused = results.length - created - replayed - committed;
  return { total: results.length, created, replayed, committed, refused };
}

const RESULTS = Buffer.from('{"results":');
const STATUS = Buffer.from('{"status":');
const COMMA = Buffer.from(",");
const SUMMARY = Buffer.from(',"summary":');
const CHECKPOINTS = Buffer.from(',"checkpoints":');
const END = Buffer.from("}");
/** Bytes that nearly all items of an answer fit in. */
const ITEM_BYTES = 3072;

/** The bytes of `{ results: results.map(itemJson), summary }`; with `shared` also the checkpoints of its receipts. */
function batchBytes(results: readonly RecordResult[], shared: SharedCheckpoints | null): Uint8Array {
  const writer = new JsonWriter(results.length * ITEM_BYTES);
  writer.part(RESULTS).list(results, (result) => {
    if (result.kind === "refused") {
      writer.value(refusedItem(result.problem));
      return;
    }
    writer.part(STATUS).count(createdStatus(result.record)).part(COMMA);
    if (shared === null) writeCreatedFields(writer, result.record);
    else writeSharedFields(writer, result.record, shared);
    writer.part(END);
  });
  writer.part(SUMMARY).value(summaryOf(results));
  if (shared !== null) writer.part(CHECKPOINTS).value(shared.toJson());
  return writer.part(END).finish();
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
  const { isRefused, results, isWitnessed } = await record(
    request,
    dependencies,
    command,
    (index) => `/events/${index}`,
  );
  if (isRefused) {
    const { sha256 } = dependencies.crypto;
    const shown = results.map((result) => itemJson(result, sha256));
    const extension: CreatedBatchAnswer = { results: shown, summary: summaryOf(results) };
    throw new ProblemError({ code: "batch_refused" }, { extension });
  }
  const shared = batch.receipts === "shared" ? new SharedCheckpoints() : null;
  return { status: 200, isWitnessed, bytes: batchBytes(results, shared), mediaType: JSON_MEDIA_TYPE };
};
