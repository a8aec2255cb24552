import {
  ApiProblem,
  Conflict,
  Forbidden,
  NotFound,
  RateLimited,
  Unauthorized,
  Unavailable,
  Unprocessable,
} from "./errors.ts";
import type { ProblemContext } from "./errors.ts";

const CLASS_OF_STATUS: ReadonlyMap<number, typeof ApiProblem> = new Map([
  [401, Unauthorized],
  [403, Forbidden],
  [404, NotFound],
  [409, Conflict],
  [410, NotFound],
  [422, Unprocessable],
  [429, RateLimited],
]);

/** The problem of a status, in the class of that status. */
export function makeProblem(code: string, message: string, context: ProblemContext): ApiProblem {
  const ProblemClass = context.status >= 500 ? Unavailable : (CLASS_OF_STATUS.get(context.status) ?? ApiProblem);
  return new ProblemClass(code, message, context);
}
