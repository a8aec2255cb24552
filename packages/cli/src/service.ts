import { setTimeout as delay } from "node:timers/promises";
import { request } from "undici";
import { CliError, EXIT } from "./cli-error.ts";
import { isRecord } from "./nearest-cluster.ts";

/** An answer of the service. The body is what a server sent: it is checked by whoever reads it. */
export interface Answer {
  readonly status: number;
  readonly apiUrl: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Question {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: object;
  /** Default: JSON. */
  readonly accept?: string;
  /** How long one node has; for questions that take a server longer than others. */
  readonly tryTimeoutMs?: number;
}

export interface ServiceOptions {
  /** Base addresses without a trailing slash; the next one is asked when one does not answer. */
  readonly apiUrls: readonly string[];
  readonly apiKey: string | null;
  /** How long the whole question may take, with all repetitions. */
  readonly timeoutMs: number;
  /** Told why nobody has answered, before all are asked again. */
  readonly onWait?: (reason: string) => void;
}

const TRY_TIMEOUT_MS = 6000;
/** For batches: what the service takes at most, and a little. */
export const BATCH_TRY_TIMEOUT_MS = 17_000;
const PAUSE_MS_MIN = 100;
const PAUSE_MS_MAX = 2000;
/** A batch of 1,000 with their receipts has some 4 MiB. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;
/** Answers that mean: not now, perhaps later or elsewhere. */
const PASSING_STATUSES: readonly number[] = [429, 500, 502, 503, 504];

/**
 * Asks the nodes in turn until one gives a lasting answer. A question that writes must carry a `client_event_id`: then
 * asking again is safe, and the answer to the repeated question is that of the first.
 */
export class Service {
  readonly #options: ServiceOptions;
  #next = 0;

  constructor(options: ServiceOptions) {
    this.#options = options;
  }

  /** @throws CliError `unavailable` with the newest reason when no node has answered in time */
  async ask(question: Question): Promise<Answer> {
    return jsonAnswerOf(await this.#askAll(question, (raw) => reasonAgainst(raw, "json")));
  }

  /** For answers that are no JSON. @throws CliError `unavailable`; `refused` for any status but 200 */
  async askBytes(path: string): Promise<Uint8Array> {
    const raw = await this.#askAll({ method: "GET", path, accept: "*/*" }, (given) => reasonAgainst(given, "bytes"));
    if (raw.status !== 200) expectStatus(jsonAnswerOf(raw), 200);
    return raw.bytes;
  }

  /** One try at the first node; any status is an answer. @throws CliError `unavailable` when there is none */
  async askOnce(question: Question): Promise<Answer> {
    const raw = await this.#try(question, performance.now() + this.#options.timeoutMs);
    const reason = typeof raw === "string" ? raw : isJsonObject(raw) ? null : `${raw.apiUrl}: ${NO_OBJECT}`;
    if (typeof raw === "string" || reason !== null) {
      throw new CliError(EXIT.unavailable, "unavailable", reason ?? "no answer");
    }
    return jsonAnswerOf(raw);
  }

  async #askAll(question: Question, reasonToGoOn: (raw: RawAnswer) => string | null): Promise<RawAnswer> {
    const giveUpAt = performance.now() + this.#options.timeoutMs;
    let pauseMs = PAUSE_MS_MIN;
    let askedToWaitMs = Number.POSITIVE_INFINITY;
    for (;;) {
      const raw = await this.#try(question, giveUpAt);
      const reason = typeof raw === "string" ? raw : reasonToGoOn(raw);
      if (typeof raw !== "string" && reason === null) return raw;
      askedToWaitMs = Math.min(askedToWaitMs, typeof raw === "string" ? 0 : raw.retryAfterMs);
      this.#next += 1;
      // Every node is asked once before any is waited for.
      if (this.#next % this.#options.apiUrls.length !== 0) continue;
      const waitMs = Math.max(askedToWaitMs, pauseMs * (0.5 + Math.random() / 2));
      if (performance.now() + waitMs > giveUpAt) {
        throw new CliError(EXIT.unavailable, "unavailable", `no node could answer: ${reason ?? ""}`);
      }
      this.#options.onWait?.(reason ?? "");
      await delay(waitMs);
      pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX);
      askedToWaitMs = Number.POSITIVE_INFINITY;
    }
  }

