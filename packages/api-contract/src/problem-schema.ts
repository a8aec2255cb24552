/** Problem documents (RFC 9457) as schemas; what each code means stands in problems.ts. */
import { z } from "zod";
import { PROBLEM_CODES } from "./problems.ts";
import type { ProblemCode } from "./problems.ts";
import { hex32, openWord, recordState } from "./wire.ts";

const ITEM_CODES = [
  "required",
  "unknown_field",
  "wrong_type",
  "wrong_format",
  "too_large",
  "too_small",
  "duplicate_key",
  "forbidden_key",
  "integer_unsafe",
  "lone_surrogate",
  "number_not_digits",
  "syntax",
  "too_deep",
];

const problemItemSchema = z
  .strictObject({
    pointer: z.string().optional().describe("RFC 6901, into the body; absent if the fault is not in the body."),
    parameter: z.string().optional().describe("A parameter of query or path, or a header."),
    code: openWord(ITEM_CODES, "What kind of fault; of what the ledger refuses, the problem's own code."),
    detail: z.string().describe("For people."),
  })
  .meta({ id: "ProblemItem", description: "One place where the request is wrong." });

export const problemSchema = z
  .strictObject({
    type: z.string().describe("urn:event-anchoring:problem: and the code."),
    title: z.string().describe("The code in words, for people; the same for each problem of the code."),
    status: z.number().int().min(400).max(599).describe("The status of the answer."),
    detail: z.string().describe("For people."),
    code: openWord(PROBLEM_CODES, "The contract: match on it, never on text."),
    request_id: z.string().optional().describe("As in X-Request-Id. Absent inside the results of a batch."),
    errors: z
      .array(problemItemSchema)
      .optional()
      .describe("Each place where the request is wrong, if it is the request."),
  })
  .meta({ id: "Problem", description: "RFC 9457." });

/** 404: with the newest record, if there is one, and how it has ended. */
const noActiveProblemSchema = problemSchema
  .extend({
    anchor_id: hex32.optional().describe("The newest record, whatever its state; absent if there never was one."),
    state: recordState.optional().describe("The sequence of that record."),
  })
  .meta({ id: "NoActiveProblem", description: "RFC 9457, with the newest record." });

/** 410: the event is still there; its id is not. */
const erasedProblemSchema = problemSchema
  .extend({ anchor_id: hex32.describe("The event whose client_event_id was erased.") })
  .meta({ id: "ErasedProblem", description: "RFC 9457, with the event." });

/** Problems whose documents say more than the others'; `batch_refused` stands with the answers. */
export const EXTENDED_PROBLEMS = {
  no_active_claim: noActiveProblemSchema,
  no_active_grant: noActiveProblemSchema,
  client_event_id_erased: erasedProblemSchema,
} as const satisfies Partial<Record<ProblemCode, z.ZodType>>;
