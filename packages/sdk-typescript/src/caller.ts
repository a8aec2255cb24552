import type { Reader } from "./answer-reader.ts";
import type { Answered } from "./answers.ts";
import { chosenRequestId, preferOf, timeoutOf } from "./client-options.ts";
import type { CallOptions, ClientSettings, WriteOptions } from "./client-options.ts";
import { InvalidInput, UnexpectedAnswer } from "./errors.ts";
import { Exchange, answerJson, outcomeUnknown, requestIdOf } from "./exchange.ts";
import type { Call } from "./exchange.ts";
import type { JsonBody } from "./json-body.ts";
import { RawAnswer, readAnswer } from "./raw-request.ts";
import type { RawRequest } from "./raw-request.ts";

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
  /** The client event ids of the events in the body. */
  readonly clientEventIds?: readonly (string | null)[] | undefined;
  readonly isBatch?: boolean | undefined;
  /** The last event that was taken of a stream. */
  readonly lastEventId?: string | undefined;
  /** How much longer than usual the service may take. */
  readonly waitMs?: number | undefined;
  /** It needs no API key, and gets none unless it is welcome. */
  readonly isPublic?: boolean | undefined;
  /** The route is public, but shows more to a key: the key is sent if there is one. */
  readonly isKeyWelcome?: boolean | undefined;
  /** Default: 200, 201 and 202. */
  readonly isAnswer?: ((status: number) => boolean) | undefined;
}

/** A public log shows it to anybody; another one refuses who has no key. */
export const OPEN = { isPublic: true, isKeyWelcome: true } as const;

const isSuccess = (status: number): boolean => [200, 201, 202].includes(status);

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

  /**
   * @throws AnchoringError; OutcomeUnknown also if the answer to a write cannot be read, for it may be recorded
   */
  async ask<Result extends object>(
    operation: Operation,
    read: Reader<Result>,
    options: WriteOptions,
  ): Promise<Answered<Result>> {
    const call = this.#callOf(operation, options);
    const response = await this.#exchange.send(call);
    const requestId = requestIdOf(response, call.requestId);
    try {
      return Object.assign(
        readAnswer(response, requestId, () => read(answerJson(response), "the body")),
        { requestId },
      );
    } catch (error) {
      if (!call.isWrite || !(error instanceof UnexpectedAnswer)) throw error;
      throw outcomeUnknown(call, `, for ${error.message}`, { requestId, endpoint: response.endpoint, cause: error });
    }
  }

  /** An answer that is no JSON. @throws AnchoringError */
  async askBytes<Result>(
    operation: Operation,
    read: (body: Uint8Array) => Result,
    options: CallOptions,
  ): Promise<Result> {
    const call = this.#callOf(operation, options);
    const response = await this.#exchange.send(call);
    return readAnswer(response, requestIdOf(response, call.requestId), () => read(response.body));
  }

  /** One try of an answer without an end: its bytes as they come. @throws AnchoringError also when it ends */
  stream(operation: Operation, options: CallOptions): AsyncGenerator<Uint8Array> {
    return this.#exchange.stream(this.#callOf(operation, options));
  }

  /** An answer of which nothing is read. @throws AnchoringError */
  async request(request: RawRequest, options: WriteOptions): Promise<RawAnswer> {
    const isRead = request.method !== "POST";
    const { isWrite = !isRead, isRepeatable = isRead } = request;
    const call = this.#callOf({ ...request, isWrite, isRepeatable, isPublic: true, isKeyWelcome: true }, options);
    const response = await this.#exchange.send(call);
    return new RawAnswer(response, requestIdOf(response, call.requestId));
  }

  #callOf(operation: Operation, options: WriteOptions): Call {
    const { apiKey, timeoutMs, batchTimeoutMs } = this.#settings;
    const needsKey = operation.isPublic !== true;
    if (needsKey && apiKey === null) throw new InvalidInput("apiKey", "this call needs an API key");
    const waitMs = (options.wait ?? 0) * 1000 + (operation.waitMs ?? 0);
    const usual = (operation.isBatch === true ? batchTimeoutMs : timeoutMs) + waitMs;
    return {
      method: operation.method ?? "GET",
      path: `${operation.path}${queryOf(operation.query)}`,
      body: operation.body ?? null,
      accept: operation.accept ?? "application/json",
      apiKey: needsKey || operation.isKeyWelcome === true ? apiKey : null,
      isWrite: operation.isWrite ?? false,
      isRepeatable: operation.isRepeatable ?? true,
      clientEventIds: operation.clientEventIds ?? [],
      requestId: chosenRequestId(options.requestId),
      prefer: preferOf(options),
      lastEventId: operation.lastEventId ?? null,
      timeoutMs: timeoutOf("timeoutMs", options.timeoutMs, usual),
      waitMs,
      signal: options.signal ?? null,
      isAnswer: operation.isAnswer ?? isSuccess,
    };
  }
}
