/** The routes of events, and of anchors of every kind. */
import { receiptSchema } from "./anchor-schema.ts";
import {
  anchorAnswerSchema,
  consistencySchema,
  createdBatchSchema,
  createdSchema,
  erasedSchema,
  eventListSchema,
  latestSchema,
} from "./answers.ts";
import { traceSchema, verifiedBatchSchema, verifiedSchema } from "./authority-answers.ts";
import { LIMITS } from "./limits.ts";
import type { ProblemCode } from "./problems.ts";
import {
  anchorPathSchema,
  consistencyQuerySchema,
  createBatchSchema,
  createEventSchema,
  emptyBodySchema,
  latestQuerySchema,
  listQuerySchema,
  proofQuerySchema,
  traceQuerySchema,
  verifyBatchSchema,
  verifyEventSchema,
} from "./requests.ts";
import { PROOF_PROBLEMS, READ_PROBLEMS, VERIFY_PROBLEMS, WRITE_PROBLEMS, WRITING, route } from "./route.ts";

const CREATE_EVENT_PROBLEMS: readonly ProblemCode[] = [
  ...WRITE_PROBLEMS,
  "client_event_id_invalid",
  "origin_unknown",
  "signature_invalid",
  "client_event_id_conflict",
  "origin_closed",
  "reference_not_found",
  "reference_wrong_kind",
];

export const EVENT_WRITES = [
  route({
    ...WRITING,
    id: "createEventAnchor",
    path: "/v1/event-anchors",
    tag: "events",
    summary: "Create an event anchor",
    description:
      "Anchors the hash of an event, with references to what authorised it. The answer is 201 once a majority " +
      "of the nodes has stored the anchor durably and a quorum has co-signed it. With a `client_event_id` the " +
      "same request can be repeated, at any node, until it is answered: the event is anchored once. With " +
      "`actor_public_key` and `actor_signature` it is a signed event.",
    scopes: ["write"],
    bodySchema: createEventSchema,
    answers: { 200: createdSchema, 201: createdSchema, 202: createdSchema },
    problems: CREATE_EVENT_PROBLEMS,
  }),
  route({
    ...WRITING,
    id: "createEventAnchors",
    path: "/v1/event-anchors/batch",
    tag: "events",
    summary: "Create event anchors in one batch",
    description:
      "Each item has the status it would have had alone. A malformed item refuses the whole request; with " +
      "`atomic: true` so does an item that the ledger refuses. A batch is decided as a unit, so its items " +
      "cannot refer to one another. With `receipts: shared` the answer has each checkpoint once: smaller, and the " +
      "same receipts.",
    scopes: ["write"],
    bodySchema: createBatchSchema,
    bodyBytesMax: LIMITS.batchBodyBytesMax,
    timeoutMs: LIMITS.batchTimeoutMs,
    answers: { 200: createdBatchSchema },
    problems: [...CREATE_EVENT_PROBLEMS, "batch_too_many_signatures", "batch_refused"],
  }),
  route({
    id: "eraseClientEventId",
    method: "POST",
    path: "/v1/event-anchors/{anchor_id}/erase-client-event-id",
    tag: "events",
    summary: "Erase the clear text of a client_event_id",
    description:
      "Takes `client_event_id` and its salt out of every node. The anchor and its commitment stay, and the " +
      "id stays taken. Sending it again changes nothing. An API client erases the ids of its own events.",
    scopes: ["admin"],
    pathSchema: anchorPathSchema,
    bodySchema: emptyBodySchema,
    isBodyOptional: true,
    timeoutMs: LIMITS.writeTimeoutMs,
    answers: { 200: erasedSchema },
    problems: [...WRITE_PROBLEMS, "anchor_not_found", "wrong_kind", "not_own_record"],
  }),
] as const;

