/** Events: judged in the order of docs/PROTOCOL.md, "Deciding", then appended. */
import {
  EMPTY_SEMANTIC_ANCHOR,
  LEAF_KIND,
  ZERO_32,
  assertNever,
  clientEventCommit,
  equalBytes,
  isZero,
} from "@event-anchoring/protocol";
import type { AnchorId } from "@event-anchoring/protocol";
import { isLiveApiKey } from "./api-key.ts";
import type { Credential, EventInput, RecordEventsCommand, Scope } from "./command.ts";
import type { DecisionDraft } from "./decision-draft.ts";
import type { CommandOutcome, RecordOutcome, LeafWrite } from "./decision.ts";
import { REFERENCE_RULES, clientEventKeyWith, clientKeyPrefix, contentHashOf } from "./facts.ts";
import type { ClientEventFact } from "./facts.ts";
import { reject } from "./rejection.ts";
import type { Rejection } from "./rejection.ts";

/** Check 1: the key is live with the scope at this position of the log; what the api saw earlier does not count. */
export function judgeCredential(credential: Credential, scope: Scope, draft: DecisionDraft): Rejection | null {
  const key = draft.apiKey(credential.keyId);
  if (key === null) return reject("api_key_invalid", "no such API key");
  if (!equalBytes(key.apiClientId, credential.apiClientId))
    return reject("api_key_invalid", "the API key belongs to another API client");
  if (!isLiveApiKey(key, draft.acceptedMs)) return reject("api_key_invalid", "the API key is revoked or expired");
  if (!key.scopes.includes(scope)) return reject("scope_missing", `the API key has no scope ${scope}`);
  return null;
}

/** Check 6: every reference exists at a lower sequence and is of its kind. */
function judgeReferences(event: EventInput, draft: DecisionDraft): Rejection | null {
  for (const { field, pointer, kind } of REFERENCE_RULES) {
    const reference = event.semanticAnchor[field];
    if (isZero(reference)) continue;
    const anchor = draft.anchor(reference);
    if (anchor === null) return reject("reference_not_found", "no anchor has this id", pointer);
    if (kind !== null && anchor.kind !== kind)
      return reject("reference_wrong_kind", `expected kind ${kind}, found kind ${anchor.kind}`, pointer);
  }
  return null;
}

/** An event before it is appended. */
type Judged =
  | { readonly verdict: "new"; readonly key: string | null; readonly contentHash: Uint8Array | null }
  | { readonly verdict: "replayed"; readonly first: ClientEventFact }
  /** The same as an item before it in this batch. */
  | { readonly verdict: "repeated"; readonly position: number }
  | { readonly verdict: "rejected"; readonly rejection: Rejection };

/** Client event ids that earlier items of this batch will take, with what they take them for. */
type BatchClaims = Map<string, { readonly position: number; readonly contentHash: Uint8Array }>;

const CONFLICT: Rejection = reject(
  "client_event_id_conflict",
  "this client event id was used for other content",
  "/client_event_id",
);

/** Check 4: null if the client event id is free. */
function judgeIdempotency(
  key: string,
  contentHash: Uint8Array,
  batch: BatchClaims,
  draft: DecisionDraft,
): Judged | null {
  const first = draft.clientEvent(key);
  if (first !== null) {
    return equalBytes(first.contentHash, contentHash)
      ? { verdict: "replayed", first }
      : { verdict: "rejected", rejection: CONFLICT };
  }
  const earlier = batch.get(key);
  if (earlier === undefined) return null;
  return equalBytes(earlier.contentHash, contentHash)
    ? { verdict: "repeated", position: earlier.position }
    : { verdict: "rejected", rejection: CONFLICT };
}

/**
 * Checks 2 to 6 of one event. Checks 7 and 8 have nothing to judge in events.
 * @param prefix clientKeyPrefix of the API client
 */
function judgeEvent(event: EventInput, prefix: string, batch: BatchClaims, draft: DecisionDraft): Judged {
  const origin = draft.origin(event.originFingerprint);
  if (origin === null) {
    const rejection = reject("origin_unknown", "no trust root lists this origin", "/origin_fingerprint");
    return { verdict: "rejected", rejection };
  }
  const { clientEventId } = event;
  const key = clientEventId === null ? null : clientEventKeyWith(prefix, clientEventId);
  const contentHash = key === null ? null : contentHashOf(event, null, draft.crypto.sha256);
  if (key !== null && contentHash !== null) {
    const judged = judgeIdempotency(key, contentHash, batch, draft);
    if (judged !== null) return judged;
  }
  if (origin.status !== "active") {
    const rejection = reject("origin_closed", `the origin is ${origin.status}`, "/origin_fingerprint");
    return { verdict: "rejected", rejection };
  }
  const rejection = event.semanticAnchor === EMPTY_SEMANTIC_ANCHOR ? null : judgeReferences(event, draft);
  return rejection === null ? { verdict: "new", key, contentHash } : { verdict: "rejected", rejection };
}

