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
}

export interface ServiceOptions {
  /** Base addresses without a trailing slash; the next one is asked when one does not answer. */
  readonly apiUrls: readonly string[];
  readonly apiKey: string | null;
  /** How long the whole question may take, with all repetitions. */
  readonly timeoutMs: number;
}

const TRY_TIMEOUT_MS = 6000;
const PAUSE_MS_MIN = 100;
const PAUSE_MS_MAX = 2000;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
/** Answers that mean: not now, perhaps later or elsewhere. */
const PASSING_STATUSES: readonly number[] = [429, 502, 503, 504];

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
    const giveUpAt = performance.now() + this.#options.timeoutMs;
    let pauseMs = PAUSE_MS_MIN;
    for (;;) {
      const answer = await this.#try(question, giveUpAt);
      if (typeof answer !== "string" && !PASSING_STATUSES.includes(answer.status)) return answer;
      const reason = typeof answer === "string" ? answer : `${answer.apiUrl}: ${problemText(answer)}`;
      this.#next += 1;
      // Every node is asked once before any is waited for.
      const isRound = this.#next % this.#options.apiUrls.length === 0;
      if (isRound) {
        const withJitterMs = pauseMs * (0.5 + Math.random() / 2);
        if (performance.now() + withJitterMs > giveUpAt) {
          throw new CliError(EXIT.unavailable, "unavailable", `no node could answer: ${reason}`);
        }
        await delay(withJitterMs);
        pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX);
      }
    }
  }

  /** One try at the first node; any status is an answer. @throws CliError `unavailable` when there is none */
  async askOnce(question: Question): Promise<Answer> {
    const answer = await this.#try(question, performance.now() + this.#options.timeoutMs);
    if (typeof answer === "string") throw new CliError(EXIT.unavailable, "unavailable", answer);
    return answer;
  }

  /** Why a try failed, as text, or what the node answered. */
  async #try(question: Question, giveUpAt: number): Promise<Answer | string> {
    const { apiUrls, apiKey } = this.#options;
    const apiUrl = apiUrls[this.#next % apiUrls.length];
    if (apiUrl === undefined) throw new CliError(EXIT.usage, "no_node", "no node's address is known");
    const timeoutMs = Math.max(1, Math.round(Math.min(TRY_TIMEOUT_MS, giveUpAt - performance.now())));
    try {
      const response = await request(apiUrl + question.path, {
        method: question.method,
        headers: {
          accept: "application/json",
          ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
          ...(question.body === undefined ? {} : { "content-type": "application/json" }),
        },
        body: question.body === undefined ? null : JSON.stringify(question.body),
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = await readLimited(response.body);
      const body: unknown = text === "" ? {} : JSON.parse(text);
      if (!isRecord(body)) return `${apiUrl}: the answer is not a JSON object`;
      return { status: response.statusCode, apiUrl, body };
    } catch (error) {
      return `${apiUrl}: ${connectionText(error)}`;
    }
  }
}

async function readLimited(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    length += chunk.length;
    if (length > ANSWER_BYTES_MAX) throw new Error("the answer is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** By name and code, not by class: errors of Node's own modules may come from another realm. */
function connectionText(error: unknown): string {
  if (!isRecord(error)) return String(error);
  if (error.code === "ECONNREFUSED") return "nobody listens there";
  if (error.name === "TimeoutError") return "no answer in time";
  if (error.name === "SyntaxError") return "the answer is not JSON";
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
  const pointed = errors.flatMap((error) =>
    isRecord(error) && typeof error.pointer === "string" ? [` [${error.pointer}: ${String(error.detail)}]`] : [],
  );
  const message = `${answer.apiUrl} refused: ${problemText(answer)}${pointed.join("")}`;
  throw new CliError(EXIT.refused, code, message);
}
