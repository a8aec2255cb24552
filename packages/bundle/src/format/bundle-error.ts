export type BundleErrorCode =
  /** More bytes, leaves or parts than BUNDLE_LIMITS allows. */
  | "bundle_too_large"
  /** Not JSON, or JSON that two readers could read differently: a repeated name, a number that is not digits only. */
  | "bundle_json_invalid"
  /** Another format, or another version of it. */
  | "bundle_format_unknown"
  /** A member is missing, unknown, or of another form. */
  | "bundle_malformed";

/** Not a bundle. Match on `code`. */
export class BundleError extends Error {
  readonly code: BundleErrorCode;
  constructor(code: BundleErrorCode, message: string) {
    super(message);
    this.name = "BundleError";
    this.code = code;
  }
}
