/** Requests by their path, and answers as they came. */
import { readObject } from "./answer-reader.ts";
import type { Reader } from "./answer-reader.ts";
import { UnexpectedAnswer } from "./errors.ts";
import { answerJson } from "./exchange.ts";
import type { EndpointResponse } from "./exchange.ts";
import type { JsonBody } from "./json-body.ts";

/** A request to any route: one that this version has no method for, or whose answer is to be passed on as it came. */
export interface RawRequest {
  /** Default: GET. */
  readonly method?: "GET" | "POST" | undefined;
  /** From the root, such as `/v1/limits`, without a query. */
  readonly path: string;
  /** Percent-encoded; null and undefined are left out. */
  readonly query?: Readonly<Record<string, string | number | null | undefined>> | undefined;
  readonly body?: JsonBody | null | undefined;
  /** Media types. Default: `application/json`. */
  readonly accept?: string | undefined;
  /** It may have an effect, so that no answer is an OutcomeUnknown. Default: true of a POST. */
  readonly isWrite?: boolean | undefined;
  /** Sending it again has no further effect: it reads, or is known by an id or its content. Default: true of a GET. */
  readonly isRepeatable?: boolean | undefined;
  /** Which statuses are answers; the others are asked again, or thrown. Default: 200, 201 and 202. */
  readonly isAnswer?: ((status: number) => boolean) | undefined;
}

/** An answer of which nothing is checked. It may be attacker-controlled. */
export class RawAnswer {
  readonly status: number;
  /** Base address of the node that answered. */
  readonly endpoint: string;
  /** `X-Request-Id`, to be quoted to the operators of the service. */
  readonly requestId: string;
  readonly body: Uint8Array;
  readonly #response: EndpointResponse;

  constructor(response: EndpointResponse, requestId: string) {
    this.status = response.status;
    this.endpoint = response.endpoint;
    this.body = response.body;
    this.requestId = requestId;
    this.#response = response;
  }

  /** The members of the body's JSON object. @throws UnexpectedAnswer if the body is not an object */
  json(): Readonly<Record<string, unknown>> {
    return this.read(readObject);
  }

  /** What a reader, of `readers` or of your own, makes of the body's JSON. @throws UnexpectedAnswer */
  read<Value>(reader: Reader<Value>): Value {
    return readAnswer(this.#response, this.requestId, (response) => reader(answerJson(response), "the body"));
  }
}

/** Readers do not know which request they read the answer of. */
export function readAnswer<Result>(
  response: EndpointResponse,
  requestId: string,
  read: (response: EndpointResponse) => Result,
): Result {
  try {
    return read(response);
  } catch (error) {
    if (!(error instanceof UnexpectedAnswer)) throw error;
    const { endpoint } = response;
    throw new UnexpectedAnswer(error.message, { requestId, endpoint, cause: error });
  }
}
