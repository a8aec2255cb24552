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
import type { EventBody, SignedEventLeaf } from "@event-anchoring/protocol";
import type { EventInput, RecordEventsCommand, Signer } from "../entry/command.ts";
import { contentHashOf } from "./content-hash.ts";
import {
  judgeCredential,
  judgeOrigin,
  judgeOriginOpen,
  judgeReference,
  judgeSignatures,
  knownOrigin,
  replayOf,
} from "./decide-checks.ts";
import type { DecisionDraft, OriginDraft } from "./decision-draft.ts";
import type { CommandOutcome, RecordOutcome, LeafWrite } from "./decision.ts";
import { REFERENCE_RULES } from "@event-anchoring/records";
import { clientEventKeyWith, clientKeyPrefix } from "./facts.ts";
import type { ClientEventFact } from "./facts.ts";
import { reject } from "./rejection.ts";
import type { Rejection } from "./rejection.ts";
import { eventSignatures } from "../entry/command-signatures.ts";

/** Check 6: every reference exists at a lower sequence and is of its kind. */
function judgeReferences({ semanticAnchor }: EventInput, draft: DecisionDraft): Rejection | null {
  if (semanticAnchor === EMPTY_SEMANTIC_ANCHOR) return null;
  for (const { field, pointer, kind } of REFERENCE_RULES) {
    const reference = semanticAnchor[field];
    if (isZero(reference)) continue;
    const rejection = judgeReference(draft.anchor(reference), kind, pointer);
    if (rejection !== null) return rejection;
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

/** One object for all of them: most events are new and have no client event id. */
const NEW_AND_NAMELESS: Judged = { verdict: "new", key: null, contentHash: null };

/** Client event ids that earlier items of this batch will take, with their content. */
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
 * @param prefix clientKeyPrefix of the API client, if any event of the batch has a client event id
 */
function judgeEvent(event: EventInput, prefix: string, batch: BatchClaims, draft: DecisionDraft): Judged {
  const unproven =
    judgeOrigin(event.originFingerprint, draft) ?? // 2
    (event.actor === null ? null : judgeSignatures(eventSignatures(event), draft)); // 3
  if (unproven !== null) return { verdict: "rejected", rejection: unproven };
  const { clientEventId, actor } = event;
  const key = clientEventId === null ? null : clientEventKeyWith(prefix, clientEventId);
  const contentHash = key === null ? null : contentHashOf(event, actor?.publicKey ?? null, draft.crypto.sha256);
  if (key !== null && contentHash !== null) {
    const judged = judgeIdempotency(key, contentHash, batch, draft); // 4
    if (judged !== null) return judged;
  }
  const rejection =
    judgeOriginOpen(event.originFingerprint, draft) ?? // 5
    judgeReferences(event, draft); // 6
  if (rejection !== null) return { verdict: "rejected", rejection };
  return key === null ? NEW_AND_NAMELESS : { verdict: "new", key, contentHash };
}

function judgeBatch(command: RecordEventsCommand, draft: DecisionDraft): Judged[] {
  const batch: BatchClaims = new Map();
  const isNamed = command.events.some(({ clientEventId }) => clientEventId !== null);
  const prefix = isNamed ? clientKeyPrefix(command.credential.apiClientId) : "";
  return command.events.map((event, position) => {
    const judged = judgeEvent(event, prefix, batch, draft);
    if (judged.verdict === "new" && judged.key !== null && judged.contentHash !== null)
      batch.set(judged.key, { position, contentHash: judged.contentHash });
    return judged;
  });
}

type NewEvent = Judged & { readonly verdict: "new" };

function appendSigned(origin: OriginDraft, body: EventBody, actor: Signer, draft: DecisionDraft): LeafWrite {
  const signed = { ...body, actorPublicKey: actor.publicKey, actorSignature: actor.signature };
  return draft.append(origin, (header): SignedEventLeaf => ({ kind: LEAF_KIND.signedEvent, ...header, ...signed }))
    .write;
}

/** Appends one event, and remembers its client event id. */
function appendEvent(event: EventInput, judged: NewEvent, apiClientId: Uint8Array, draft: DecisionDraft): LeafWrite {
  const origin = knownOrigin(event.originFingerprint, draft);
  const { key, contentHash } = judged;
  const { eventHash, semanticAnchor, clientEventId, clientEventSalt: salt, actor } = event;
  const isNamed = clientEventId !== null && salt !== null;
  const body: EventBody = {
    eventHash,
    semanticAnchor,
    clientEventCommit: isNamed ? clientEventCommit(salt, clientEventId, draft.crypto.sha256) : ZERO_32,
  };
  const write = actor === null ? draft.appendEvent(origin, body) : appendSigned(origin, body, actor, draft);
  if (isNamed && key !== null && contentHash !== null) {
    const { anchorId, originFingerprint, sequence } = write;
    draft.addClientEvent(key, { apiClientId, clientEventId, salt, anchorId, originFingerprint, sequence, contentHash });
  }
  return write;
}

const BATCH_REFUSED: Rejection = reject("batch_refused", "another item of this atomic batch was refused");

function refuseBatch(judged: readonly Judged[]): RecordOutcome[] {
  return judged.map((item): RecordOutcome => {
    if (item.verdict === "replayed") return replayOf(item.first);
    return { status: "rejected", rejection: item.verdict === "rejected" ? item.rejection : BATCH_REFUSED };
  });
}

/** @param outcomes those of the earlier items */
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
  command.events.forEach((event, position) => {
    const item = judged[position];
    if (item === undefined) throw new RangeError("every event is judged");
    outcomes.push(appendItem(event, item, apiClientId, outcomes, draft));
  });
  return outcomes;
}

/** A batch is judged as a whole before anything of it is appended: its items cannot refer to one another. */
export function decideRecordEvents(command: RecordEventsCommand, draft: DecisionDraft): CommandOutcome {
  const rejection = judgeCredential(command.credential, ["write"], draft);
  if (rejection !== null) return { kind: "rejected", rejection };
  const judged = judgeBatch(command, draft);
  const refused = command.atomic && judged.some((item) => item.verdict === "rejected");
  const records = refused ? refuseBatch(judged) : appendBatch(command, judged, draft);
  return { kind: "records", refused, records };
}
