import type { TrustRootChain } from "@event-anchoring/protocol";
import { InvalidInput } from "./errors.ts";
import type { FailedTry, SentRequest, Timing } from "./exchange.ts";
import { hex32 } from "./inputs.ts";
import type { Bytes32 } from "./inputs.ts";
import type { JsonBody } from "./json-body.ts";
import { nearestName } from "./nearest-name.ts";
import { randomUuid } from "./random-id.ts";
import { retryRule } from "./retry.ts";
import type { RetryPolicy, RetryRule } from "./retry.ts";
import { fetchTransport } from "./transport.ts";
import type { Transport } from "./transport.ts";

/** How a client is made. One of `endpoint` and `endpoints`. */
export interface ClientOptions {
  /** Base address of a node or gateway, such as `https://anchor.example:8443`. */
  readonly endpoint?: string | undefined;
  /** Base addresses of nodes of one cluster: if one does not answer, the next is asked. */
  readonly endpoints?: readonly string[] | undefined;
  /** Allows `http://` to other hosts than this one. Everybody on the path can read the API key, and use it. */
  readonly allowPlainHttp?: boolean | undefined;
  /** The access key. Without one only the public routes answer. It is never printed. */
  readonly apiKey?: string | undefined;
  /** The origin that writes go to. Absent: read from /healthz before the first write, then kept. */
  readonly originFingerprint?: Bytes32 | undefined;
  /** From `verifyTrustRoot`. Given, every receipt of an answer is verified before you see it. */
  readonly trustRoot?: TrustRootChain | undefined;
  /** Bounds for when to ask again; or a rule of your own, which may begin with `delayBeforeRetry`. */
  readonly retry?: Partial<RetryPolicy> | RetryRule | undefined;
  /** Told of every failed try that another one follows, before the pause between them. */
  readonly onRetry?: ((failed: FailedTry) => void) | undefined;
  /** Told of every request when it has its answer, or will get none: for a log. What it throws ends the call. */
  readonly onRequest?: ((sent: SentRequest) => void) | undefined;
  /** How long one try of a call may take. Default: 10,000 ms; a longer `wait` adds to it. */
  readonly timeoutMs?: number | undefined;
  /** The same for batches. Default: 30,000 ms. */
  readonly batchTimeoutMs?: number | undefined;
  /** How long a call may take with all its tries and pauses, in ms. Default: no bound but those of `retry`. */
  readonly deadlineMs?: number | undefined;
  /** Default: `fetchTransport()`. */
  readonly transport?: Transport | undefined;
  /** Clock, chance and waiting. For tests. */
  readonly timing?: Partial<Timing> | undefined;
}

/** What every call takes. */
export interface CallOptions {
  /** Ends the call. A write that was sent by then is an OutcomeUnknown. */
  readonly signal?: AbortSignal | undefined;
  /** For one try; instead of the client's. */
  readonly timeoutMs?: number | undefined;
  /** 1 to 64 of `A-Za-z0-9._-`; sent as `X-Request-Id`. Default: a new one. */
  readonly requestId?: string | undefined;
}

/** What writes take besides, and questions for an anchor or its receipt. */
export interface WriteOptions extends CallOptions {
  /** Answer 202 as soon as the anchor is committed, without waiting for its receipt. */
  readonly respondAsync?: boolean | undefined;
  /** How long the answer may take, in seconds, 1 to 30. Default: the service's own limit. */
  readonly wait?: number | undefined;
  /**
   * Wait, within that time, for a receipt that enough witnesses have cosigned. If none comes the receipt is of a head
   * that is certified: `verifyReceipt` says which it is, and `requireWitnessed` refuses the one.
   */
  readonly witnessed?: boolean | undefined;
}

/** What a batch takes besides. */
export interface BatchOptions extends WriteOptions {
  /** One refused item refuses all, with Conflict `batch_refused`. */
  readonly atomic?: boolean | undefined;
  /** The answer has each checkpoint once, which makes it smaller; the receipts of the result are whole all the same. */
  readonly sharedReceipts?: boolean | undefined;
}

/** The fields of a batch's body beside its events. */
export function batchFields({ atomic, sharedReceipts }: BatchOptions): JsonBody {
  return {
    ...(atomic === undefined ? {} : { atomic }),
    ...(sharedReceipts === true ? { receipts: "shared" } : {}),
  };
}

/** Options as they were read. */
export interface ClientSettings {
  readonly endpoints: readonly string[];
  readonly apiKey: string | null;
  readonly originFingerprint: string | null;
  readonly trustRoot: TrustRootChain | null;
  readonly retry: RetryRule;
  readonly onRetry: (failed: FailedTry) => void;
  readonly onRequest: (sent: SentRequest) => void;
  readonly timeoutMs: number;
  readonly batchTimeoutMs: number;
  readonly deadlineMs: number;
  readonly transport: Transport;
  readonly timing: Timing;
}

const API_KEY = /^[\x21-\x7e]{1,512}$/;
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;
const TIMEOUT_MS_MAX = 3_600_000;

