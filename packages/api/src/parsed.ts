import type { Parsed } from "@event-anchoring/api-contract";
import { ProblemError } from "./problem-error.ts";

/** The value of what was parsed. @throws ProblemError with its problem, if it was refused */
export function parsed<T>(result: Parsed<T>): T {
  if (!result.ok) throw new ProblemError(result.problem);
  return result.value;
}