export const EVENT_READS = [
  route({
    id: "verifyEventAnchor",
    method: "POST",
    path: "/v1/event-anchors:verify",
    tag: "events",
    summary: "Verify anchor integrity and depth",
    description:
      "Checks an anchor of any kind. Each check has its own result; `valid` sums up those that decide. With " +
      "`proof=true` the answer carries what proves the anchor offline, and what a trace says of it.",
    scopes: ["read"],
    querySchema: proofQuerySchema,
    bodySchema: verifyEventSchema,
    answers: { 200: verifiedSchema },
    problems: [...VERIFY_PROBLEMS, ...PROOF_PROBLEMS, "anchor_not_found", "origin_lost"],
  }),
  route({
    id: "verifyEventAnchors",
    method: "POST",
    path: "/v1/event-anchors:batchVerify",
    tag: "events",
    summary: "Verify event anchors in one batch",
    description: "Each item is checked as it would be alone. An unknown id is the problem of its item.",
    scopes: ["read"],
    bodySchema: verifyBatchSchema,
    bodyBytesMax: LIMITS.batchBodyBytesMax,
    timeoutMs: LIMITS.batchTimeoutMs,
    answers: { 200: verifiedBatchSchema },
    problems: [...VERIFY_PROBLEMS, "origin_lost"],
  }),
  route({
    id: "listEventAnchors",
    method: "GET",
    path: "/v1/event-anchors",
    tag: "events",
    summary: "List certified events by hash, claim, grant or client_event_id",
    description:
      "Give exactly one filter. Items are certified and ascend by `sequence`; a page never changes once it is " +
      "full. `certified` says how far the list reaches.",
    scopes: ["read"],
    querySchema: listQuerySchema,
    answers: { 200: eventListSchema },
    problems: [...READ_PROBLEMS, "client_event_id_invalid", "anchor_not_found", "wrong_kind", "client_event_id_erased"],
  }),
  route({
    id: "getLatestEventAnchor",
    method: "GET",
    path: "/v1/event-anchors/latest",
    tag: "events",
    summary: "Read the current latest anchor (the EEA) of one origin",
    description:
      "Linearizable: never older than any answer given before the request came, on any node. With `after_size` " +
      "and `wait` it comes as soon as the tree is larger, or in the end as it is: a request that waits takes the " +
      "place of a feed.",
    scopes: ["read"],
    querySchema: latestQuerySchema,
    answers: { 200: latestSchema },
    problems: [...READ_PROBLEMS, "origin_unknown", "no_anchor_yet", "from_size_ahead"],
  }),
  route({
    id: "getConsistency",
    method: "GET",
    path: "/v1/event-anchors/consistency",
    tag: "events",
    summary: "Prove that one tree is the beginning of another",
    description: "The RFC 6962 consistency proof between two certified sizes of one origin, with the roots of both.",
    scopes: ["read"],
    querySchema: consistencyQuerySchema,
    answers: { 200: consistencySchema },
    problems: [...READ_PROBLEMS, "origin_unknown", "from_size_ahead"],
  }),
  route({
    id: "getEventAnchor",
    method: "GET",
    path: "/v1/event-anchors/{anchor_id}",
    tag: "events",
    summary: "Read one anchor, of any kind, with its receipt",
    description:
      "The `Location` of every write. With `Prefer: respond-async` it answers at once, with `finality: " +
      "committed` and `receipt: null` while the anchor is not certified. With `Prefer: witnessed` the receipt is " +
      "under the newest head that enough witnesses have cosigned, if one covers the anchor in time.",
    scopes: ["read"],
    pathSchema: anchorPathSchema,
    preferences: ["respond-async", "witnessed"],
    answers: { 200: anchorAnswerSchema },
    problems: [...READ_PROBLEMS, "anchor_not_found"],
  }),
  route({
    id: "getReceipt",
    method: "GET",
    path: "/v1/event-anchors/{anchor_id}/receipt",
    tag: "events",
    summary: "Renew a receipt: JSON, or C2SP tlog-proof as text/plain",
    description:
      "Under the newest certificate of its origin; with `Prefer: witnessed` under the newest head that enough " +
      "witnesses have cosigned, if one covers the anchor in time. `Accept: text/plain` asks for the canonical form.",
    scopes: ["read"],
    isOpenOnPublicLog: true,
    pathSchema: anchorPathSchema,
    preferences: ["witnessed"],
    answers: { 200: receiptSchema },
    mediaTypes: ["text/plain"],
    problems: [...READ_PROBLEMS, "anchor_not_found", "origin_lost"],
  }),
  route({
    id: "traceEventAnchor",
    method: "GET",
    path: "/v1/event-anchors/{anchor_id}/trace",
    tag: "events",
    summary: "Trace the chain of an anchor",
    description:
      "From an event back to who acted, who delegated and within what bounds: judged at the event's own " +
      "position, and as of now or of `as_of`. Authority is recorded, not required, so a trace may say that " +
      "there was none. With `proof=true` the answer carries what proves its verdicts offline.",
    scopes: ["read"],
    pathSchema: anchorPathSchema,
    querySchema: traceQuerySchema,
    answers: { 200: traceSchema },
    problems: [...READ_PROBLEMS, ...PROOF_PROBLEMS, "as_of_future", "anchor_not_found", "origin_lost"],
  }),
] as const;
