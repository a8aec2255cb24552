import { InvalidBytesError, bytesToUtf8 } from "@event-anchoring/protocol";
import { canonicalJson, isList } from "../json/canonical-json.ts";
import type { BundleJson } from "../json/strict-json.ts";
import { hasLoneSurrogate } from "../json/strict-json.ts";
import { isUnsafeNumber } from "./content-json.ts";
import { EnvelopeError } from "./envelope-error.ts";
import { ENVELOPE_FORMAT, ENVELOPE_LIMITS } from "./envelope.ts";
import type { Envelope, EnvelopeAttachment } from "./envelope.ts";
import { assertMembers } from "./envelope-members.ts";

type EnvelopeMembers = ReadonlyMap<string, BundleJson>;

const MEMBERS = [
  "attachments",
  "content",
  "content_hash",
  "content_size",
  "content_type",
  "format",
  "salt",
  "what",
  "when",
  "who",
];
const ATTACHMENT_MEMBERS = ["content_type", "hash", "name", "size"];

function malformed(what: string): EnvelopeError {
  return new EnvelopeError("envelope_malformed", what);
}

function invalid(what: string): EnvelopeError {
  return new EnvelopeError("envelope_json_invalid", what);
}

/** Before the parser is asked: brackets outside of strings, whether they match or not. */
function assertNesting(text: string): void {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (isInString) {
      if (character === "\\") at++;
      else if (character === '"') isInString = false;
    } else if (character === '"') isInString = true;
    else if (character === "[" || character === "{") depth++;
    else if (character === "]" || character === "}") depth--;
    const { nestingMax } = ENVELOPE_LIMITS;
    if (depth > nestingMax) throw new EnvelopeError("envelope_too_large", `nested deeper than ${nestingMax}`);
  }
}

function jsonOf(bytes: Uint8Array): { readonly text: string; readonly value: BundleJson } {
  try {
    const text = bytesToUtf8(bytes);
    assertNesting(text);
    return { text, value: JSON.parse(text) as BundleJson };
  } catch (error) {
    if (error instanceof InvalidBytesError) throw invalid("it is not UTF-8");
    if (error instanceof SyntaxError) throw invalid("it is no JSON");
    throw error;
  }
}

/** Calls `look` for every text, name and number. */
function walk(value: BundleJson, look: (part: string | number) => void): void {
  if (typeof value === "string" || typeof value === "number") look(value);
  else if (typeof value === "object" && value !== null) {
    if (!isList(value)) Object.keys(value).forEach(look);
    for (const member of Object.values(value) as readonly BundleJson[]) walk(member, look);
  }
}

/** @returns whether a number is unsafe @throws EnvelopeError `envelope_json_invalid` */
function hasUnsafeNumber(value: BundleJson): boolean {
  let isUnsafe = false;
  walk(value, (part) => {
    if (typeof part === "string" && hasLoneSurrogate(part)) throw invalid("a text holds half of a surrogate pair");
    if (typeof part !== "number") return;
    if (!Number.isFinite(part)) throw invalid("a number is beyond the doubles");
    isUnsafe ||= isUnsafeNumber(part);
  });
  return isUnsafe;
}

function membersOf(value: BundleJson, known: readonly string[], where: string): EnvelopeMembers {
  if (typeof value !== "object" || value === null || isList(value)) throw malformed(`${where} is no object`);
  const members = new Map(Object.entries(value));
  const unknown = [...members.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) throw malformed(`${where} has ${JSON.stringify(unknown)}, which nothing is known of`);
  return members;
}

/** Values whose form assertMembers looks at: absent ones are of no form. */
function attachmentOf(value: BundleJson): EnvelopeAttachment {
  const members = membersOf(value, ATTACHMENT_MEMBERS, "an attachment");
  const [contentType, hash, name, size] = ATTACHMENT_MEMBERS.map((member) => members.get(member));
  return { contentType, hash, name, size } as unknown as EnvelopeAttachment;
}

function attachmentsOf(value: BundleJson | undefined): readonly EnvelopeAttachment[] {
  if (value === undefined) return [];
  if (!isList(value) || value.length === 0) throw malformed("attachments is no list of one or more");
  return value.map(attachmentOf);
}

function contentOf(members: EnvelopeMembers): Envelope["content"] {
  const isApart = members.has("content_hash") || members.has("content_size");
  const json = members.get("content");
  if ((json !== undefined) === isApart) throw malformed("it has content, or content_hash and content_size");
  if (json !== undefined) return { json };
  const [hash, size] = [members.get("content_hash"), members.get("content_size")];
  return { hash, size } as unknown as Envelope["content"];
}

/** An optional member; a null that is written out is no value. */
function optional(members: EnvelopeMembers, name: string): string | null {
  const value = members.get(name);
  if (value === undefined) return null;
  if (typeof value !== "string") throw malformed(`${name} is no text`);
  return value;
}

/**
 * Reads an envelope, which may be attacker-controlled. What is returned is exactly what the bytes say: there is one
 * text of one envelope.
 * @throws EnvelopeError
 */
export function parseEnvelope(bytes: Uint8Array): Envelope {
  const { bytesMax } = ENVELOPE_LIMITS;
  if (bytes.length > bytesMax) throw new EnvelopeError("envelope_too_large", `over ${bytesMax} bytes`);
  const { text, value } = jsonOf(bytes);
  const isUnsafe = hasUnsafeNumber(value);
  const isObject = typeof value === "object" && value !== null && !isList(value);
  if (!isObject || new Map(Object.entries(value)).get("format") !== ENVELOPE_FORMAT) {
    throw new EnvelopeError("envelope_format_unknown", `it is no object whose format is ${ENVELOPE_FORMAT}`);
  }
  if (isUnsafe) throw new EnvelopeError("envelope_number_unsafe", "a number is from 2^53 to 10^21");
  if (canonicalJson(value) !== text) throw new EnvelopeError("envelope_not_canonical", "it is not in canonical JSON");
  const members = membersOf(value, MEMBERS, "it");
  const envelope = {
    what: members.get("what"),
    when: members.get("when"),
    who: optional(members, "who"),
    contentType: members.get("content_type"),
    content: contentOf(members),
    attachments: attachmentsOf(members.get("attachments")),
    salt: optional(members, "salt"),
  } as unknown as Envelope;
  assertMembers(envelope);
  return envelope;
}
