/** Which values the members of an envelope may have. */
import { hasLoneSurrogate } from "../json/strict-json.ts";
import { ENVELOPE_LIMITS } from "./envelope.ts";
import type { Envelope, EnvelopeAttachment } from "./envelope.ts";
import { EnvelopeError } from "./envelope-error.ts";

const HEX_32 = /^[0-9a-f]{64}$/;
/** U+0000 to U+001F and U+007F to U+009F: none may reach a terminal. */
const CONTROL = /\p{Cc}/u;
/** RFC 9110 section 8.3.1: two tokens, and parameters, which are not looked into. */
const MEDIA_TYPE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+\/[!#$%&'*+.^_`|~0-9A-Za-z-]+)(?: *;[\x20-\x7e]*)?$/;
const WHEN = /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;
const DAYS_OF_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function malformed(where: string, what: string): EnvelopeError {
  return new EnvelopeError("envelope_malformed", `${where} ${what}`);
}

function assertText(text: unknown, where: string): void {
  const { textMax } = ENVELOPE_LIMITS;
  if (typeof text !== "string") throw malformed(where, "is no text");
  // A code point has one or two units: most texts need not be counted.
  const isLong = text.length > textMax && Array.from(text).length > textMax;
  if (text === "" || isLong) throw malformed(where, `has not 1 to ${textMax} characters`);
  if (CONTROL.test(text)) throw malformed(where, "holds a control character");
  if (hasLoneSurrogate(text)) throw malformed(where, "holds half of a surrogate pair");
}

/** @returns the type without its parameters */
function assertMediaType(text: unknown, where: string): string {
  const { textMax } = ENVELOPE_LIMITS;
  const [, type] = typeof text === "string" && text.length <= textMax ? (MEDIA_TYPE.exec(text) ?? []) : [];
  if (type === undefined) throw malformed(where, "is no media type");
  return type;
}

function assertHash(hash: unknown, where: string): void {
  if (typeof hash !== "string" || !HEX_32.test(hash)) throw malformed(where, "is not 64 lower-case hex digits");
}

function assertSize(size: unknown, where: string): void {
  const isCount = typeof size === "number" && Number.isSafeInteger(size) && size >= 0;
  if (!isCount) throw malformed(where, "is no integer from 0 to 2^53 - 1");
}

/** A time that the calendar has, from 1970 on. */
function assertWhen(when: unknown): void {
  const [, year, month, day] = typeof when === "string" ? (WHEN.exec(when) ?? []) : [];
  const [y, m, d] = [Number(year), Number(month), Number(day)];
  const isLeap = y % 4 === 0 && (y % 100 !== 0 || y % 400 === 0);
  const days = m === 2 && isLeap ? 29 : (DAYS_OF_MONTH[m - 1] ?? 0);
  if (!(y >= 1970 && d >= 1 && d <= days)) throw malformed("when", "is no time such as 2026-11-23T10:00:00.000Z");
}

function assertAttachments(attachments: readonly EnvelopeAttachment[]): void {
  const { attachmentsMax } = ENVELOPE_LIMITS;
  if (attachments.length > attachmentsMax) throw malformed("attachments", `are more than ${attachmentsMax}`);
  for (const { name, contentType, size, hash } of attachments) {
    assertText(name, "the name of an attachment");
    assertMediaType(contentType, "the content_type of an attachment");
    assertSize(size, "the size of an attachment");
    assertHash(hash, "the hash of an attachment");
  }
  const names = new Set(attachments.map(({ name }) => name));
  if (names.size < attachments.length) throw malformed("attachments", "have one name twice");
}

/** All members but JSON content. @throws EnvelopeError `envelope_malformed` */
export function assertMembers({ what, when, who, contentType, content, attachments, salt }: Envelope): void {
  assertText(what, "what");
  assertWhen(when);
  if (who !== null) assertText(who, "who");
  const type = assertMediaType(contentType, "content_type");
  if (!("json" in content)) {
    assertHash(content.hash, "content_hash");
    assertSize(content.size, "content_size");
  } else if (type !== "application/json" && !type.endsWith("+json")) {
    throw malformed("content_type", "is no JSON, and content is");
  }
  assertAttachments(attachments);
  if (salt !== null) assertHash(salt, "salt");
}