  /** Why a try failed, as text, or what the node answered. */
  async #try(question: Question, giveUpAt: number): Promise<RawAnswer | string> {
    const { apiUrls, apiKey } = this.#options;
    const apiUrl = apiUrls[this.#next % apiUrls.length];
    if (apiUrl === undefined) throw new CliError(EXIT.usage, "no_node", "no node's address is known");
    const tryTimeoutMs = question.tryTimeoutMs ?? TRY_TIMEOUT_MS;
    const timeoutMs = Math.max(1, Math.round(Math.min(tryTimeoutMs, giveUpAt - performance.now())));
    try {
      const response = await request(apiUrl + question.path, {
        method: question.method,
        headers: {
          accept: question.accept ?? "application/json",
          ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
          ...(question.body === undefined ? {} : { "content-type": "application/json" }),
        },
        body: question.body === undefined ? null : JSON.stringify(question.body),
        signal: AbortSignal.timeout(timeoutMs),
      });
      const bytes = await readLimited(response.body);
      return { status: response.statusCode, apiUrl, bytes, retryAfterMs: retryAfterMsOf(response.headers) };
    } catch (error) {
      return `${apiUrl}: ${connectionText(error)}`;
    }
  }
}

interface RawAnswer {
  readonly status: number;
  readonly apiUrl: string;
  readonly bytes: Uint8Array;
  /** How long the node asks to be left alone; 0 if it does not say. */
  readonly retryAfterMs: number;
}

const NO_OBJECT = "the answer is not a JSON object";

function isJsonObject({ bytes }: RawAnswer): boolean {
  return isRecord(jsonOf(bytes));
}

/** Null: the answer is for good. */
function reasonAgainst(raw: RawAnswer, kind: "json" | "bytes"): string | null {
  if (PASSING_STATUSES.includes(raw.status)) {
    return `${raw.apiUrl}: ${isJsonObject(raw) ? problemText(jsonAnswerOf(raw)) : `status ${raw.status}`}`;
  }
  if (kind === "bytes" && raw.status === 200) return null;
  return isJsonObject(raw) ? null : `${raw.apiUrl}: ${NO_OBJECT}`;
}

function jsonAnswerOf({ status, apiUrl, bytes }: RawAnswer): Answer {
  const body = jsonOf(bytes);
  return { status, apiUrl, body: isRecord(body) ? body : {} };
}

/** Undefined for what is no JSON. */
function jsonOf(bytes: Uint8Array): unknown {
  const text = Buffer.from(bytes).toString("utf8");
  if (text === "") return {};
  try {
    return JSON.parse(text);
  } catch (error) {
    if (isRecord(error) && error.name === "SyntaxError") return undefined;
    throw error;
  }
}

/** Seconds, or a date. RFC 9110 section 10.2.3. */
function retryAfterMsOf(headers: Readonly<Record<string, string | string[] | undefined>>): number {
  const value = headers["retry-after"];
  if (typeof value !== "string") return 0;
  const ms = /^\d{1,9}$/u.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}

async function readLimited(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    length += chunk.length;
    if (length > ANSWER_BYTES_MAX) throw new Error("the answer is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** By name and code, not by class: errors of Node's own modules may come from another realm. */
function connectionText(error: unknown): string {
  if (!isRecord(error)) return String(error);
  if (error.code === "ECONNREFUSED") return "nobody listens there";
  if (error.name === "TimeoutError") return "no answer in time";
  return typeof error.message === "string" ? error.message : "the connection failed";
}

/** Code and explanation of a problem document, or the bare status. */
export function problemText({ status, body }: Answer): string {
  const { code, detail } = body;
  return typeof code === "string" ? `${code}: ${typeof detail === "string" ? detail : ""}` : `status ${status}`;
}

/** @returns the answer, if its status is one of these @throws CliError `refused` with the problem's code otherwise */
export function expectStatus(answer: Answer, ...statuses: readonly number[]): Answer {
  if (statuses.includes(answer.status)) return answer;
  const code = typeof answer.body.code === "string" ? answer.body.code : `status_${answer.status}`;
  const errors: readonly unknown[] = Array.isArray(answer.body.errors) ? answer.body.errors : [];
  const faults = errors.flatMap((error) => faultText(error, answer.body.detail));
  // What the faults say, the problem itself need not point at.
  const said = faults.length > 0 && code === "invalid_request" ? code : problemText(answer);
  throw new CliError(EXIT.refused, code, `${answer.apiUrl} refused: ${[said, ...faults].join("; ")}`);
}

/** One fault of a problem: where, and what, unless the problem has said it. */
function faultText(error: unknown, detail: unknown): readonly string[] {
  if (!isRecord(error)) return [];
  const where = typeof error.pointer === "string" ? error.pointer : error.parameter;
  if (typeof where !== "string") return [];
  return [error.detail === detail ? `at ${where}` : `${where}: ${String(error.detail)}`];
}
