/** How requests leave. The default uses the runtime's `fetch`; a function of yours can stand in for it. */

export interface TransportRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text; null: no body. */
  readonly body: string | null;
  /** No answer is wanted later than this. */
  readonly timeoutMs: number;
  /** The caller's own wish to stop. */
  readonly signal: AbortSignal | null;
}

export interface TransportResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
}

/** An answer that is read as it comes. */
export interface TransportStream {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /**
   * Its bytes, until the other side ends it. Who leaves the loop closes the connection.
   * @throws TransportFailure also if nothing has come for `timeoutMs` while it was waited for
   */
  readonly body: AsyncIterable<Uint8Array>;
}

/** What carries requests. */
export interface Transport {
  /** @throws TransportFailure whenever there is no whole answer */
  (request: TransportRequest): Promise<TransportResponse>;
  /** The same for an answer without an end. A client whose transport has none cannot follow heads. */
  readonly open?: ((request: TransportRequest) => Promise<TransportStream>) | undefined;
}

export type TransportFailureKind = "unreachable" | "lost" | "timeout" | "cancelled" | "too_large";

/** There is no answer. `wasSent` is true unless it is certain that the request did not leave. */
export class TransportFailure extends Error {
  readonly kind: TransportFailureKind;
  readonly wasSent: boolean;

  constructor(kind: TransportFailureKind, message: string, options: { wasSent: boolean; cause?: unknown }) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = "TransportFailure";
    this.kind = kind;
    this.wasSent = options.wasSent;
  }
}

/** Largest body of an answer: a batch of 1,000 with its receipts is about 5 MB. */
const BODY_BYTES_MAX = 64 * 1024 * 1024;

/** Codes of Node, undici and OpenSSL that come before a request has left. */
const NEVER_SENT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "UND_ERR_CONNECT_TIMEOUT",
  "ERR_INVALID_URL",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/**
 * The codes along the chain of causes; several addresses of one name fail as an AggregateError. By shape, not by class:
 * an error of Node's own is no instance of the Error of another realm.
 */
function codesOf(error: unknown): string[] {
  if (typeof error !== "object" || error === null) return [];
  const { code, errors, cause } = error as Readonly<Record<string, unknown>>;
  const inner = Array.isArray(errors) ? errors.flatMap((each: unknown) => codesOf(each)) : [];
  return [...(typeof code === "string" ? [code] : []), ...inner, ...codesOf(cause)];
}

function failureOf(error: unknown, isTimedOut: boolean, isCancelled: boolean): TransportFailure {
  if (error instanceof TransportFailure) return error;
  if (isCancelled) return new TransportFailure("cancelled", "cancelled by the caller", { wasSent: true, cause: error });
  if (isTimedOut) return new TransportFailure("timeout", "no answer in time", { wasSent: true, cause: error });
  const codes = codesOf(error);
  const isUnreachable = codes.length > 0 && codes.every((code) => NEVER_SENT.has(code));
  const reason = codes[0] ?? (error instanceof Error ? error.message : "unknown");
  return isUnreachable
    ? new TransportFailure("unreachable", `unreachable (${reason})`, { wasSent: false, cause: error })
    : new TransportFailure("lost", `the connection was lost (${reason})`, { wasSent: true, cause: error });
}

/** A body is read as it comes, for its length header may lie. */
export async function readBody(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > BODY_BYTES_MAX) {
      throw new TransportFailure("too_large", `an answer of more than ${BODY_BYTES_MAX} bytes`, { wasSent: true });
    }
    chunks.push(chunk);
  }
  const joined = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    joined.set(chunk, offset);
    offset += chunk.length;
  }
  return joined;
}

/** One request under way: what may end it early, and what a failure then is. */
class Flight {
  readonly #request: TransportRequest;
  readonly #controller = new AbortController();
  readonly #cancel = (): void => this.#controller.abort();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isTimedOut = false;

  constructor(request: TransportRequest) {
    const { signal } = request;
    if (signal?.aborted === true) {
      throw new TransportFailure("cancelled", "cancelled by the caller", { wasSent: false, cause: signal.reason });
    }
    this.#request = request;
    signal?.addEventListener("abort", this.#cancel, { once: true });
  }

  /** From now on what comes has to come within the request's time. */
  startClock(): void {
    this.stopClock();
    this.#timer = setTimeout(() => {
      this.#isTimedOut = true;
      this.#controller.abort();
    }, this.#request.timeoutMs);
  }

  stopClock(): void {
    clearTimeout(this.#timer);
  }

  send(fetchFunction: typeof fetch): Promise<Response> {
    const { method, url, headers, body } = this.#request;
    const { signal } = this.#controller;
    return fetchFunction(url, { method, headers, body, redirect: "manual", signal });
  }

  failureOf(error: unknown): TransportFailure {
    return failureOf(error, this.#isTimedOut, this.#request.signal?.aborted === true);
  }

  end(): void {
    this.stopClock();
    this.#request.signal?.removeEventListener("abort", this.#cancel);
    this.#controller.abort();
  }
}

/** The chunks of a stream. By its reader: not every browser can iterate over one. */
async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  let isLeft = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      isLeft = true;
      yield value;
      isLeft = false;
    }
  } finally {
    if (isLeft) await reader.cancel();
  }
}

/** The bytes of an answer as they come; the clock runs while the next ones are waited for. */
async function* bodyOf(response: Response, flight: Flight): AsyncGenerator<Uint8Array> {
  try {
    if (response.body === null) return;
    flight.startClock();
    for await (const chunk of chunksOf(response.body)) {
      flight.stopClock();
      yield chunk;
      flight.startClock();
    }
  } catch (error) {
    throw flight.failureOf(error);
  } finally {
    flight.end();
  }
}

/**
 * Requests by `fetch`. Redirects are not followed: an API key goes to the endpoint that was configured, and nowhere
 * else.
 * @param fetchFunction another `fetch`, of a proxy agent or a private CA, say. Default: the runtime's
 */
export function fetchTransport(fetchFunction: typeof fetch = fetch): Transport {
  const send = async (request: TransportRequest): Promise<TransportResponse> => {
    const flight = new Flight(request);
    try {
      flight.startClock();
      const { status, headers, body } = await flight.send(fetchFunction);
      const bytes = body === null ? new Uint8Array() : await readBody(chunksOf(body));
      return { status, headers: Object.fromEntries(headers), body: bytes };
    } catch (error) {
      throw flight.failureOf(error);
    } finally {
      flight.end();
    }
  };
  const open = async (request: TransportRequest): Promise<TransportStream> => {
    const flight = new Flight(request);
    try {
      flight.startClock();
      const response = await flight.send(fetchFunction);
      const { status, headers } = response;
      return { status, headers: Object.fromEntries(headers), body: bodyOf(response, flight) };
    } catch (error) {
      flight.end();
      throw flight.failureOf(error);
    }
  };
  return Object.assign(send, { open });
}
