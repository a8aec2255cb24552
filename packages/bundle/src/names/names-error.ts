export type NamesErrorCode =
  /** More bytes or names than NAMES_LIMITS allows. */
  | "names_too_large"
  /** Not a file of names, or a line that is none of its three kinds. */
  | "names_malformed"
  /** A hash, an attribute type or a statement has two names. */
  | "names_repeated";

/** Not a file of names. Match on `code`. */
export class NamesError extends Error {
  readonly code: NamesErrorCode;
  /** The line at fault, from 1 on; null: the whole file. */
  readonly line: number | null;
  constructor(code: NamesErrorCode, message: string, line: number | null = null) {
    super(line === null ? message : `line ${line}: ${message}`);
    this.name = "NamesError";
    this.code = code;
    this.line = line;
  }
}
