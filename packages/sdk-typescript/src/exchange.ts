/** From a call to its answer: tries, endpoints, and what a failure is called. */
import { InvalidBytesError, bytesToUtf8 } from "@event-anchoring/protocol";
import { Cancelled, ConnectionFailed, OutcomeUnknown, TimedOut, UnexpectedAnswer, makeProblem } from "./errors.ts";
import type { AnchoringError, ApiProblem, ErrorContext, ProblemItem } from "./errors.ts";
import type { JsonBody } from "./json-body.ts";
import { delayBeforeRetry, leavesDoubt } from "./retry.ts";
import type { Outcome, RetryPolicy } from "./retry.ts";
import { TransportFailure } from "./transport.ts";
import type { Transport, TransportRequest, TransportResponse } from "./transport.ts";

/** Clock, chance and waiting, so that tests can do without. */
export interface Surroundings {
  /** Monotonic, ms. */
  now(): number;
  /** Unix ms. */
  wallClock(): number;
  /** From 0 to 1. */
  chance(): number;
  /** Resolves early when the signal aborts. */
  wait(ms: number, signal: AbortSignal | null): Promise<void>;
}

/** One call of the API. */
export interface Call {
  readonly method: "GET" | "POST";
  /** From the root, with its query. */
  readonly path: string;
  readonly body: JsonBody | null;
  readonly accept: string;
  /** null: it needs none. */
  readonly apiKey: string | null;
  /** It may have an effect. */
  readonly isWrite: boolean;
  /** Sending it again has no further effect: a read, or a write that is known by an id or by its content. */
  readonly isRepeatable: boolean;
  /** Of the events in it, to be told when their outcome is unknown. */
  readonly clientEventIds: readonly (string | null)[];
  /** One for all tries, so that it is known even if nothing is answered. */
  readonly requestId: string;
  readonly prefer: string | null;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | null;
  /** Statuses besides 200, 201 and 202 that are answers. */
  readonly alsoAnswers: readonly number[];
}

export interface ExchangeOptions {
  readonly endpoints: readonly string[];
  readonly retry: RetryPolicy;
  readonly transport: Transport;
  readonly surroundings: Surroundings;
}

/** A try: its response, or why there is none. */
type Try = TransportResponse | TransportFailure;

/** Asks endpoints. Whoever answered last is asked first. */
export class Exchange {
  readonly #options: ExchangeOptions;
  #current = 0;

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  /**
   * Sends a call until there is an answer to it, or no more sense in asking.
   * @throws AnchoringError
   */
  async send(call: Call): Promise<TransportResponse> {
    const { retry, surroundings } = this.#options;
    const startedMs = surroundings.now();
    let inDoubt = false;
    for (let attempt = 1; ; attempt++) {
      const place = this.#current;
      const result = await this.#try(call, this.#options.endpoints[place] ?? "");
      const outcome = outcomeOf(result, call, surroundings.wallClock());
      if (!(result instanceof TransportFailure) && isAnswer(result.status, call)) return result;
      inDoubt ||= leavesDoubt(outcome, codeOf(result));
      const situation = {
        attempt,
        isRepeatable: call.isRepeatable,
        elapsedMs: surroundings.now() - startedMs,
        chance: surroundings.chance(),
      };
      if (isAboutEndpoint(outcome)) this.#moveOn(place);
      const delay = delayBeforeRetry(retry, outcome, situation);
      if (delay === null) throw failureOf({ call, result, inDoubt, attempt, wallClockMs: surroundings.wallClock() });
      await surroundings.wait(delay, call.signal);
    }
  }

