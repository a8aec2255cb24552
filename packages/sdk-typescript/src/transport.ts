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

/** @throws TransportFailure whenever there is no whole answer */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;

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

async function readBody(response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  if (response.body !== null) {
    // A body is read as it comes, for its length header may lie.
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      length += chunk.length;
      if (length > BODY_BYTES_MAX) {
        throw new TransportFailure("too_large", `an answer of more than ${BODY_BYTES_MAX} bytes`, { wasSent: true });
      }
      chunks.push(chunk);
    }
  }
  return Uint8Array.from(Buffer.concat(chunks));
}

/**
 * Requests by `fetch`. Redirects are not followed: an API key goes to the endpoint that was configured, and nowhere
 * else.
 * @param fetchFunction another `fetch`, of a proxy agent or a private CA, say. Default: the runtime's
 */
export function fetchTransport(fetchFunction: typeof fetch = fetch): Transport {
  return async (request) => {
    const { method, url, headers, body, timeoutMs, signal } = request;
    const isCancelled = (): boolean => signal?.aborted === true;
    if (isCancelled()) {
      throw new TransportFailure("cancelled", "cancelled by the caller", { wasSent: false, cause: signal?.reason });
    }
    const controller = new AbortController();
    let isTimedOut = false;
    const timer = setTimeout(() => {
      isTimedOut = true;
      controller.abort();
    }, timeoutMs);
    const cancel = (): void => controller.abort();
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      const response = await fetchFunction(url, {
        method,
        headers,
        body,
        redirect: "manual",
        signal: controller.signal,
      });
      const bytes = await readBody(response);
      return { status: response.status, headers: Object.fromEntries(response.headers), body: bytes };
    } catch (error) {
      throw failureOf(error, isTimedOut, isCancelled());
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
    }
  };
}
