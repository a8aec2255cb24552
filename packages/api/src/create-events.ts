import {
  anchorToJson,
  createBatchSchema,
  createEventSchema,
  parseBody,
  problemBody,
} from "@event-anchoring/api-contract";
import type {
  BatchItemResult,
  CreatedAnswer,
  CreatedBatchAnswer,
  EventToAnchor,
  Problem,
} from "@event-anchoring/api-contract";
import type { HeldCertificate, SubmittedRecord } from "@event-anchoring/control-contract";
import type { EventInput, RecordEventsCommand } from "@event-anchoring/ledger";
import { assertNever, bytesToHex, decodeLeaf } from "@event-anchoring/protocol";
import type { AnchorId, OriginFingerprint } from "@event-anchoring/protocol";
import { receiptAnswer } from "./anchor-view.ts";
import { callerOf } from "./handler.ts";
import type { Handler, HandlerDependencies, HandlerRequest } from "./handler.ts";
import { parsed } from "./parsed.ts";
import { ProblemError } from "./problem-error.ts";
import { readProvedAnchors } from "./read-anchors.ts";
import { rejectionProblem } from "./respond.ts";

const CLIENT_EVENT_SALT_BYTES = 32;

/** Draws all salts at once. A replay draws one too; the ledger keeps the first one. */
function eventInputs(
  events: readonly EventToAnchor[],
  originFingerprint: OriginFingerprint,
  randomBytes: HandlerDependencies["randomBytes"],
): EventInput[] {
  const salts = randomBytes(events.length * CLIENT_EVENT_SALT_BYTES);
  return events.map(({ eventHash, semanticAnchor, clientEventId }, index) => {
    const start = index * CLIENT_EVENT_SALT_BYTES;
    const clientEventSalt = clientEventId === null ? null : salts.subarray(start, start + CLIENT_EVENT_SALT_BYTES);
    return { originFingerprint, eventHash, semanticAnchor, clientEventId, clientEventSalt };
  });
}

interface Recorded {
  /** Of an atomic batch: nothing is anchored. */
  readonly isRefused: boolean;
  /** Parallel to the events of the request. */
  readonly results: readonly ItemResult[];
}

/** The answer to one event, before it is put into the form of its route. */
type ItemResult =
  | { readonly kind: "created"; readonly answer: CreatedAnswer; readonly anchorId: string }
  | { readonly kind: "refused"; readonly problem: Problem };

async function recordEvents(
  request: HandlerRequest,
  dependencies: HandlerDependencies,
  batch: { originFingerprint: OriginFingerprint; events: readonly EventToAnchor[]; isAtomic: boolean },
  itemPointer: (index: number) => string,
): Promise<Recorded> {
  const { credential } = callerOf(request);
  const events = eventInputs(batch.events, batch.originFingerprint, dependencies.randomBytes);
  const command: RecordEventsCommand = { kind: "record_events", credential, atomic: batch.isAtomic, events };
  const { outcome } = await dependencies.controlPlane.submit(command, {
    remainingMs: request.deadline.remainingMs,
    answer: request.isAsync ? "committed" : "certified",
  });
  if (outcome.kind === "rejected") throw new ProblemError(rejectionProblem(outcome.rejection));
  if (outcome.kind !== "records" || outcome.records.length !== events.length) {
    throw new Error(`events were answered with ${outcome.kind}`);
  }
  const checkpoints = new Map(outcome.checkpoints.map((held) => [bytesToHex(held.originFingerprint), held]));
  const replayed = await readReplayed(request, dependencies, outcome.records);
  const results = outcome.records.map((submitted, index) => {
    if (submitted.status === "rejected") {
      const problem = rejectionProblem(submitted.rejection, itemPointer(index));
      return { kind: "refused", problem } as const;
    }
    const anchorId = bytesToHex(submitted.anchorId);
    const answer =
      submitted.status === "replayed"
        ? replayedAnswer(replayed, anchorId)
        : acceptedAnswer(submitted, events[index], checkpoints, dependencies);
    return { kind: "created", answer, anchorId } as const;
  });
  return { isRefused: outcome.refused, results };
}

