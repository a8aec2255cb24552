/** Judges answers by the OpenAPI document, and remembers what it has seen. */
import { LIMITS, PROBLEMS, isProblemCode, problemSchema } from "@event-anchoring/api-contract";
import type { ValidateFunction } from "ajv/dist/2020.js";
import type { JsonObject, MediaType, OpenApiReader, Operation } from "@event-anchoring/testkit/openapi";
import type { Received } from "./http.ts";

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;
const PROBLEM_TYPE = "application/problem+json";

/** An answer that the document does not describe. */
export class NonconformingError extends Error {
  constructor(what: string, { sent, status, headers, text }: Received) {
    const body = typeof sent.body === "string" ? sent.body.slice(0, 2000) : "";
    const { authorization: _key, "x-api-key": _other, ...shownHeaders } = sent.headers ?? {};
    const shown = `${sent.method} ${sent.target.slice(0, 500)} ${JSON.stringify(shownHeaders)} ${body}`;
    super(`${what}\n${shown}\n${status} ${JSON.stringify(headers)} ${text.slice(0, 2000)}`);
  }
}

interface ProblemAnswer {
  readonly code: string;
  readonly status: number;
  readonly request_id?: string;
}

export class ConformanceJudge {
  readonly reader: OpenApiReader;
  readonly #validators = new Map<string, ValidateFunction>();
  readonly #seen = new Set<string>();

  constructor(reader: OpenApiReader) {
    this.reader = reader;
  }

  /** `operation status`, and `operation code` for problems. */
  get seen(): ReadonlySet<string> {
    return this.#seen;
  }

  /** @returns the body, parsed if it is JSON. @throws NonconformingError */
  judge(operation: Operation, received: Received): unknown {
    const { status, headers } = received;
    const answer = operation.answers.get(status);
    if (answer === undefined) throw new NonconformingError(`${operation.id} has no answer ${status}`, received);
    assertCommon(received);
    for (const [name, { required, schema }] of Object.entries(answer.headers)) {
      const value = headers[name];
      if (value === undefined) {
        if (required === true) throw new NonconformingError(`the header ${name} is missing`, received);
      } else if (!this.#isHeader(`${operation.id} ${status} ${name}`, schema, value)) {
        throw new NonconformingError(`the header ${name} is not as described`, received);
      }
    }
    this.#seen.add(`${operation.id} ${status}`);
    if (Object.keys(answer.content).length === 0) {
      if (received.text !== "") throw new NonconformingError(`${operation.id} ${status} has a body`, received);
      return null;
    }
    const type = mediaTypeOf(received);
    const media = answer.content[type];
    if (media === undefined) throw new NonconformingError(`${operation.id} ${status} is no ${type}`, received);
    if (received.sent.method === "HEAD") return null;
    return type.endsWith("json") ? this.#body(operation, received, media, answer.codes) : received.text;
  }

  #body(operation: Operation, received: Received, media: MediaType, codes: readonly string[]): unknown {
    const body = parseJson(received);
    const validate = this.#validator(`${operation.id} ${received.status}`, media.schema);
    if (!validate(body)) throw new NonconformingError(JSON.stringify(validate.errors), received);
    if (codes.length === 0) return body;
    const { code } = assertProblem(body, received);
    if (!codes.includes(code)) throw new NonconformingError(`${operation.id} has no problem ${code}`, received);
    this.#seen.add(`${operation.id} ${code}`);
    return body;
  }

  /** In a header everything is text. */
  #isHeader(key: string, schema: JsonObject, text: string): boolean {
    const isNumber = schema["type"] === "integer";
    if (isNumber && !/^[0-9]+$/.test(text)) return false;
    return this.#validator(key, schema)(isNumber ? Number(text) : text);
  }

  #validator(key: string, schema: JsonObject): ValidateFunction {
    const known = this.#validators.get(key);
    if (known !== undefined) return known;
    const made = this.reader.validator(schema);
    this.#validators.set(key, made);
    return made;
  }
}

function mediaTypeOf({ headers }: Received): string {
  return (headers["content-type"] ?? "").split(";")[0]?.trim() ?? "";
}

/** What every answer has, whatever it says. */
function assertCommon(received: Received): void {
  const { status, headers } = received;
  if (!REQUEST_ID.test(headers["x-request-id"] ?? "")) throw new NonconformingError("no X-Request-Id", received);
  if (headers["x-content-type-options"] !== "nosniff") throw new NonconformingError("no nosniff", received);
  if (headers["content-security-policy"] === undefined) throw new NonconformingError("no policy", received);
  if (headers["x-powered-by"] !== undefined) throw new NonconformingError("names its software", received);
  const isRetryable = status === 503 || status === 429;
  if (status >= 500 && !isRetryable) throw new NonconformingError("a fault of the service", received);
  if (isRetryable && !/^[1-9][0-9]*$/.test(headers["retry-after"] ?? "")) {
    throw new NonconformingError("no Retry-After", received);
  }
}

function parseJson(received: Received): unknown {
  try {
    return JSON.parse(received.text) as unknown;
  } catch {
    throw new NonconformingError("the body is no JSON", received);
  }
}

/** @throws NonconformingError unless the body is the problem that its status and its header say it is */
function assertProblem(body: unknown, received: Received): ProblemAnswer {
  const problem = body as ProblemAnswer;
  const { code, status, request_id: requestId } = problem;
  if (!isProblemCode(code) || PROBLEMS[code].status !== received.status || status !== received.status) {
    throw new NonconformingError(`the problem ${code} has another status`, received);
  }
  if (requestId !== received.headers["x-request-id"]) throw new NonconformingError("another request id", received);
  if (received.text.length > LIMITS.bodyBytesMax) throw new NonconformingError("a long problem", received);
  return problem;
}

/** For answers on paths that are no operation's. @throws NonconformingError unless it is this problem */
export function assertPlainProblem(received: Received, codes: readonly string[]): string {
  assertCommon(received);
  if (mediaTypeOf(received) !== PROBLEM_TYPE) throw new NonconformingError("no problem", received);
  const { code } = assertProblem(problemSchema.parse(parseJson(received)), received);
  if (!codes.includes(code)) throw new NonconformingError(`${code}, not one of ${codes.join()}`, received);
  return code;
}
