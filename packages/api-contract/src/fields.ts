/**
 * The fields that requests are made of, each parsed from its wire form into bytes or bounded values. What a schema
 * states in its pattern and bounds is what is checked; the few rules beyond that are in its description.
 */
import {
  EMPTY_SEMANTIC_ANCHOR,
  REVOCATION_REASONS,
  ZERO_32,
  hexToBytes,
  toAnchorId,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import type { SemanticAnchor } from "@event-anchoring/protocol";
import { z } from "zod";
import { LIMITS } from "./limits.ts";
import { RFC_3339, RFC_3339_MS_MAX, parseRfc3339 } from "./rfc3339.ts";

/** Either case; what is decoded is the same, so nothing that is hashed depends on it. */
const HEX_32 = /^[0-9a-fA-F]{64}$/;
const HEX_32_OR_EMPTY = /^(?:[0-9a-fA-F]{64})?$/;
const HEX_64 = /^[0-9a-fA-F]{128}$/;
/** An unsigned 32-bit integer in hexadecimal. */
const HEX_U32 = /^0x[0-9a-fA-F]{1,8}$/;
const DIGITS = /^(?:0|[1-9][0-9]{0,15})$/;
const U32_DIGITS_OR_HEX = /^(?:0|[1-9][0-9]{0,9}|0x[0-9a-fA-F]{1,8})$/;
/** Printable ASCII: no two client_event_ids look alike and differ, or differ and have equal UTF-8. */
export const PRINTABLE = { first: 0x20, last: 0x7e } as const;
const PRINTABLE_RANGE = `\\x${PRINTABLE.first.toString(16)}-\\x${PRINTABLE.last.toString(16)}`;
const CLIENT_EVENT_ID = new RegExp(`^[${PRINTABLE_RANGE}]{1,${LIMITS.clientEventIdCharsMax}}$`);
const DOCS_ASSET = /^[a-z0-9][a-z0-9._-]{0,63}$/;
/** Opaque to clients: base64url. */
const LIST_CURSOR = /^[A-Za-z0-9_-]{1,64}$/;

const hexText = z.string().regex(HEX_32, "64 hex digits are expected");

export const hash32 = hexText.transform((text) => hexToBytes(text, 32));
export const anchorIdField = hexText.transform((text) => toAnchorId(hexToBytes(text, 32)));
export const originField = hexText.transform((text) => toOriginFingerprint(hexToBytes(text, 32)));
export const signatureField = z
  .string()
  .regex(HEX_64, "128 hex digits are expected")
  .transform((text) => hexToBytes(text, 64));

/** Absent, null, "" and 64 zeros all mean empty: zeros after parsing. */
export const referenceField = z
  .string()
  .regex(HEX_32_OR_EMPTY, "64 hex digits, or nothing, are expected")
  .nullish()
  .transform((text) => (text === null || text === undefined || text === "" ? ZERO_32 : hexToBytes(text, 32)));

/** A semantic anchor as it is sent, its references parsed. */
export interface WireSemanticAnchor {
  readonly iris_ref: Uint8Array;
  readonly scroll_ref: Uint8Array;
  readonly grant_ref: Uint8Array;
  readonly bond_ref: Uint8Array;
  readonly yield_ref: Uint8Array;
  readonly event_data_hash: Uint8Array;
}

export function semanticAnchorOf(anchor: WireSemanticAnchor | null | undefined): SemanticAnchor {
  if (anchor === null || anchor === undefined) return EMPTY_SEMANTIC_ANCHOR;
  return {
    irisRef: anchor.iris_ref,
    scrollRef: anchor.scroll_ref,
    grantRef: anchor.grant_ref,
    bondRef: anchor.bond_ref,
    yieldRef: anchor.yield_ref,
    eventDataHash: anchor.event_data_hash,
  };
}

const ANY_REFERENCE = "Any earlier anchor of your choice, or empty; the service gives it no further meaning.";

export const semanticAnchorField = z
  .strictObject({
    iris_ref: referenceField.describe("The ClaimAnchor of the actor."),
    scroll_ref: referenceField.describe(ANY_REFERENCE),
    grant_ref: referenceField.describe("The GrantAnchor under which the actor acts."),
    bond_ref: referenceField.describe(ANY_REFERENCE),
    yield_ref: referenceField.describe(ANY_REFERENCE),
    event_data_hash: referenceField.describe(
      "32 bytes; equal to event_hash in the documented flow. Recorded unchanged.",
    ),
  })
  .meta({
    id: "SemanticAnchorInput",
    description:
      "References to older anchors. An absent field, null, an empty string and 64 zeros all mean empty; an " +
      "object in which all are empty is the same as none.",
  })
  .nullish()
  .transform(semanticAnchorOf);

const clientEventIdText = z
  .string("1 to 128 printable ASCII characters are expected")
  .regex(CLIENT_EVENT_ID, "1 to 128 printable ASCII characters are expected");

export const clientEventIdField = clientEventIdText.nullish().transform((id) => id ?? null);

export const clientEventIdQueryField = clientEventIdText.optional();

/** Unix milliseconds; absent and null mean 0, not stated. */
export const timeMsField = z
  .number()
  .int()
  .min(0)
  .nullish()
  .transform((timeMs) => timeMs ?? 0);

export const unsigned32Field = z.number().int().min(0).max(LIMITS.unsigned32Max);

const ATTRIBUTE_TYPE_EXPECTED = "an integer of 32 bits, or 0x and 1 to 8 hex digits, is expected";

export const attributeTypeField = z
  .union([unsigned32Field, z.string().regex(HEX_U32)], ATTRIBUTE_TYPE_EXPECTED)
  .transform(Number);

/** In a query a bare value is decimal. */
export const attributeTypeQueryField = z
  .string()
  .regex(U32_DIGITS_OR_HEX, ATTRIBUTE_TYPE_EXPECTED)
  .transform((text, context): number => {
    const value = Number(text);
    if (value <= LIMITS.unsigned32Max) return value;
    context.addIssue({ code: "custom", message: ATTRIBUTE_TYPE_EXPECTED });
    return z.NEVER;
  });

/** Index into REVOCATION_REASONS; 0 if absent. */
export const revocationReasonField = z
  .enum(REVOCATION_REASONS)
  .nullish()
  .transform((reason) => REVOCATION_REASONS.indexOf(reason ?? "unspecified"));

/**
 * A position in the log: a sequence number, or the last leaf accepted no later than a time; or both, as an earlier
 * answer was judged at.
 */
export type AsOf =
  | { readonly kind: "sequence"; readonly sequence: number }
  | { readonly kind: "time"; readonly timeMs: number }
  | { readonly kind: "position"; readonly sequence: number; readonly timeMs: number };

/** Where a page of hops begins, and the position that all pages of one trace are judged at. */
export interface DelegationCursor {
  readonly hopsBefore: number;
  readonly asOf: Extract<AsOf, { readonly kind: "position" }>;
}

const DELEGATION_CURSOR = /^([1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,15})\.([1-9][0-9]{0,15})$/;

export function formatDelegationCursor({ hopsBefore, asOf }: DelegationCursor): string {
  return `${hopsBefore}.${asOf.sequence}.${asOf.timeMs}`;
}

/** Text that an earlier page gave; null if it is absent. */
export const delegationCursorQueryField = z
  .string()
  .optional()
  .transform((text, context): DelegationCursor | null => {
    if (text === undefined) return null;
    const [hopsBefore = 0, sequence = 0, timeMs = 0] = (DELEGATION_CURSOR.exec(text) ?? []).slice(1).map(Number);
    const isGood = hopsBefore > 0 && hopsBefore <= LIMITS.traceDelegationMax;
    if (isGood && sequence <= LIMITS.integerMax && timeMs <= RFC_3339_MS_MAX) {
      return { hopsBefore, asOf: { kind: "position", sequence, timeMs } };
    }
    context.addIssue({ code: "custom", message: "a cursor that an earlier page gave is expected" });
    return z.NEVER;
  })
  .meta({
    pattern: DELEGATION_CURSOR.source,
    description: "delegation_next_cursor of the page before. It overrides as_of. Opaque. Absent: the first hops.",
  });

function asOfTime(text: string): AsOf | null {
  const timeMs = parseRfc3339(text);
  return timeMs === null ? null : { kind: "time", timeMs };
}

const AS_OF_EXPECTED = "a sequence number, or an RFC 3339 time with offset, is expected";
const AS_OF = "The position to judge at: a sequence number, or an RFC 3339 time with offset. Absent: now.";

/** In a body a number is a sequence and a string is a time. */
export const asOfBodyField = z
  .union([z.number().int().min(0), z.string().regex(RFC_3339)], AS_OF_EXPECTED)
  .nullish()
  .transform((value, context): AsOf | null => {
    if (value === null || value === undefined) return null;
    if (typeof value === "number") return { kind: "sequence", sequence: value };
    const asOf = asOfTime(value);
    if (asOf === null) context.addIssue({ code: "custom", message: AS_OF_EXPECTED });
    return asOf;
  })
  .describe(`${AS_OF} A number is a sequence, a string a time.`);

/** In a query everything is text: digits are a sequence, anything else is a time. */
export const asOfQueryField = z
  .string()
  .optional()
  .transform((text, context): AsOf | null => {
    if (text === undefined) return null;
    const sequence = parseDigits(text);
    const asOf: AsOf | null = sequence === null ? asOfTime(text) : { kind: "sequence", sequence };
    if (asOf === null) context.addIssue({ code: "custom", message: AS_OF_EXPECTED });
    return asOf;
  })
  .meta({ pattern: `${DIGITS.source}|${RFC_3339.source}`, description: `${AS_OF} Digits are a sequence.` });

/** A safe integer written as digits only, without leading zeros; null for anything else. */
function parseDigits(text: string): number | null {
  if (!DIGITS.test(text)) return null;
  const value = Number(text);
  return value <= LIMITS.integerMax ? value : null;
}

function parseInteger(text: string, min: number, max: number): number | string {
  const value = parseDigits(text);
  return value !== null && value >= min && value <= max ? value : `digits from ${min} to ${max} are expected`;
}

/** An integer of a query, from `min` to `max`, that has to be there. */
export function integerQueryField(min: number, max: number = LIMITS.integerMax) {
  return z
    .string()
    .transform((text, context): number => {
      const value = parseInteger(text, min, max);
      if (typeof value === "number") return value;
      context.addIssue({ code: "custom", message: value });
      return z.NEVER;
    })
    .meta({ type: "integer", minimum: min, maximum: max });
}

/** The same that may be left out; null then. */
export function optionalIntegerQueryField(min: number, max: number = LIMITS.integerMax) {
  return integerQueryField(min, max)
    .optional()
    .transform((value) => value ?? null);
}

/** Anchor ids of a query, separated by commas. */
export const trustedRootsQueryField = z
  .string()
  .optional()
  .transform((text, context) => {
    if (text === undefined) return null;
    const ids = text.split(",");
    if (ids.length > LIMITS.trustedRootsMax || !ids.every((id) => HEX_32.test(id))) {
      const message = `1 to ${LIMITS.trustedRootsMax} anchor ids separated by commas are expected`;
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    }
    return ids.map((id) => toAnchorId(hexToBytes(id, 32)));
  })
  .meta({
    type: "array",
    items: { type: "string", pattern: HEX_32.source },
    minItems: 1,
    maxItems: LIMITS.trustedRootsMax,
    description: "ClaimAnchors whose lineages are trusted as roots of a delegation, separated by commas.",
  });

export const trustedRootsBodyField = z
  .array(anchorIdField)
  .min(1)
  .max(LIMITS.trustedRootsMax)
  .nullish()
  .transform((ids) => ids ?? null)
  .describe("ClaimAnchors whose lineages are trusted as roots of a delegation. Absent: root_authority is not checked.");

/** Text that an earlier page gave; what it means is the list's own affair. */
export const listCursorQueryField = z
  .string()
  .regex(LIST_CURSOR, "a cursor that an earlier page gave is expected")
  .optional()
  .transform((cursor) => cursor ?? null)
  .describe("next_cursor of the page before, with the same filter. Opaque. Absent: the first page.");

export const docsAssetField = z.string().regex(DOCS_ASSET, "the name of a file is expected");