  async #try(call: Call, endpoint: string): Promise<Try> {
    try {
      return await this.#options.transport(this.#request(call, endpoint));
    } catch (error) {
      if (error instanceof TransportFailure) return error;
      // A transport of the caller's own may throw anything: whether the request left is then not known.
      return new TransportFailure("lost", "the transport failed", { wasSent: true, cause: error });
    }
  }

  #request(call: Call, endpoint: string): TransportRequest {
    const headers: Record<string, string> = { accept: call.accept, "x-request-id": call.requestId };
    if (call.apiKey !== null) headers["authorization"] = `Bearer ${call.apiKey}`;
    if (call.prefer !== null) headers["prefer"] = call.prefer;
    const body = call.body === null ? null : JSON.stringify(call.body);
    if (body !== null) headers["content-type"] = "application/json";
    const { method, timeoutMs, signal } = call;
    return { method, url: `${endpoint}${call.path}`, headers, body, timeoutMs, signal };
  }

  /** Asks the next one from now on, unless another call has moved on already. */
  #moveOn(place: number): void {
    if (this.#current === place) this.#current = (place + 1) % this.#options.endpoints.length;
  }
}

function isAnswer(status: number, call: Call): boolean {
  return [200, 201, 202, ...call.alsoAnswers].includes(status);
}

/** Whether another endpoint may do better. 429 is about the API key, any other 4xx about the request. */
function isAboutEndpoint(outcome: Outcome): boolean {
  return outcome.kind === "failed" || outcome.status >= 500;
}

/**
 * Refusals that say that no earlier try of the same call was recorded either: the ledger looks for a replay before it
 * gives one of these. 401, 403, 408 and 429 come before it has looked.
 */
function isDecisive(result: Try): boolean {
  if (result instanceof TransportFailure) return false;
  return result.status >= 400 && result.status < 500 && ![401, 403, 408, 429].includes(result.status);
}

function outcomeOf(result: Try, call: Call, wallClockMs: number): Outcome {
  if (result instanceof TransportFailure) {
    const isFinal = result.kind === "cancelled" || result.kind === "too_large" || call.signal?.aborted === true;
    return { kind: "failed", wasSent: result.wasSent, isFinal };
  }
  return { kind: "answered", status: result.status, retryAfterMs: retryAfterMs(result, wallClockMs) };
}

/** Either form of the header (RFC 9110 section 10.2.3); null: absent, or neither. */
function retryAfterMs({ headers }: TransportResponse, wallClockMs: number): number | null {
  const value = headers["retry-after"];
  if (value === undefined) return null;
  if (/^[0-9]{1,9}$/.test(value)) return Number(value) * 1000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : Math.max(0, at - wallClockMs);
}

function codeOf(result: Try): string | null {
  return result instanceof TransportFailure ? null : problemOf(result, NOBODY).code;
}

interface Failure {
  readonly call: Call;
  readonly result: Try;
  /** Some try may have had an effect. */
  readonly inDoubt: boolean;
  readonly attempt: number;
  readonly wallClockMs: number;
}

function failureOf({ call, result, inDoubt, attempt, wallClockMs }: Failure): AnchoringError {
  const tries = attempt === 1 ? "one try" : `${attempt} tries`;
  const waitMs = result instanceof TransportFailure ? null : retryAfterMs(result, wallClockMs);
  const asked = { apiKey: call.apiKey, requestId: call.requestId, waitMs };
  const problem = result instanceof TransportFailure ? null : problemOf(result, asked);
  const cause = result instanceof TransportFailure ? result : problem;
  const { requestId } = call;
  if (call.isWrite && inDoubt && !isDecisive(result)) {
    const retryAfter = waitMs === null ? undefined : waitMs / 1000;
    return outcomeUnknown(call, ` after ${tries}`, { requestId, retryAfter, cause });
  }
  if (problem !== null && problem.status >= 400) return problem;
  if (!(result instanceof TransportFailure)) {
    return new UnexpectedAnswer(`status ${result.status} is no answer of the API`, { requestId });
  }
  const { kind, message } = result;
  if (kind === "cancelled") return new Cancelled(`${tries}: ${message}`, { requestId, cause });
  if (kind === "timeout") return new TimedOut(`no answer in ${tries}`, { requestId, cause });
  if (kind === "too_large") return new UnexpectedAnswer(message, { requestId, cause });
  return new ConnectionFailed(`no endpoint answered in ${tries}: ${message}`, { requestId, cause });
}

/** @param after what has led to it */
export function outcomeUnknown(call: Call, after: string, context: ErrorContext): OutcomeUnknown {
  const message = `whether this was recorded is not known${after}; ${howToAskAgain(call)}`;
  return new OutcomeUnknown(message, call.clientEventIds, context);
}

