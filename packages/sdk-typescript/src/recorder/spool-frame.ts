/** The bytes of a spool: docs/recorder.md, "The spool". The same in every language, by test/vectors/spool.json. */
import { crc32 } from "./crc32.ts";
import { SpoolCorrupt } from "./errors.ts";

/** Length, its CRC, and the CRC of the body. */
const HEADER_BYTES = 12;
/** Kind, id, whether there is content, and the length of the fields. */
const BODY_BYTES_MIN = 1 + 16 + 1 + 4;
/** More than any event has: a length above is spoiled. */
const BODY_BYTES_MAX = 64 * 1024 * 1024;
const KIND_EVENT = 1;
const ID_BYTES = 16;

/** An event that waits to be anchored. */
export interface SpooledEvent {
  /** 16 bytes. The service knows them as 32 lower-case hex digits. */
  readonly id: Uint8Array;
  /** Bytes that the envelope names by their hash; null: there are none. */
  readonly content: Uint8Array | null;
  /** What the request says beside the hash: canonical JSON of an object. */
  readonly fields: Uint8Array;
  readonly envelope: Uint8Array;
}

/** Bytes of the frame of an event. */
export function frameLength({ content, fields, envelope }: Omit<SpooledEvent, "id">): number {
  const contentBytes = content === null ? 0 : 4 + content.length;
  return HEADER_BYTES + BODY_BYTES_MIN + contentBytes + fields.length + envelope.length;
}

/** Writes a frame. @param target has room for it @returns where it ends */
export function writeFrame(target: Buffer, start: number, event: SpooledEvent): number {
  const { id, content, fields, envelope } = event;
  const body = start + HEADER_BYTES;
  let at = target.writeUInt8(KIND_EVENT, body);
  target.set(id, at);
  at = target.writeUInt8(content === null ? 0 : 1, at + ID_BYTES);
  if (content !== null) {
    at = target.writeUInt32BE(content.length, at);
    target.set(content, at);
    at += content.length;
  }
  at = target.writeUInt32BE(fields.length, at);
  target.set(fields, at);
  at += fields.length;
  target.set(envelope, at);
  at += envelope.length;
  target.writeUInt32BE(at - body, start);
  target.writeUInt32BE(crc32(target, start, start + 4), start + 4);
  target.writeUInt32BE(crc32(target, body, at), start + 8);
  return at;
}

/** What a file holds. */
interface SpoolContent {
  readonly events: readonly SpooledEvent[];
  /** Where the last whole frame ends. What is behind was cut off while it was written, and is no event. */
  readonly length: number;
}

/** A frame at an offset: its event and end; null: it is torn, so the file ends here. @throws SpoolCorrupt */
function frameAt(file: Buffer, start: number): { readonly event: SpooledEvent; readonly end: number } | null {
  const body = start + HEADER_BYTES;
  if (body > file.length) return null;
  const length = file.readUInt32BE(start);
  const isLength = crc32(file, start, start + 4) === file.readUInt32BE(start + 4);
  if (!isLength || length < BODY_BYTES_MIN || length > BODY_BYTES_MAX) {
    // A file system that lost power may have made a file longer, and not written it.
    if (file.subarray(start).every((byte) => byte === 0)) return null;
    throw new SpoolCorrupt(start, "a frame has a spoiled length");
  }
  const end = body + length;
  if (end > file.length) return null;
  if (crc32(file, body, end) !== file.readUInt32BE(start + 8)) {
    if (end === file.length) return null;
    throw new SpoolCorrupt(start, "a frame has a spoiled body");
  }
  return { event: eventOf(file.subarray(body, end), start), end };
}

/** @param start of the frame, for the error @throws SpoolCorrupt */
function eventOf(body: Buffer, start: number): SpooledEvent {
  const malformed = (): SpoolCorrupt => new SpoolCorrupt(start, "a frame of another form");
  let at = 1 + ID_BYTES;
  const hasContent = body.readUInt8(at);
  if (body.readUInt8(0) !== KIND_EVENT || hasContent > 1) throw malformed();
  at++;
  const part = (): Buffer => {
    if (at + 4 > body.length) throw malformed();
    const from = at + 4;
    at = from + body.readUInt32BE(at);
    if (at > body.length) throw malformed();
    return body.subarray(from, at);
  };
  const id = body.subarray(1, 1 + ID_BYTES);
  const content = hasContent === 1 ? part() : null;
  const fields = part();
  return { id, content, fields, envelope: body.subarray(at) };
}

/**
 * Reads a file of the spool.
 * @throws SpoolCorrupt a frame is spoiled that is not the last one
 */
export function readSpool(file: Buffer): SpoolContent {
  const events: SpooledEvent[] = [];
  let length = 0;
  for (let frame = frameAt(file, 0); frame !== null; frame = frameAt(file, length)) {
    events.push(frame.event);
    length = frame.end;
  }
  return { events, length };
}
