import type { Reader } from "./answer-reader.ts";
import type { Answered } from "./answers.ts";
import { preferOf, requestIdOf, timeoutOf } from "./client-options.ts";
import type { ClientSettings, WriteOptions } from "./client-options.ts";
import { AnchoringError, UnexpectedAnswer } from "./errors.ts";
import { Exchange, answerJson } from "./exchange.ts";
import type { Call } from "./exchange.ts";
import type { JsonBody } from "./json-body.ts";
import type { TransportResponse } from "./transport.ts";

/** One operation, as it differs from the others. */
export interface Operation {
  readonly method?: "GET" | "POST" | undefined;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | null | undefined>> | undefined;
  readonly body?: JsonBody | null | undefined;
  readonly accept?: string | undefined;
  readonly isWrite?: boolean | undefined;
  /** Default: true. */
  readonly isRepeatable?: boolean | undefined;
  /** Of the events in it. */
  readonly clientEventIds?: readonly (string | null)[] | undefined;
  readonly isBatch?: boolean | undefined;
  readonly alsoAnswers?: readonly number[] | undefined;
}

/** In a query percent-encoding is the only encoding: a plus is a plus. */
function queryOf(query: Operation["query"]): string {
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) =>
    value === null || value === undefined ? [] : [`${name}=${encodeURIComponent(String(value))}`],
  );
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

/** Turns operations into calls, and answers into results. */
export class Caller {
  readonly #settings: ClientSettings;
  readonly #exchange: Exchange;

  constructor(settings: ClientSettings) {
    this.#settings = settings;
    this.#exchange = new Exchange(settings);
  }

  /** @throws AnchoringError */
  async ask<Result extends object>(
    operation: Operation,
    read: Reader<Result>,
    options: WriteOptions,
  ): Promise<Answered<Result>> {
    const { response, requestId } = await this.#send(operation, options);
    const result = withRequestId(requestId, () => read(answerJson(response, requestId), "the body"));
    return Object.assign(result, { requestId });
  }

  /** The bytes of an answer that is no JSON. @throws AnchoringError */
  async askBytes(operation: Operation, options: WriteOptions): Promise<Uint8Array> {
    const { response } = await this.#send(operation, options);
    return response.body;
  }

  async #send(
    operation: Operation,
    options: WriteOptions,
  ): Promise<{ response: TransportResponse; requestId: string }> {
    const call = this.#callOf(operation, options);
    const response = await this.#exchange.send(call);
    return { response, requestId: response.headers["x-request-id"] ?? call.requestId };
  }

  #callOf(operation: Operation, options: WriteOptions): Call {
    const { timeoutMs, batchTimeoutMs } = this.#settings;
    const usual = (operation.isBatch === true ? batchTimeoutMs : timeoutMs) + (options.wait ?? 0) * 1000;
    return {
      method: operation.method ?? "GET",
      path: `${operation.path}${queryOf(operation.query)}`,
      body: operation.body ?? null,
      accept: operation.accept ?? "application/json",
      isWrite: operation.isWrite ?? false,
      isRepeatable: operation.isRepeatable ?? true,
      clientEventIds: operation.clientEventIds ?? [],
      requestId: requestIdOf(options.requestId),
      prefer: preferOf(options),
      timeoutMs: timeoutOf("timeoutMs", options.timeoutMs, usual),
      signal: options.signal ?? null,
      alsoAnswers: operation.alsoAnswers ?? [],
    };
  }
}

/** Readers do not know which request they read the answer of. */
function withRequestId<Result>(requestId: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (error instanceof AnchoringError && error.requestId === null) {
      throw new UnexpectedAnswer(error.message, { requestId, cause: error });
    }
    throw error;
  }
}
