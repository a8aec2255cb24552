/** From a call to its answer: tries, endpoints, and what a failure is called. */
import { InvalidBytesError, bytesToUtf8 } from "@event-anchoring/protocol";
import { Cancelled, ConnectionFailed, InvalidInput, OutcomeUnknown, TimedOut, UnexpectedAnswer } from "./errors.ts";
import type { AnchoringError, ApiProblem, ErrorContext, ProblemItem } from "./errors.ts";
import type { JsonBody } from "./json-body.ts";
import { makeProblem } from "./problem-classes.ts";
import { leavesDoubt } from "./retry.ts";
import type { Outcome, RetryRule } from "./retry.ts";
import { TransportFailure, readBody } from "./transport.ts";
import type { Transport, TransportRequest, TransportResponse } from "./transport.ts";

/** Clock, chance and waiting, so that tests can do without. */
export interface Timing {
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
  /** The client event ids in the body, for the error if their outcome is unknown. */
  readonly clientEventIds: readonly (string | null)[];
  /** One for all tries, so that it is known even if nothing is answered. */
  readonly requestId: string;
  readonly prefer: string | null;
  /** The last event that was taken of a stream. */
  readonly lastEventId: string | null;
  readonly timeoutMs: number;
  /** How long the service was asked to wait: the whole call may take so much longer. */
  readonly waitMs: number;
  readonly signal: AbortSignal | null;
  /** Whether what has this status is an answer. */
  readonly isAnswer: (status: number) => boolean;
}

/** A try that failed, and that the call goes on after. */
export interface FailedTry {
  /** Counted from 1. */
  readonly attempt: number;
  /** What would be thrown if there were no further try; its `endpoint` says who was asked. */
  readonly error: AnchoringError;
  /** How long is waited before the next one. */
  readonly delayMs: number;
}

/** One try as it was sent, and what came of it. Headers and bodies are no part of it, nor is the API key. */
export interface SentRequest {
  readonly method: "GET" | "POST";
  /** From the root, with its query. */
  readonly path: string;
  /** Base address of who was asked. */
  readonly endpoint: string;
  /** Counted from 1; of a feed that is followed it is always 1. */
  readonly attempt: number;
  /** null: there was no answer. */
  readonly status: number | null;
  /** Why there was none; null: there was one. */
  readonly failure: TransportFailure["kind"] | null;
  /** Until the answer was there as a whole; of a feed, until it began. */
  readonly durationMs: number;
  /** The `X-Request-Id` that was sent: one for all tries of a call. */
  readonly requestId: string;
}

export interface ExchangeOptions {
  readonly endpoints: readonly string[];
  readonly retry: RetryRule;
  /** For a call with all its tries and pauses; Infinity: no bound but those of `retry`. */
  readonly deadlineMs: number;
  readonly onRetry: (failed: FailedTry) => void;
  readonly onRequest: (sent: SentRequest) => void;
  readonly transport: Transport;
  readonly timing: Timing;
}

/** What was answered, and by whom. */
export interface EndpointResponse extends TransportResponse {
  readonly endpoint: string;
}

/** A try: its response, or why there is none. */
type Try = TransportResponse | TransportFailure;

/** A try, for those who watch. */
interface Tried {
  readonly endpoint: string;
  readonly attempt: number;
  readonly sentMs: number;
  readonly result: Pick<TransportResponse, "status"> | TransportFailure;
}

/** @throws what is no failure of a transport */
function failureIn(error: unknown): TransportFailure {
  if (error instanceof TransportFailure) return error;
  throw error;
}

