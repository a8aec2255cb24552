/** Exit codes of anchorctl. Documented in --help and docs/anchorctl.md; they change only with a new major version. */
export const EXIT = {
  ok: 0,
  /** The receipt, the file or the trust root do not fit together. */
  invalid: 1,
  /** Wrong usage, or something that cannot be read or written. */
  usage: 2,
  /** The service refused the request; asking again gives the same answer. */
  refused: 3,
  /** The service could not be asked, or did not say what became of it: ask again with the same --event-id. */
  unavailable: 4,
  /** Nothing is wrong, and not everything is proved: a part rests on somebody's word. */
  asStated: 5,
  /** Nothing is wrong, and nothing says whose trust root it was judged by: there is no pin. */
  notPinned: 6,
  /** A fault of this program. */
  internal: 70,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Something to tell the person in plain words; printed without a stack. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: ExitCode;
  /** Stable, for --json. */
  readonly code: string;
  constructor(exitCode: ExitCode, code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.exitCode = exitCode;
    this.code = code;
  }
}
