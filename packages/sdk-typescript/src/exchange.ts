/** From a call to its answer: tries, endpoints, and what a failure is called. */
import { InvalidBytesError, bytesToUtf8 } from "@event-anchoring/protocol";
import { Cancelled, ConnectionFailed, OutcomeUnknown, TimedOut, UnexpectedAnswer, makeProblem } from "./errors.ts";
import type { AnchoringError, ApiProblem, ProblemItem } from "./errors.ts";
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
  /** null: none, for what needs none. */
  readonly apiKey: string | null;
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
    if (this.#options.apiKey !== null) headers["authorization"] = `Bearer ${this.#options.apiKey}`;
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
  return result instanceof TransportFailure ? null : problemOf(result, "", null).code;
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
  const problem = result instanceof TransportFailure ? null : problemOf(result, call.requestId, waitMs);
  const cause = result instanceof TransportFailure ? result : problem;
  const { requestId } = call;
  if (call.isWrite && inDoubt && !isDecisive(result)) {
    const retryAfter = waitMs === null ? undefined : waitMs / 1000;
    const message = `whether this was recorded is not known after ${tries}; ${howToAskAgain(call)}`;
    return new OutcomeUnknown(message, call.clientEventIds, { requestId, retryAfter, cause });
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

function howToAskAgain({ clientEventIds, isRepeatable }: Call): string {
  const replayed = "what was recorded is replayed, not recorded twice";
  if (!isRepeatable) return "there is no client_event_id, so asking again may record it a second time";
  if (clientEventIds.length === 0) return `ask again with the same content: ${replayed}`;
  if (clientEventIds.length > 1) return `ask again with the same client_event_ids: ${replayed}`;
  return `ask again with the same client_event_id, ${JSON.stringify(clientEventIds[0])}: ${replayed}`;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The parsed JSON of a body; undefined: it is none. */
function jsonOf(body: Uint8Array): unknown {
  try {
    return JSON.parse(bytesToUtf8(body));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof InvalidBytesError) return undefined;
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

/** The problem that a refusal is, also where something in between has answered for the service. */
function problemOf(response: TransportResponse, requestId: string, waitMs: number | null): ApiProblem {
  const { status, headers, body } = response;
  const parsed = jsonOf(body);
  const members = typeof parsed === "object" && parsed !== null ? (parsed as Readonly<Record<string, unknown>>) : {};
  const title = text(members["title"]);
  const context = {
    status,
    title,
    errors: itemsOf(members["errors"]),
    members,
    requestId: headers["x-request-id"] ?? requestId,
    retryAfter: waitMs === null ? undefined : waitMs / 1000,
  };
  const code = text(members["code"]);
  if (code === "") return makeProblem(`http_${status}`, `status ${status} without a problem document`, context);
  return makeProblem(code, text(members["detail"]) || title, context);
}

/** The JSON of an answer. @throws UnexpectedAnswer */
export function answerJson({ body }: TransportResponse, requestId: string): unknown {
  const parsed = jsonOf(body);
  if (parsed === undefined) throw new UnexpectedAnswer("the answer is no JSON", { requestId });
  return parsed;
}
