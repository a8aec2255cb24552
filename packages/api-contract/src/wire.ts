/** The scalars that answers are made of. */
import { z } from "zod";

/** 32 bytes, lower case. */
export const hex32 = z.string().regex(/^[0-9a-f]{64}$/);
/** 64 bytes, lower case. */
export const hex64 = z.string().regex(/^[0-9a-f]{128}$/);
export const base64 = z.string().regex(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/);
export const rfc3339 = z.string().regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/);
export const count = z.number().int().min(0);

const timeMs = "Unix milliseconds";

/** @param zero what 0 means */
export const timeMsOr = (zero: string) => count.describe(`${timeMs}; 0: ${zero}.`);

export const RECORD_STATES = ["active", "superseded", "revoked", "expired"] as const;

export type RecordStateName = (typeof RECORD_STATES)[number];

export const recordState = z.enum(RECORD_STATES);

/**
 * A word of a list that grows: clients take a word they do not know for one more of its kind.
 * @param known those of this version
 */
export function openWord(known: readonly string[], description: string) {
  return z.string().meta({ description: `${description} More values may be added.`, "x-extensible-enum": known });
}
