export type ScopeErrorCode =
  /** More bytes, statements or nesting than SCOPE_LIMITS allows. */
  | "scope_too_large"
  /** Not JSON, or JSON that two readers could read differently: a repeated name, a number that is not digits only. */
  | "scope_json_invalid"
  /** Another format, or another version of it. */
  | "scope_format_unknown"
  /** A member is missing, unknown, or of another form; a name or a value that no statement can have. */
  | "scope_malformed"
  /** A name, a salt or a digest is there twice. */
  | "scope_repeated"
  /** Statements and digests do not make the hash that is stated: something was altered or left out. */
  | "scope_hash_differs"
  /** It is the scope of another grant. */
  | "scope_not_granted"
  /** A statement that is to be disclosed is not there. */
  | "scope_name_unknown";

/** Not a scope document, or not the one that it should be. Match on `code`. */
export class ScopeError extends Error {
  readonly code: ScopeErrorCode;
  constructor(code: ScopeErrorCode, message: string) {
    super(message);
    this.name = "ScopeError";
    this.code = code;
  }
}