function howToAskAgain({ clientEventIds, isRepeatable }: Call): string {
  const replayed = "what was recorded is replayed, not recorded twice";
  if (!isRepeatable) return "there is no client_event_id, so asking again may record it a second time";
  if (clientEventIds.length === 0) return `ask again with the same content: ${replayed}`;
  if (clientEventIds.length > 1) return `ask again with the same client_event_ids: ${replayed}`;
  return `ask again with the same client_event_id, ${JSON.stringify(clientEventIds[0])}: ${replayed}`;
}

const TEXT_CHARS_MAX = 1000;
/** What is shorter is no secret, and may be part of any word. */
const SECRET_CHARS_MIN = 8;
const REQUEST_ID = /^[!-~]{1,128}$/;

/** What a person is shown of a text that a stranger may have written: one line, and not without end. */
function text(value: unknown): string {
  const shown = typeof value === "string" ? value.slice(0, TEXT_CHARS_MAX) : "";
  return shown.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, " ");
}

/** The same without the API key: whoever answers knows it, and an error ends up in logs. */
function withoutKey(value: unknown, apiKey: string | null): unknown {
  if (apiKey === null || apiKey.length < SECRET_CHARS_MIN) return value;
  if (typeof value === "string") return value.replaceAll(apiKey, "<API_KEY>");
  if (Array.isArray(value)) return value.map((each: unknown) => withoutKey(each, apiKey));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]): [string, unknown] => [
    name.replaceAll(apiKey, "<API_KEY>"),
    withoutKey(member, apiKey),
  ]);
  return Object.fromEntries(members);
}

/** The `X-Request-Id` of an answer, if it is one; else that of the call. */
export function requestIdOf({ headers }: TransportResponse, asked: string): string {
  const found = headers["x-request-id"];
  return found !== undefined && REQUEST_ID.test(found) ? found : asked;
}

/** The parsed JSON of a body; undefined: it is none. */
function jsonOf(body: Uint8Array): unknown {
  try {
    return JSON.parse(bytesToUtf8(body));
  } catch (error) {
    // Too deep for the parser's stack is a RangeError.
    if (error instanceof SyntaxError || error instanceof InvalidBytesError || error instanceof RangeError) {
      return undefined;
    }
    throw error;
  }
}

function itemsOf(errors: unknown): ProblemItem[] {
  if (!Array.isArray(errors)) return [];
  return errors.flatMap((item: unknown) => {
    if (typeof item !== "object" || item === null) return [];
    const { pointer, parameter, code, detail } = item as Readonly<Record<string, unknown>>;
    const place = (value: unknown): string | null => (typeof value === "string" ? value : null);
    return [{ pointer: place(pointer), parameter: place(parameter), code: text(code), detail: text(detail) }];
  });
}

/** Who has asked, and what there is to say about asking again. */
interface Asked {
  readonly apiKey: string | null;
  readonly requestId: string;
  readonly waitMs: number | null;
}

const NOBODY: Asked = { apiKey: null, requestId: "", waitMs: null };

/** The problem that a refusal is, also where something in between has answered for the service. */
function problemOf(response: TransportResponse, { apiKey, requestId, waitMs }: Asked): ApiProblem {
  const { status, body } = response;
  const parsed = jsonOf(body);
  const isObject = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
  const members = isObject ? (withoutKey(parsed, apiKey) as Readonly<Record<string, unknown>>) : {};
  const title = text(members["title"]);
  const context = {
    status,
    title,
    errors: itemsOf(members["errors"]),
    members,
    requestId: requestIdOf(response, requestId),
    retryAfter: waitMs === null ? undefined : waitMs / 1000,
  };
  const code = text(members["code"]);
  if (code === "") return makeProblem(`http_${status}`, `status ${status} without a problem document`, context);
  return makeProblem(code, text(members["detail"]) || title, context);
}

/** The JSON of an answer. @throws UnexpectedAnswer */
export function answerJson({ body }: TransportResponse): unknown {
  const parsed = jsonOf(body);
  if (parsed === undefined) throw new UnexpectedAnswer("the answer is no JSON");
  return parsed;
}
