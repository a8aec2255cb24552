/** From text to a typed request, or to the problem that says every place where the text is wrong. */
import type { z } from "zod";
import { jsonPointer, parseStrictJson } from "./json.ts";
import type { JsonValue } from "./json.ts";
import { LIMITS } from "./limits.ts";
import type { Problem, ProblemItem } from "./problems.ts";

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem };

/** More faults than these are not listed: an answer stays small whatever was sent. */
const ITEMS_MAX = 32;

/** Where a parsed value came from; it decides how a fault names its place. */
type Source = "body" | "query" | "path";

type Issue = z.core.$ZodIssue;

function isMissing(issue: Issue, input: unknown): boolean {
  let value = input;
  for (const part of issue.path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return true;
    value = (value as Record<PropertyKey, unknown>)[part];
  }
  return value === undefined;
}

function itemCode(issue: Issue, input: unknown): string {
  switch (issue.code) {
    case "invalid_type":
    case "invalid_union":
      return isMissing(issue, input) ? "required" : "wrong_type";
    case "unrecognized_keys":
      return "unknown_field";
    case "too_big":
      return "too_large";
    case "too_small":
      return "too_small";
    default:
      return "wrong_format";
  }
}

function itemDetail(issue: Issue, code: string): string {
  if (code === "required") return "this field is required";
  if (code === "unknown_field") return "there is no such field";
  if (issue.code === "invalid_type") return `${issue.expected} is expected`;
  return issue.message;
}

function place(source: Source, path: readonly PropertyKey[]): { pointer: string } | { parameter: string } {
  return source === "body" ? { pointer: jsonPointer(path) } : { parameter: String(path[0] ?? "") };
}

/** One item per fault; of unknown fields of one object the first: the others would say the same. */
function itemsOf(issues: readonly Issue[], input: unknown, source: Source): ProblemItem[] {
  const items: ProblemItem[] = [];
  for (const issue of issues) {
    const code = itemCode(issue, input);
    const detail = itemDetail(issue, code);
    const unknown = issue.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
    items.push({ ...place(source, [...issue.path, ...unknown]), code, detail });
    if (items.length === ITEMS_MAX) break;
  }
  return items;
}

/** A fault of nothing but client_event_ids has a code of its own: clients may repair it without a person. */
function problemOf(issues: readonly Issue[], input: unknown, source: Source): Problem {
  const isOfClientEventIds = issues.every((issue) => issue.path.at(-1) === "client_event_id");
  return {
    code: isOfClientEventIds ? "client_event_id_invalid" : "invalid_request",
    errors: itemsOf(issues, input, source),
  };
}

function parseWith<T>(schema: z.ZodType<T>, input: unknown, source: Source): Parsed<T> {
  const result = schema.safeParse(input);
  if (result.success) return { ok: true, value: result.data };
  return { ok: false, problem: problemOf(result.error.issues, input, source) };
}

/** Counted before a single item is looked at: a list of a million empty items must not cost a million faults. */
function oversizedList(value: JsonValue): Problem | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  for (const [key, field] of Object.entries(value)) {
    if (!Array.isArray(field) || field.length <= LIMITS.batchItemsMax) continue;
    const detail = `${LIMITS.batchItemsMax} items are allowed, ${field.length} were sent`;
    return { code: "invalid_request", errors: [{ pointer: jsonPointer([key]), code: "too_large", detail }] };
  }
  return null;
}

/** Parses the text of a body; attacker-controlled and bounded by the route's limit of bytes. */
export function parseBody<T>(schema: z.ZodType<T>, text: string): Parsed<T> {
  const json = parseStrictJson(text);
  if (!json.ok) {
    const { pointer, code, detail } = json.fault;
    return { ok: false, problem: { code: "json_invalid", errors: [{ pointer, code, detail }] } };
  }
  const oversized = oversizedList(json.value);
  if (oversized !== null) return { ok: false, problem: oversized };
  return parseWith(schema, json.value, "body");
}

function queryFault(parameter: string, code: string, detail: string): Parsed<never> {
  return { ok: false, problem: { code: "invalid_request", errors: [{ parameter, code, detail }] } };
}

function decodeComponent(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}

/**
 * Parses a query string, without its question mark. Percent-encoding is the only encoding: a plus sign is a plus sign,
 * so that the offset of a time may be written as it is. A repeated parameter is refused.
 */
export function parseQuery<T>(schema: z.ZodType<T>, search: string): Parsed<T> {
  const fields = new Map<string, string>();
  for (const pair of search === "" ? [] : search.split("&")) {
    const split = pair.indexOf("=");
    const name = decodeComponent(split < 0 ? pair : pair.slice(0, split));
    const value = decodeComponent(split < 0 ? "" : pair.slice(split + 1));
    if (name === null || value === null) return queryFault("", "wrong_format", "broken percent-encoding");
    if (name === "__proto__") return queryFault(name, "unknown_field", "there is no such field");
    if (fields.has(name)) return queryFault(name, "duplicate_key", "the parameter is repeated");
    fields.set(name, value);
  }
  return parseWith(schema, Object.fromEntries(fields), "query");
}

/** Parses path parameters that the router has already decoded. */
export function parsePath<T>(schema: z.ZodType<T>, parameters: Readonly<Record<string, unknown>>): Parsed<T> {
  return parseWith(schema, { ...parameters }, "path");
}

/** What `Prefer` (RFC 7240) asks for. Preferences that are not understood are ignored, as it says. */
export interface Preferences {
  /** Seconds to wait for certification; null = the route's own timeout. */
  readonly waitSeconds: number | null;
  /** Answer 202 as soon as the anchor is committed. */
  readonly respondAsync: boolean;
  /** Wait for a head that enough witnesses have cosigned. */
  readonly witnessed: boolean;
}

export function parsePrefer(header: string | undefined): Preferences {
  let waitSeconds: number | null = null;
  let respondAsync = false;
  let witnessed = false;
  for (const part of (header ?? "").split(",")) {
    const preference = part.trim().toLowerCase();
    const wait = /^wait\s*=\s*"?([0-9]{1,9})"?$/.exec(preference);
    if (preference === "respond-async") respondAsync = true;
    else if (preference === "witnessed") witnessed = true;
    else if (wait !== null && waitSeconds === null && Number(wait[1]) >= LIMITS.preferWaitSecondsMin) {
      waitSeconds = Math.min(Number(wait[1]), LIMITS.preferWaitSecondsMax);
    }
  }
  return { waitSeconds, respondAsync, witnessed };
}
