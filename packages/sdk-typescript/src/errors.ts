/**
 * Everything that this package throws. Match on the class or on `code`, which is stable; messages are for people.
 *
 *     AnchoringError
 *     ├── InvalidInput            a value of yours, refused before anything was signed or sent; `field` names it
 *     ├── SigningFailed           a signer gave no signature, or one that its public key refuses
 *     ├── ConnectionFailed        no endpoint could be reached: nothing was recorded
 *     ├── TimedOut                a read was not answered in time
 *     ├── Cancelled               your AbortSignal ended a call that had no effect
 *     ├── OutcomeUnknown          a write was sent and may have been recorded: ask again, the same `clientEventId`
 *     ├── UnexpectedAnswer        an answer that is not of the API
 *     ├── ApiProblem              the service refused (RFC 9457): `status`, `code`, `errors`, `pointers`
 *     │   ├── Unauthorized        401
 *     │   ├── Forbidden           403
 *     │   ├── NotFound            404, 410
 *     │   ├── Conflict            409
 *     │   ├── Unprocessable       422
 *     │   ├── RateLimited         429, with `retryAfter`
 *     │   └── Unavailable         5xx, with `retryAfter`
 *     └── VerificationError       what was checked offline is not what it should be
 *         ├── Rollback            an older state than one seen before
 *         └── SplitView           two states that cannot both be of one log
 *
 * @module
 */

import { nameClass } from "./class-names.ts";

/** What may come with an error. */
export interface ErrorContext {
  readonly requestId?: string | undefined;
  /** Seconds. */
  readonly retryAfter?: number | undefined;
  readonly endpoint?: string | undefined;
  readonly cause?: unknown;
}

/** Base of all errors of this package. */
export class AnchoringError extends Error {
  static {
    nameClass(this, "AnchoringError");
  }

  /** What happened, as a stable word. */
  readonly code: string;
  /** `X-Request-Id` of the call, to be quoted to the operators of the service; null if nothing was asked. */
  readonly requestId: string | null;
  /** Seconds after which asking again makes sense; null: it does not, or nothing was said. */
  readonly retryAfter: number | null;
  /** Base address of the node that was asked last; null if nothing was asked. */
  readonly endpoint: string | null;

  constructor(code: string, message: string, context: ErrorContext = {}) {
    super(message, "cause" in context ? { cause: context.cause } : undefined);
    this.code = code;
    this.requestId = context.requestId ?? null;
    this.retryAfter = context.retryAfter ?? null;
    this.endpoint = context.endpoint ?? null;
  }
}

/** A value of the caller's that cannot be meant. Nothing was signed or sent. */
export class InvalidInput extends AnchoringError {
  static {
    nameClass(this, "InvalidInput");
  }

  /** The argument at fault, as this package names it: `semanticAnchor.irisRef` for a member. */
  readonly field: string;

  constructor(field: string, message: string) {
    super("invalid_input", `${field}: ${message}`);
    this.field = field;
  }
}

/** A signer gave something else than a signature by its public key over the bytes that it was given. */
export class SigningFailed extends AnchoringError {
  static {
    nameClass(this, "SigningFailed");
  }

  constructor(message: string, context: ErrorContext = {}) {
    super("signing_failed", message, context);
  }
}

/** No endpoint could be reached, or a connection was lost during a read. Nothing was recorded. */
export class ConnectionFailed extends AnchoringError {
  static {
    nameClass(this, "ConnectionFailed");
  }

  constructor(message: string, context: ErrorContext = {}) {
    super("connection_failed", message, context);
  }
}

/** A read was not answered, by any endpoint, within its time. Asking again is safe. */
export class TimedOut extends AnchoringError {
  static {
    nameClass(this, "TimedOut");
  }

  constructor(message: string, context: ErrorContext = {}) {
    super("timeout", message, context);
  }
}

/** The caller's AbortSignal ended a read, or a write before it was sent. */
export class Cancelled extends AnchoringError {
  static {
    nameClass(this, "Cancelled");
  }

  constructor(message: string, context: ErrorContext = {}) {
    super("cancelled", message, context);
  }
}

/**
 * A write was sent, and whether it was recorded is not known.
 *
 * Ask again with the same `clientEventId`: what was recorded is then replayed, not recorded twice. Claims, grants and
 * revocations are known by their content; send the same once more. An event that was sent without an id would be a
 * second event.
 */
export class OutcomeUnknown extends AnchoringError {
  static {
    nameClass(this, "OutcomeUnknown");
  }

  /** The event's id; null for a batch, for records recognised by their content, and if the caller forbade an id. */
  readonly clientEventId: string | null;
  /** The ids of a batch's events, in order; for one event its own id; for other records none. */
  readonly clientEventIds: readonly (string | null)[];