function waitFor(ms: number, signal: AbortSignal | null): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal?.addEventListener("abort", finish, { once: true });
    if (signal?.aborted === true) finish();
  });
}

const REAL: Timing = {
  now: () => performance.now(),
  wallClock: () => Date.now(),
  chance: () => Math.random(),
  wait: waitFor,
};

/** Names and addresses of the host itself, as `URL` writes them. */
const THIS_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

function endpointOf(field: string, value: unknown, allowPlainHttp: boolean): string {
  const wanted = "expected an address such as https://anchor.example:8443, without user, query or fragment";
  if (typeof value !== "string") throw new InvalidInput(field, wanted);
  const isAddress = /^https?:\/\/[^\s/?#@\\]+(\/[^\s?#\\]*)?$/.test(value);
  const url = isAddress ? urlOf(value) : null;
  if (url === null) throw new InvalidInput(field, wanted);
  if (url.protocol === "http:" && !allowPlainHttp && !THIS_HOST.test(url.hostname)) {
    throw new InvalidInput(field, "plain http to another host would show the API key: see allowPlainHttp");
  }
  return value.replace(/\/+$/, "");
}

function urlOf(value: string): URL | null {
  try {
    return new URL(value);
  } catch {
    // The one thing that the constructor throws for; `URL.canParse` is younger than Node 18.
    return null;
  }
}

/** Every option, so that a misspelt one is not left out silently. */
const OPTIONS: { readonly [Name in keyof Required<ClientOptions>]: true } = {
  endpoint: true,
  endpoints: true,
  allowPlainHttp: true,
  apiKey: true,
  originFingerprint: true,
  trustRoot: true,
  retry: true,
  onRetry: true,
  onRequest: true,
  timeoutMs: true,
  batchTimeoutMs: true,
  deadlineMs: true,
  transport: true,
  timing: true,
};

function refuseUnknown(options: ClientOptions): void {
  const names = Object.keys(OPTIONS);
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const meant = nearestName(unknown, names);
  throw new InvalidInput(unknown, meant === null ? "there is no such option" : `did you mean ${meant}?`);
}

function endpointsOf({ endpoint, endpoints, allowPlainHttp = false }: ClientOptions): readonly string[] {
  if (endpoint !== undefined && endpoints !== undefined) throw new InvalidInput("endpoint", "give it or endpoints");
  if (endpoint !== undefined) return [endpointOf("endpoint", endpoint, allowPlainHttp)];
  if (!Array.isArray(endpoints) || endpoints.length === 0) throw new InvalidInput("endpoints", "expected at least one");
  return endpoints.map((each: unknown, at) => endpointOf(`endpoints[${at}]`, each, allowPlainHttp));
}

/** @throws InvalidInput */
export function timeoutOf(field: string, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  if (typeof value === "number" && value > 0 && value <= TIMEOUT_MS_MAX) return value;
  throw new InvalidInput(field, `expected milliseconds above 0, up to ${TIMEOUT_MS_MAX}`);
}

/** @throws InvalidInput; the API key is never part of the message */
export function clientSettings(options: ClientOptions): ClientSettings {
  refuseUnknown(options);
  const { apiKey, originFingerprint } = options;
  if (apiKey !== undefined && (typeof apiKey !== "string" || !API_KEY.test(apiKey))) {
    throw new InvalidInput("apiKey", "expected printable ASCII without spaces");
  }
  return {
    endpoints: endpointsOf(options),
    apiKey: apiKey ?? null,
    originFingerprint: originFingerprint === undefined ? null : hex32("originFingerprint", originFingerprint),
    trustRoot: options.trustRoot ?? null,
    retry: retryRule(options.retry),
    onRetry: options.onRetry ?? (() => undefined),
    onRequest: options.onRequest ?? (() => undefined),
    timeoutMs: timeoutOf("timeoutMs", options.timeoutMs, 10_000),
    batchTimeoutMs: timeoutOf("batchTimeoutMs", options.batchTimeoutMs, 30_000),
    deadlineMs: timeoutOf("deadlineMs", options.deadlineMs, Number.POSITIVE_INFINITY),
    transport: options.transport ?? fetchTransport(),
    timing: { ...REAL, ...options.timing },
  };
}

/** @throws InvalidInput */
export function chosenRequestId(given: string | undefined): string {
  if (given === undefined) return randomUuid();
  if (typeof given === "string" && REQUEST_ID.test(given)) return given;
  throw new InvalidInput("requestId", "expected 1 to 64 of A-Za-z0-9._-");
}

/** The `Prefer` header. @throws InvalidInput */
export function preferOf({ respondAsync, wait, witnessed }: WriteOptions): string | null {
  if (wait !== undefined && (!Number.isSafeInteger(wait) || wait < 1 || wait > 30)) {
    throw new InvalidInput("wait", "expected seconds from 1 to 30");
  }
  const parts = [
    respondAsync === true ? "respond-async" : "",
    wait === undefined ? "" : `wait=${wait}`,
    witnessed === true ? "witnessed" : "",
  ];
  return parts.filter((part) => part !== "").join(", ") || null;
}
