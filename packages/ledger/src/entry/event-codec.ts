/** Batches of events as bytes. */
import {
  DecodeError,
  EMPTY_SEMANTIC_ANCHOR,
  equalBytes,
  isEmptySemanticAnchor,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import type { ByteReader, ByteWriter, OriginFingerprint, SemanticAnchor } from "@event-anchoring/protocol";
import {
  readCredential,
  readFlag,
  readFlags,
  readSigner,
  readText,
  writeCredential,
  writeFlag,
  writeSigner,
  writeText,
} from "./field-codec.ts";
import type { EventInput, RecordEventsCommand } from "./command.ts";
import { LIMITS } from "./limits.ts";

const EVENT_SAME_ORIGIN = 1;
const EVENT_HAS_SEMANTIC_ANCHOR = 2;
const EVENT_HAS_CLIENT_ID = 4;
const EVENT_HAS_ACTOR = 8;
const EVENT_FLAGS = EVENT_SAME_ORIGIN | EVENT_HAS_SEMANTIC_ANCHOR | EVENT_HAS_CLIENT_ID | EVENT_HAS_ACTOR;

function writeEvent(writer: ByteWriter, event: EventInput, previousOrigin: OriginFingerprint | null): void {
  const isSameOrigin = previousOrigin !== null && equalBytes(previousOrigin, event.originFingerprint);
  const hasAnchor = !isEmptySemanticAnchor(event.semanticAnchor);
  const { clientEventId, clientEventSalt, actor } = event;
  if ((clientEventId === null) !== (clientEventSalt === null))
    throw new RangeError("a salt is drawn if and only if there is a client event id");
  writer.u8(
    (isSameOrigin ? EVENT_SAME_ORIGIN : 0) |
      (hasAnchor ? EVENT_HAS_SEMANTIC_ANCHOR : 0) |
      (clientEventId === null ? 0 : EVENT_HAS_CLIENT_ID) |
      (actor === null ? 0 : EVENT_HAS_ACTOR),
  );
  if (!isSameOrigin) writer.bytes(event.originFingerprint, 32);
  writer.bytes(event.eventHash, 32);
  if (hasAnchor) writeSemanticAnchor(writer, event.semanticAnchor);
  if (clientEventId !== null && clientEventSalt !== null) {
    writeText(writer, clientEventId, 1, LIMITS.clientEventIdCharsMax);
    writer.bytes(clientEventSalt, 32);
  }
  if (actor !== null) writeSigner(writer, actor);
}

function writeSemanticAnchor(writer: ByteWriter, anchor: SemanticAnchor): void {
  writer
    .bytes(anchor.irisRef, 32)
    .bytes(anchor.scrollRef, 32)
    .bytes(anchor.grantRef, 32)
    .bytes(anchor.bondRef, 32)
    .bytes(anchor.yieldRef, 32)
    .bytes(anchor.eventDataHash, 32);
}

function readSemanticAnchor(reader: ByteReader): SemanticAnchor {
  const anchor: SemanticAnchor = {
    irisRef: reader.bytes(32),
    scrollRef: reader.bytes(32),
    grantRef: reader.bytes(32),
    bondRef: reader.bytes(32),
    yieldRef: reader.bytes(32),
    eventDataHash: reader.bytes(32),
  };
  if (isEmptySemanticAnchor(anchor)) throw new DecodeError("value_invalid", "an empty semantic anchor is left out");
  return anchor;
}

function readEventOrigin(
  reader: ByteReader,
  isSameOrigin: boolean,
  previousOrigin: OriginFingerprint | null,
): OriginFingerprint {
  if (isSameOrigin) {
    if (previousOrigin === null) throw new DecodeError("value_invalid", "the first event names its origin");
    return previousOrigin;
  }
  const origin = toOriginFingerprint(reader.bytes(32));
  if (previousOrigin !== null && equalBytes(previousOrigin, origin))
    throw new DecodeError("value_invalid", "a repeated origin is left out");
  return origin;
}

function readEvent(reader: ByteReader, previousOrigin: OriginFingerprint | null): EventInput {
  const flags = readFlags(reader, EVENT_FLAGS);
  const hasClientId = (flags & EVENT_HAS_CLIENT_ID) !== 0;
  // Fields are read in the order in which they are listed.
  return {
    originFingerprint: readEventOrigin(reader, (flags & EVENT_SAME_ORIGIN) !== 0, previousOrigin),
    eventHash: reader.bytes(32),
    semanticAnchor: (flags & EVENT_HAS_SEMANTIC_ANCHOR) === 0 ? EMPTY_SEMANTIC_ANCHOR : readSemanticAnchor(reader),
    clientEventId: hasClientId ? readText(reader, 1, LIMITS.clientEventIdCharsMax) : null,
    clientEventSalt: hasClientId ? reader.bytes(32) : null,
    actor: (flags & EVENT_HAS_ACTOR) === 0 ? null : readSigner(reader),
  };
}

/** @throws RangeError if a field is out of its bounds */
export function writeRecordEvents(writer: ByteWriter, command: RecordEventsCommand): void {
  const { events } = command;
  if (events.length < 1 || events.length > LIMITS.batchEventsMax)
    throw new RangeError(`a batch has 1 to ${LIMITS.batchEventsMax} events, got ${events.length}`);
  writeCredential(writer, command.credential);
  writeFlag(writer, command.atomic);
  writer.u16(events.length);
  let previousOrigin: OriginFingerprint | null = null;
  for (const event of events) {
    writeEvent(writer, event, previousOrigin);
    previousOrigin = event.originFingerprint;
  }
}

/** Reads bytes that may be attacker-controlled. @throws DecodeError */
export function readRecordEvents(reader: ByteReader): RecordEventsCommand {
  const credential = readCredential(reader);
  const atomic = readFlag(reader);
  const count = reader.u16();
  if (count < 1 || count > LIMITS.batchEventsMax) throw new DecodeError("value_invalid", `a batch of ${count} events`);
  const events: EventInput[] = [];
  let previousOrigin: OriginFingerprint | null = null;
  for (let position = 0; position < count; position++) {
    const event = readEvent(reader, previousOrigin);
    events.push(event);
    previousOrigin = event.originFingerprint;
  }
  return { kind: "record_events", credential, atomic, events };
}
