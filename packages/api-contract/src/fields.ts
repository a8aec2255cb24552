/** The fields that requests are made of, each parsed from its wire form into bytes or bounded values. */
import { EMPTY_SEMANTIC_ANCHOR, hexToBytes, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import type { SemanticAnchor } from "@event-anchoring/protocol";
import { z } from "zod";
import { LIMITS } from "./limits.ts";
import { parseRfc3339 } from "./rfc3339.ts";

/** Either case; what is decoded is the same, so nothing that is hashed depends on it. */
const HEX_32 = /^[0-9a-fA-F]{64}$/;
const HEX_32_OR_EMPTY = /^(?:[0-9a-fA-F]{64})?$/;
/** Printable ASCII: no two client_event_ids look alike and differ, or differ and have equal UTF-8. */
const CLIENT_EVENT_ID = new RegExp(`^[\\x20-\\x7e]{1,${LIMITS.clientEventIdCharsMax}}$`);

const hexText = z.string().regex(HEX_32, "64 hex digits are expected");

export const hash32 = hexText.transform((text) => hexToBytes(text, 32));
export const anchorIdField = hexText.transform((text) => toAnchorId(hexToBytes(text, 32)));
export const originField = hexText.transform((text) => toOriginFingerprint(hexToBytes(text, 32)));

/** Absent, null, "" and 64 zeros all mean empty: null, zeros and zeros after parsing. */
const reference = z
  .string()
  .regex(HEX_32_OR_EMPTY, "64 hex digits, or nothing, are expected")
  .nullish()
  .transform((text) =>
    text === null || text === undefined || text === "" ? EMPTY_SEMANTIC_ANCHOR.irisRef : hexToBytes(text, 32),
  );

export const semanticAnchorField = z
  .strictObject({
    iris_ref: reference,
    scroll_ref: reference,
    grant_ref: reference,
    bond_ref: reference,
    yield_ref: reference,
    event_data_hash: reference,
  })
  .nullish()
  .transform((anchor): SemanticAnchor =>
    anchor === null || anchor === undefined
      ? EMPTY_SEMANTIC_ANCHOR
      : {
          irisRef: anchor.iris_ref,
          scrollRef: anchor.scroll_ref,
          grantRef: anchor.grant_ref,
          bondRef: anchor.bond_ref,
          yieldRef: anchor.yield_ref,
          eventDataHash: anchor.event_data_hash,
        },
  );

export const clientEventIdField = z
  .string("1 to 128 printable ASCII characters are expected")
  .regex(CLIENT_EVENT_ID, "1 to 128 printable ASCII characters are expected")
  .nullish()
  .transform((id) => id ?? null);

/** A position in the log: a sequence number, or the last leaf accepted no later than a time. */
export type AsOf =
  | { readonly kind: "sequence"; readonly sequence: number }
  | { readonly kind: "time"; readonly timeMs: number };

function asOfTime(text: string): AsOf | null {
  const timeMs = parseRfc3339(text);
  return timeMs === null ? null : { kind: "time", timeMs };
}

const AS_OF_EXPECTED = "a sequence number, or an RFC 3339 time with offset, is expected";

/** In a body a number is a sequence and a string is a time. */
export const asOfBodyField = z
  .union([z.number().int().min(0), z.string()], AS_OF_EXPECTED)
  .nullish()
  .transform((value, context): AsOf | null => {
    if (value === null || value === undefined) return null;
    if (typeof value === "number") return { kind: "sequence", sequence: value };
    const asOf = asOfTime(value);
    if (asOf === null) context.addIssue({ code: "custom", message: AS_OF_EXPECTED });
    return asOf;
  });

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
  });

/** A safe integer written as digits only, without leading zeros; null for anything else. */
export function parseDigits(text: string): number | null {
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(text)) return null;
  const value = Number(text);
  return value <= LIMITS.integerMax ? value : null;
}

/** An integer of a query, from `min` to `max`. */
export function integerQueryField(min: number, max: number = LIMITS.integerMax) {
  return z
    .string()
    .optional()
    .transform((text, context): number | null => {
      if (text === undefined) return null;
      const value = parseDigits(text);
      if (value !== null && value >= min && value <= max) return value;
      context.addIssue({ code: "custom", message: `digits from ${min} to ${max} are expected` });
      return z.NEVER;
    });
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
  });
