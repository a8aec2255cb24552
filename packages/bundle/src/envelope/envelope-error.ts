export type EnvelopeErrorCode =
  /** More bytes or nesting than ENVELOPE_LIMITS allows. */
  | "envelope_too_large"
  /** Not UTF-8, not JSON, half of a surrogate pair, or a number beyond the doubles. */
  | "envelope_json_invalid"
  /** Not an object of this format. */
  | "envelope_format_unknown"
  /** A number from 2^53 to 10^21, or an integer beyond 2^53 − 1: languages would read or round it differently. */
  | "envelope_number_unsafe"
  /** Not the one text of what it says: spaces, another order, escapes, repeated names. */
  | "envelope_not_canonical"
  /** A member is missing, unknown, or of another form; a value that is no JSON. */
  | "envelope_malformed";

/** Not an envelope, or not one that can be written. Match on `code`. */
export class EnvelopeError extends Error {
  readonly code: EnvelopeErrorCode;
  constructor(code: EnvelopeErrorCode, message: string) {
    super(message);
    this.name = "EnvelopeError";
    this.code = code;
  }
}