/** Asks endpoints. The endpoint that answered last is asked first. */
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
  async send(call: Call): Promise<EndpointResponse> {
    const { retry, timing, onRetry } = this.#options;
    const deadlineMs = this.#options.deadlineMs + call.waitMs;
    const startedMs = timing.now();
    let inDoubt = false;
    let told: Pick<Failure, "endpoint" | "result"> | null = null;
    for (let attempt = 1; ; attempt++) {
      const place = this.#current;
      const endpoint = this.#options.endpoints[place] ?? "";
      const sentMs = timing.now();
      const leftMs = Math.max(1, startedMs + deadlineMs - sentMs);
      const result = await this.#try({ ...call, timeoutMs: Math.min(call.timeoutMs, leftMs) }, endpoint);
      this.#tell(call, { endpoint, attempt, sentMs, result });
      const outcome = outcomeOf(result, call, timing.wallClock());
      if (!(result instanceof TransportFailure) && call.isAnswer(result.status)) return { ...result, endpoint };
      inDoubt ||= leavesDoubt(outcome, codeOf(result));
      const elapsedMs = timing.now() - startedMs;
      const situation = { attempt, isRepeatable: call.isRepeatable, elapsedMs, chance: timing.chance() };
      const delayMs = retry(outcome, situation);
      // Without a pause the same endpoint would say the same.
      if (isAboutEndpoint(outcome) || delayMs === 0) this.#moveOn(place);
      // The deadline has cut this try short: what was told before says more.
      if (told === null || leftMs >= call.timeoutMs || !isTimeout(result)) told = { endpoint, result };
      const error = failureOf({ call, ...told, inDoubt, attempt, wallClockMs: timing.wallClock() });
      if (delayMs === null || elapsedMs + delayMs > deadlineMs) throw error;
      onRetry({ attempt, error, delayMs });
      await timing.wait(delayMs, call.signal);
    }
  }

  /**
   * One try of a call whose answer has no end: its bytes as they come. The next one asks the next endpoint, unless this
   * one was refused with a 429.
   * @throws AnchoringError also when the other side ends it
   */
  async *stream(call: Call): AsyncGenerator<Uint8Array> {
    const { transport, timing } = this.#options;
    if (transport.open === undefined) throw new InvalidInput("transport", "it has no `open`, and cannot follow heads");
    const place = this.#current;
    const endpoint = this.#options.endpoints[place] ?? "";
    let isAboutKey = false;
    try {
      const sentMs = timing.now();
      const opened = await transport.open(this.#request(call, endpoint)).catch(failureIn);
      this.#tell(call, { endpoint, attempt: 1, sentMs, result: opened });
      if (opened instanceof TransportFailure) throw opened;
      const { status, headers, body } = opened;
      if (!call.isAnswer(status)) {
        isAboutKey = status === 429;
        const result = { status, headers, body: await readBody(body) };
        throw failureOf({ call, endpoint, result, inDoubt: false, attempt: 1, wallClockMs: timing.wallClock() });
      }
      yield* body;
      throw new TransportFailure("lost", "the other side has ended the answer", { wasSent: true });
    } catch (result) {
      if (!(result instanceof TransportFailure)) throw result;
      throw failureOf({ call, endpoint, result, inDoubt: false, attempt: 1, wallClockMs: timing.wallClock() });
    } finally {
      if (!isAboutKey) this.#moveOn(place);
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

  #tell({ method, path, requestId }: Call, { endpoint, attempt, sentMs, result }: Tried): void {
    const { timing, onRequest } = this.#options;
    const isFailure = result instanceof TransportFailure;
    const outcome = { status: isFailure ? null : result.status, failure: isFailure ? result.kind : null };
    onRequest({ method, path, endpoint, attempt, ...outcome, durationMs: timing.now() - sentMs, requestId });
  }

  #request(call: Call, endpoint: string): TransportRequest {
    const headers: Record<string, string> = { accept: call.accept, "x-request-id": call.requestId };
    if (call.apiKey !== null) headers["authorization"] = `Bearer ${call.apiKey}`;
    if (call.prefer !== null) headers["prefer"] = call.prefer;
    if (call.lastEventId !== null) headers["last-event-id"] = call.lastEventId;
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

function isTimeout(result: Try): boolean {
  return result instanceof TransportFailure && result.kind === "timeout";
}

function codeOf(result: Try): string | null {
  return result instanceof TransportFailure ? null : problemOf(result, NOBODY).code;
}

interface Failure {
  readonly call: Call;
  readonly endpoint: string;
  readonly result: Try;
  /** Some try may have had an effect. */
  readonly inDoubt: boolean;
  readonly attempt: number;
  readonly wallClockMs: number;
}

function failureOf({ call, endpoint, result, inDoubt, attempt, wallClockMs }: Failure): AnchoringError {
  // No API key can be in it: an endpoint has no user and no query.
  const tries = attempt === 1 ? `one try, of ${endpoint}` : `${attempt} tries, the last of ${endpoint}`;
  const waitMs = result instanceof TransportFailure ? null : retryAfterMs(result, wallClockMs);
  const asked = { apiKey: call.apiKey, endpoint, requestId: call.requestId, waitMs };
  const problem = result instanceof TransportFailure ? null : problemOf(result, asked);
  const cause = result instanceof TransportFailure ? result : problem;
  const context = { requestId: call.requestId, endpoint, cause };
  if (call.isWrite && inDoubt && !isDecisive(result)) {
    const retryAfter = waitMs === null ? undefined : waitMs / 1000;
    return outcomeUnknown(call, ` after ${tries}`, { ...context, retryAfter });
  }
  if (problem !== null && problem.status >= 400) return problem;
  if (!(result instanceof TransportFailure)) {
    return new UnexpectedAnswer(`status ${result.status} is no answer of the API`, context);
  }
  const { kind, message } = result;
  if (kind === "cancelled") return new Cancelled(`${tries}: ${message}`, context);
  if (kind === "timeout") return new TimedOut(`no answer in ${tries}`, context);
  if (kind === "too_large") return new UnexpectedAnswer(message, context);
  return new ConnectionFailed(`no endpoint answered in ${tries}: ${message}`, context);
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

/** The same without the API key: the server knows it, and an error ends up in logs. */
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

/** The parsed JSON of a body; undefined: it is not JSON. */
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
  readonly endpoint: string | undefined;
  readonly requestId: string;
  readonly waitMs: number | null;
}

const NOBODY: Asked = { apiKey: null, endpoint: undefined, requestId: "", waitMs: null };

/** The problem that a refusal is, also where something in between has answered for the service. */
function problemOf(response: TransportResponse, { apiKey, endpoint, requestId, waitMs }: Asked): ApiProblem {
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
    endpoint,
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
