/** The canonical JSON (RFC 8785) of a value that a program gives, which may be anything. */
import { hasLoneSurrogate } from "../json/strict-json.ts";
import { EnvelopeError } from "./envelope-error.ts";

/** What an event's content may be: JSON. Members that are undefined are left out, as JSON.stringify does. */
export type JsonContent =
  | string
  | number
  | boolean
  | null
  | readonly JsonContent[]
  | { readonly [name: string]: JsonContent | undefined };

/** From here on RFC 8785 writes an exponent, so that nobody takes the number for an integer. */
const EXPONENT_FROM = 1e21;

/** Whether another language could read its text as an integer, which a double may have rounded. */
export function isUnsafeNumber(value: number): boolean {
  const size = Math.abs(value);
  return size > Number.MAX_SAFE_INTEGER && size < EXPONENT_FROM;
}

function malformed(where: string, what: string): EnvelopeError {
  return new EnvelopeError("envelope_malformed", `${where} ${what}`);
}

/** @param where names the text in an error @throws EnvelopeError */
export function canonicalText(text: string, where: string): string {
  const quoted = JSON.stringify(text);
  // JSON.stringify escapes half of a pair: texts without this escape need no second look.
  if (quoted.includes("\\ud") && hasLoneSurrogate(text)) throw malformed(where, "holds half of a surrogate pair");
  return quoted;
}

function canonicalNumber(value: number, where: string): string {
  if (!Number.isFinite(value)) throw malformed(where, "is not finite");
  if (isUnsafeNumber(value)) throw new EnvelopeError("envelope_number_unsafe", `${where} is a number beyond 2^53 - 1`);
  // -0 is written 0, and every other number as ECMAScript writes it: RFC 8785 section 3.2.2.3.
  return String(value);
}

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null) return true;
  // The prototype that has none itself: an object of another realm has one too.
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, "isPrototypeOf");
}

function canonicalList(values: readonly unknown[], where: string, depthLeft: number): string {
  let text = "[";
  for (let at = 0; at < values.length; at++) {
    if (at > 0) text += ",";
    text += canonicalContent(values[at], where, depthLeft);
  }
  return `${text}]`;
}

/**
 * Checks and writes in one walk: the caller of `record` waits for it.
 * @param where names the value in an error
 * @param depthLeft how many more lists and objects may be opened
 * @throws EnvelopeError
 */
export function canonicalContent(value: unknown, where: string, depthLeft: number): string {
  if (typeof value === "string") return canonicalText(value, where);
  if (typeof value === "number") return canonicalNumber(value, where);
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "bigint") {
    throw new EnvelopeError("envelope_number_unsafe", `${where} is a bigint: make it a number or a text`);
  }
  const isKnown = typeof value === "object" && (Array.isArray(value) || isPlainObject(value));
  if (!isKnown) throw malformed(where, "is no JSON value");
  if (depthLeft === 0) throw new EnvelopeError("envelope_too_large", `${where} is nested too deep`);
  if (Array.isArray(value)) return canonicalList(value, where, depthLeft - 1);
  const members = value as Readonly<Record<string, unknown>>;
  let text = "{";
  for (const name of Object.keys(members).sort()) {
    const member = members[name];
    if (member === undefined) continue;
    if (text.length > 1) text += ",";
    text += `${canonicalText(name, "a name")}:${canonicalContent(member, name, depthLeft - 1)}`;
  }
  return `${text}}`;
}