  constructor(message: string, clientEventIds: readonly (string | null)[], context: ErrorContext = {}) {
    super("outcome_unknown", message, context);
    this.clientEventIds = clientEventIds;
    this.clientEventId = clientEventIds.length === 1 ? (clientEventIds[0] ?? null) : null;
  }
}

/** An answer that is not of the API: by a proxy in between, by another service, or cut off. */
export class UnexpectedAnswer extends AnchoringError {
  static {
    nameClass(this, "UnexpectedAnswer");
  }

  constructor(message: string, context: ErrorContext = {}) {
    super("answer_malformed", message, context);
  }
}

/** One place where a request is wrong. */
export interface ProblemItem {
  /** RFC 6901, into the body that was sent. */
  readonly pointer: string | null;
  /** A parameter of query or path, or a header. */
  readonly parameter: string | null;
  readonly code: string;
  readonly detail: string;
}

export interface ProblemContext extends ErrorContext {
  readonly status: number;
  readonly title?: string | undefined;
  readonly errors?: readonly ProblemItem[] | undefined;
  readonly members?: Readonly<Record<string, unknown>> | undefined;
}

/** The service refused the request: an RFC 9457 problem. `code` is that of docs/API.md, "Problems". */
export class ApiProblem extends AnchoringError {
  static {
    nameClass(this, "ApiProblem");
  }

  /** HTTP status. */
  readonly status: number;
  /** What `code` means, for people. */
  readonly title: string;
  readonly errors: readonly ProblemItem[];
  /** All members by their wire names, such as `anchor_id` and `state` of `no_active_claim`. */
  readonly members: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, context: ProblemContext) {
    super(code, message, context);
    this.status = context.status;
    this.title = context.title ?? "";
    this.errors = context.errors ?? [];
    this.members = context.members ?? {};
  }

  /** JSON pointers (RFC 6901) into the body that was sent. */
  get pointers(): readonly string[] {
    return this.errors.flatMap(({ pointer }) => pointer ?? []);
  }
}

/** 401: the API key is missing, malformed, unknown, expired or revoked. */
export class Unauthorized extends ApiProblem {
  static {
    nameClass(this, "Unauthorized");
  }
}

/** 403: the API key lacks the scope of the route, or another API client recorded the anchor (`not_own_record`). */
export class Forbidden extends ApiProblem {
  static {
    nameClass(this, "Forbidden");
  }
}

/** 404, or 410 for an erased `client_event_id`. */
export class NotFound extends ApiProblem {
  static {
    nameClass(this, "NotFound");
  }
}

/** 409: the ledger holds something that excludes this. */
export class Conflict extends ApiProblem {
  static {
    nameClass(this, "Conflict");
  }
}

/** 422: well formed, and against the rules of the ledger. */
export class Unprocessable extends ApiProblem {
  static {
    nameClass(this, "Unprocessable");
  }
}

/** 429, after as many tries as the retry policy allows. */
export class RateLimited extends ApiProblem {
  static {
    nameClass(this, "RateLimited");
  }
}

/** 5xx, after as many tries as the retry policy allows. Asking again later is safe where it was then. */
export class Unavailable extends ApiProblem {
  static {
    nameClass(this, "Unavailable");
  }
}

/** One step of a verification. */
export interface VerificationStep {
  readonly code: string;
  readonly result: "pass" | "fail" | "not_checked";
  /** For people. */
  readonly detail: string;
}

export interface VerificationContext {
  readonly step?: string | undefined;
  readonly steps?: readonly VerificationStep[] | undefined;
  readonly result?: unknown;
  readonly cause?: unknown;
}

/** Bytes, texts or proofs that are not what they should be. Thrown by all that verifies or reads offline. */
export class VerificationError extends AnchoringError {
  static {
    nameClass(this, "VerificationError");
  }

  /**
   * The step of a receipt or the check of a bundle that failed. If a bundle is not proved: the first check that was not
   * made. null where there are no steps.
   */
  readonly step: string | null;
  /** All of them, in their order. */
  readonly steps: readonly VerificationStep[];
  /** The whole report, or the evidence; null where there is none. */
  readonly result: unknown;

  constructor(code: string, message: string, context: VerificationContext = {}) {
    super(code, message, "cause" in context ? { cause: context.cause } : {});
    this.step = context.step ?? null;
    this.steps = context.steps ?? [];
    this.result = context.result ?? null;
  }
}

/** A log, or a trust root, that is older than what was seen before. `result` holds both. */
export class Rollback extends VerificationError {
  static {
    nameClass(this, "Rollback");
  }
}

/** Two states that cannot both be of one append-only log: somebody is shown another history. `result` holds both. */
export class SplitView extends VerificationError {
  static {
    nameClass(this, "SplitView");
  }
}
