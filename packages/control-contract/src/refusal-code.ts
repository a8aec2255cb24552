import { DecodeError } from "@event-anchoring/protocol";

/**
 * Why a node cannot take, or cannot answer for, a request right now. Each is a stable code that callers match on.
 * The position in this list is the byte on the wire: new codes go to the end, none is ever removed.
 *
 * - `outcome_unknown`: it was proposed, and it is not known whether it will be applied. Ask again with the same id.
 * - `overloaded`, `no_leader`, `certification_stalled`, `clock_unsafe`, `not_initialised`, `unavailable`, `fenced`,
 *   `storage_full`, `deadline_exceeded`, `too_large`, `origin_contradicted`: it was not proposed, and will have no
 *   effect.
 */
export const REFUSAL_CODES = [
  "outcome_unknown",
  "overloaded",
  "no_leader",
  "certification_stalled",
  "clock_unsafe",
  "not_initialised",
  "unavailable",
  "fenced",
  "storage_full",
  "deadline_exceeded",
  "too_large",
  "origin_contradicted",
] as const;

export type RefusalCode = (typeof REFUSAL_CODES)[number];

/** How long a caller waits before it asks again, if the refusal has no better value. */
export const RETRY_AFTER_MS = 1000;

export function refusalCodeToByte(code: RefusalCode): number {
  return REFUSAL_CODES.indexOf(code);
}

/** @throws DecodeError `kind_unknown` */
export function refusalCodeFromByte(byte: number): RefusalCode {
  const code = REFUSAL_CODES[byte];
  if (code === undefined) throw new DecodeError("kind_unknown", `refusal code ${byte}`);
  return code;
}
