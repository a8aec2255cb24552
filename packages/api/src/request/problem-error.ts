import type { Parsed, Problem, ProblemCode, ProblemItem } from "@event-anchoring/api-contract";

/** Ends a request with a problem. The cause, if any, is for the log alone. */
export class ProblemError extends Error {
  readonly problem: Problem;
  /** Fields of the body beyond those of RFC 9457, for example the results of a refused batch. */
  readonly extension: object | null;

  constructor(problem: Problem, options: { cause?: unknown; extension?: object } = {}) {
    super(problem.code, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ProblemError";
    this.problem = problem;
    this.extension = options.extension ?? null;
  }
}

export function problemError(code: ProblemCode, errors?: readonly ProblemItem[]): ProblemError {
  return new ProblemError(errors === undefined ? { code } : { code, errors });
}

/** The parsed value. @throws ProblemError with its problem, if it was refused */
export function parsed<T>(result: Parsed<T>): T {
  if (!result.ok) throw new ProblemError(result.problem);
  return result.value;
}
