/**
 * Commands as bytes. One value has one encoding: what would decode and encode to other bytes is refused, so that a
 * command may be compared, hashed and counted by its bytes.
 */
import {
  ByteReader,
  ByteWriter,
  DecodeError,
  EMPTY_SEMANTIC_ANCHOR,
  assertNever,
  asciiToBytes,
  bytesToAscii,
  bytesToUtf8,
  equalBytes,
  isEmptySemanticAnchor,
  toOriginFingerprint,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import type { OriginFingerprint, SemanticAnchor } from "@event-anchoring/protocol";
import { SCOPES } from "./command.ts";
import type { Command, CommandKind, CreateApiKeyCommand, EventInput, RecordEventsCommand, Scope } from "./command.ts";
import { LIMITS } from "./limits.ts";

const COMMAND_VERSION = 1;
const COMMAND_TAG: Readonly<Record<CommandKind, number>> = {
  genesis: 1,
  trust_root: 2,
  record_events: 3,
  create_api_key: 4,
  mark_certify_point: 5,
};

const EVENT_SAME_ORIGIN = 1;
const EVENT_HAS_SEMANTIC_ANCHOR = 2;
const EVENT_HAS_CLIENT_ID = 4;
const EVENT_FLAGS = EVENT_SAME_ORIGIN | EVENT_HAS_SEMANTIC_ANCHOR | EVENT_HAS_CLIENT_ID;

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

/** Why a text may not stand in a command, or null. */
function textFault(text: string, charsMin: number, charsMax: number): string | null {
  if (text.length < charsMin || text.length > charsMax)
    return `expected ${charsMin} to ${charsMax} characters, got ${text.length}`;
  return PRINTABLE_ASCII.test(text) ? null : "expected printable ASCII";
}

function writeText(writer: ByteWriter, text: string, charsMin: number, charsMax: number): void {
  const fault = textFault(text, charsMin, charsMax);
  if (fault !== null) throw new RangeError(fault);
  writer.u8(text.length).bytes(asciiToBytes(text));
}

function readText(reader: ByteReader, charsMin: number, charsMax: number): string {
  const bytes = reader.view(reader.u8());
  if (bytes.some((byte) => byte > 0x7e)) throw new DecodeError("value_invalid", "not ASCII");
  const text = bytesToAscii(bytes);
  const fault = textFault(text, charsMin, charsMax);
  if (fault !== null) throw new DecodeError("value_invalid", fault);
  return text;
}

function writeDocument(writer: ByteWriter, document: string): void {
  const bytes = utf8ToBytes(document);
  if (bytes.length > LIMITS.trustRootBytesMax)
    throw new RangeError(`a trust root of ${bytes.length} bytes is too large`);
  writer.lengthPrefixed32(bytes);
}

function readDocument(reader: ByteReader): string {
  const length = reader.u32();
  if (length > LIMITS.trustRootBytesMax)
    throw new DecodeError("length_wrong", `a trust root of ${length} bytes is too large`);
  try {
    return bytesToUtf8(reader.view(length));
  } catch (error) {
    if (error instanceof DecodeError) throw error;
    throw new DecodeError("value_invalid", "the trust root is not UTF-8");
  }
}

function writeFlag(writer: ByteWriter, flag: boolean): void {
  writer.u8(flag ? 1 : 0);
}

/** A boolean has two encodings and no more. */
export function readFlag(reader: ByteReader): boolean {
  const flag = reader.u8();
  if (flag > 1) throw new DecodeError("value_invalid", `a flag is 0 or 1, got ${flag}`);
  return flag === 1;
}

function writeEvent(writer: ByteWriter, event: EventInput, previousOrigin: OriginFingerprint | null): void {
  const isSameOrigin = previousOrigin !== null && equalBytes(previousOrigin, event.originFingerprint);
  const hasAnchor = !isEmptySemanticAnchor(event.semanticAnchor);
  const { clientEventId, clientEventSalt } = event;
  if ((clientEventId === null) !== (clientEventSalt === null))
    throw new RangeError("a salt is drawn if and only if there is a client event id");
  writer.u8(
    (isSameOrigin ? EVENT_SAME_ORIGIN : 0) |
      (hasAnchor ? EVENT_HAS_SEMANTIC_ANCHOR : 0) |
      (clientEventId === null ? 0 : EVENT_HAS_CLIENT_ID),
  );
  if (!isSameOrigin) writer.bytes(event.originFingerprint, 32);
  writer.bytes(event.eventHash, 32);
  if (hasAnchor) writeSemanticAnchor(writer, event.semanticAnchor);
  if (clientEventId !== null && clientEventSalt !== null) {
    writeText(writer, clientEventId, 1, LIMITS.clientEventIdCharsMax);
    writer.bytes(clientEventSalt, 32);
  }
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
  const flags = reader.u8();
  if ((flags & ~EVENT_FLAGS) !== 0) throw new DecodeError("value_invalid", `unknown event flags ${flags}`);
  const originFingerprint = readEventOrigin(reader, (flags & EVENT_SAME_ORIGIN) !== 0, previousOrigin);
  const eventHash = reader.bytes(32);
  const semanticAnchor = (flags & EVENT_HAS_SEMANTIC_ANCHOR) === 0 ? EMPTY_SEMANTIC_ANCHOR : readSemanticAnchor(reader);
  if ((flags & EVENT_HAS_CLIENT_ID) === 0)
    return {
      originFingerprint,
      eventHash,
      semanticAnchor,
      clientEventId: null,
      clientEventSalt: null,
    };
  const clientEventId = readText(reader, 1, LIMITS.clientEventIdCharsMax);
  return {
    originFingerprint,
    eventHash,
    semanticAnchor,
    clientEventId,
    clientEventSalt: reader.bytes(32),
  };
}

function writeRecordEvents(writer: ByteWriter, command: RecordEventsCommand): void {
  const { events } = command;
  if (events.length < 1 || events.length > LIMITS.batchEventsMax)
    throw new RangeError(`a batch has 1 to ${LIMITS.batchEventsMax} events, got ${events.length}`);
  writer.bytes(command.credential.apiClientId, 16).bytes(command.credential.keyId, 16);
  writeFlag(writer, command.atomic);
  writer.u16(events.length);
  let previousOrigin: OriginFingerprint | null = null;
  for (const event of events) {
    writeEvent(writer, event, previousOrigin);
    previousOrigin = event.originFingerprint;
  }
}

function readRecordEvents(reader: ByteReader): RecordEventsCommand {
  const credential = { apiClientId: reader.bytes(16), keyId: reader.bytes(16) };
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

/** Scopes as bits, in the order of SCOPES. @throws RangeError for none, or one named twice */
export function scopesToBits(scopes: readonly Scope[]): number {
  let bits = 0;
  for (const scope of scopes) {
    const bit = 1 << SCOPES.indexOf(scope);
    if ((bits & bit) !== 0) throw new RangeError(`scope ${scope} is named twice`);
    bits |= bit;
  }
  if (bits === 0) throw new RangeError("a key has at least one scope");
  return bits;
}

/** @throws RangeError for 0 and for bits that stand for no scope */
export function scopesFromBits(bits: number): Scope[] {
  if (!Number.isInteger(bits) || bits < 1 || bits >= 1 << SCOPES.length)
    throw new RangeError(`no scopes have the bits ${bits}`);
  return SCOPES.filter((_, position) => (bits & (1 << position)) !== 0);
}

function writeCreateApiKey(writer: ByteWriter, command: CreateApiKeyCommand): void {
  const { key } = command;
  writeText(writer, command.operator, 1, LIMITS.labelCharsMax);
  writer.bytes(key.keyHash, 32).bytes(key.apiClientId, 16);
  writeText(writer, key.label, 0, LIMITS.labelCharsMax);
  writer.u8(scopesToBits(key.scopes)).u64(key.expiresMs);
}

function readCreateApiKey(reader: ByteReader): CreateApiKeyCommand {
  const operator = readText(reader, 1, LIMITS.labelCharsMax);
  const keyHash = reader.bytes(32);
  const apiClientId = reader.bytes(16);
  const label = readText(reader, 0, LIMITS.labelCharsMax);
  const bits = reader.u8();
  if (bits < 1 || bits >= 1 << SCOPES.length) throw new DecodeError("value_invalid", `no scopes have the bits ${bits}`);
  const expiresMs = reader.u64();
  const key = { keyHash, apiClientId, label, scopes: scopesFromBits(bits), expiresMs };
  return { kind: "create_api_key", operator, key };
}

export function writeCommand(writer: ByteWriter, command: Command): void {
  writer.u8(COMMAND_VERSION).u8(COMMAND_TAG[command.kind]);
  switch (command.kind) {
    case "genesis":
    case "trust_root":
      writeDocument(writer, command.document);
      return;
    case "record_events":
      writeRecordEvents(writer, command);
      return;
    case "create_api_key":
      writeCreateApiKey(writer, command);
      return;
    case "mark_certify_point":
      return;
    default:
      assertNever(command);
  }
}

export function readCommand(reader: ByteReader): Command {
  const version = reader.u8();
  if (version !== COMMAND_VERSION) throw new DecodeError("value_invalid", `unknown command version ${version}`);
  const commandTag = reader.u8();
  switch (commandTag) {
    case COMMAND_TAG.genesis:
      return { kind: "genesis", document: readDocument(reader) };
    case COMMAND_TAG.trust_root:
      return { kind: "trust_root", document: readDocument(reader) };
    case COMMAND_TAG.record_events:
      return readRecordEvents(reader);
    case COMMAND_TAG.create_api_key:
      return readCreateApiKey(reader);
    case COMMAND_TAG.mark_certify_point:
      return { kind: "mark_certify_point" };
    default:
      throw new DecodeError("kind_unknown", `unknown command ${commandTag}`);
  }
}

/** @throws RangeError if a field is out of its bounds */
export function encodeCommand(command: Command): Uint8Array {
  const writer = new ByteWriter(256);
  writeCommand(writer, command);
  return writer.finish();
}

/** Reads bytes that may be attacker-controlled. @throws DecodeError */
export function decodeCommand(bytes: Uint8Array): Command {
  const reader = new ByteReader(bytes);
  const command = readCommand(reader);
  reader.finish();
  return command;
}