type Accepted = Extract<SubmittedRecord, { status: "accepted" }>;

function acceptedAnswer(
  submitted: Accepted,
  event: EventInput | undefined,
  checkpoints: ReadonlyMap<string, HeldCertificate>,
  { crypto }: HandlerDependencies,
): CreatedAnswer {
  const leaf = decodeLeaf(submitted.leaf);
  const held = checkpoints.get(bytesToHex(leaf.originFingerprint));
  const isCertified = submitted.certified && submitted.path !== null && held !== undefined;
  const anchor = anchorToJson({
    leaf,
    anchorId: submitted.anchorId,
    finality: isCertified ? "certified" : "committed",
    clientEvent: {
      clientEventId: event?.clientEventId ?? null,
      clientEventSalt: submitted.clientEventSalt,
    },
  });
  if (!isCertified) return { anchor, receipt: null, replayed: false };
  const { treeSize, checkpoint } = held;
  const receipt = { leaf: submitted.leaf, index: leaf.depth, treeSize, path: submitted.path, checkpoint };
  return { anchor, receipt: receiptAnswer(receipt, held, crypto.sha256), replayed: false };
}

/** A replay carries ids only: its anchor and receipt are read as of now, all of a batch together. */
async function readReplayed(
  request: HandlerRequest,
  dependencies: HandlerDependencies,
  events: readonly SubmittedRecord[],
): Promise<ReadonlyMap<string, CreatedAnswer>> {
  const ids = new Map<string, AnchorId>();
  for (const event of events) {
    if (event.status === "replayed") ids.set(bytesToHex(event.anchorId), event.anchorId);
  }
  const answers = new Map<string, CreatedAnswer>();
  if (ids.size === 0) return answers;
  const found = await readProvedAnchors([...ids.values()], request, dependencies);
  for (const { anchorId, anchor, receipt } of found.values()) {
    answers.set(bytesToHex(anchorId), { anchor, receipt, replayed: true });
  }
  return answers;
}

function replayedAnswer(replayed: ReadonlyMap<string, CreatedAnswer>, anchorId: string): CreatedAnswer {
  const answer = replayed.get(anchorId);
  if (answer === undefined) throw new Error(`replayed anchor ${anchorId} is not in the tables`);
  return answer;
}

function createdStatus(answer: CreatedAnswer): 200 | 201 | 202 {
  if (answer.receipt === null) return 202;
  return answer.replayed ? 200 : 201;
}

/** POST /v1/event-anchors */
export const createEventAnchor: Handler = async (request, dependencies) => {
  const { originFingerprint, ...event } = parsed(parseBody(createEventSchema, request.bodyText));
  const batch = { originFingerprint, events: [event], isAtomic: false };
  const { results } = await recordEvents(request, dependencies, batch, () => "");
  const [result] = results;
  if (result === undefined) throw new Error("one event, no result");
  if (result.kind === "refused") throw new ProblemError(result.problem);
  const headers = { Location: `/v1/event-anchors/${result.anchorId}` };
  return { status: createdStatus(result.answer), json: result.answer, headers };
};

function itemJson(result: ItemResult): BatchItemResult {
  switch (result.kind) {
    case "created":
      return { status: createdStatus(result.answer), ...result.answer };
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

/** POST /v1/event-anchors/batch */
export const createEventAnchors: Handler = async (request, dependencies) => {
  const batch = parsed(parseBody(createBatchSchema, request.bodyText));
  const recorded = await recordEvents(request, dependencies, batch, (index) => `/events/${index}`);
  const results = recorded.results.map(itemJson);
  const json: CreatedBatchAnswer = { results, summary: summaryOf(results) };
  if (recorded.isRefused) throw new ProblemError({ code: "batch_refused" }, { extension: json });
  return { status: 200, json };
};