function judgeBatch(command: RecordEventsCommand, draft: DecisionDraft): Judged[] {
  const batch: BatchClaims = new Map();
  const prefix = clientKeyPrefix(command.credential.apiClientId);
  return command.events.map((event, position) => {
    const judged = judgeEvent(event, prefix, batch, draft);
    if (judged.verdict === "new" && judged.key !== null && judged.contentHash !== null)
      batch.set(judged.key, { position, contentHash: judged.contentHash });
    return judged;
  });
}

type NewEvent = Judged & { readonly verdict: "new" };

/** Appends one event, and remembers its client event id. */
function appendEvent(event: EventInput, judged: NewEvent, apiClientId: Uint8Array, draft: DecisionDraft): LeafWrite {
  const origin = draft.origin(event.originFingerprint);
  if (origin === null) throw new RangeError("a judged event has an origin");
  const { key, contentHash } = judged;
  const { eventHash, semanticAnchor, clientEventId, clientEventSalt: salt } = event;
  const isNamed = clientEventId !== null && salt !== null;
  const commit = isNamed ? clientEventCommit(salt, clientEventId, draft.crypto.sha256) : ZERO_32;
  const leaf = draft.append(origin, (header) => ({
    kind: LEAF_KIND.event,
    ...header,
    eventHash,
    semanticAnchor,
    clientEventCommit: commit,
  }));
  if (isNamed && key !== null && contentHash !== null) {
    const { anchorId, originFingerprint, sequence } = leaf;
    const write = { apiClientId, clientEventId, salt, anchorId, originFingerprint, sequence, contentHash };
    draft.addClientEvent(key, write);
  }
  return leaf;
}

function replayOf(first: {
  readonly anchorId: AnchorId;
  readonly originFingerprint: LeafWrite["originFingerprint"];
  readonly sequence: number;
}): RecordOutcome {
  const { anchorId, originFingerprint, sequence } = first;
  return { status: "replayed", anchorId, originFingerprint, sequence };
}

const BATCH_REFUSED: Rejection = reject("batch_refused", "another item of this atomic batch was refused");

function refuseBatch(judged: readonly Judged[]): RecordOutcome[] {
  return judged.map((item): RecordOutcome => {
    if (item.verdict === "replayed") return replayOf(item.first);
    return { status: "rejected", rejection: item.verdict === "rejected" ? item.rejection : BATCH_REFUSED };
  });
}

/** @param outcomes those of the items before it */
function appendItem(
  event: EventInput,
  item: Judged,
  apiClientId: Uint8Array,
  outcomes: readonly RecordOutcome[],
  draft: DecisionDraft,
): RecordOutcome {
  switch (item.verdict) {
    case "new": {
      const leaf = appendEvent(event, item, apiClientId, draft);
      return { status: "accepted", leaf, clientEventSalt: event.clientEventSalt };
    }
    case "replayed":
      return replayOf(item.first);
    case "repeated": {
      const first = outcomes[item.position];
      if (first?.status !== "accepted") throw new RangeError("an item repeats one that was accepted");
      return replayOf(first.leaf);
    }
    case "rejected":
      return { status: "rejected", rejection: item.rejection };
    default:
      return assertNever(item);
  }
}

function appendBatch(command: RecordEventsCommand, judged: readonly Judged[], draft: DecisionDraft): RecordOutcome[] {
  const { apiClientId } = command.credential;
  const outcomes: RecordOutcome[] = [];
  for (const [position, event] of command.events.entries()) {
    const item = judged[position];
    if (item === undefined) throw new RangeError("every event is judged");
    outcomes.push(appendItem(event, item, apiClientId, outcomes, draft));
  }
  return outcomes;
}

/** A batch is judged as a whole before anything of it is appended: its items cannot refer to one another. */
export function decideRecordEvents(command: RecordEventsCommand, draft: DecisionDraft): CommandOutcome {
  const rejection = judgeCredential(command.credential, "write", draft);
  if (rejection !== null) return { kind: "rejected", rejection };
  const judged = judgeBatch(command, draft);
  const refused = command.atomic && judged.some((item) => item.verdict === "rejected");
  const records = refused ? refuseBatch(judged) : appendBatch(command, judged, draft);
  return { kind: "records", refused, records };
}
