/**
 * What a route is: one row, with its path as the client writes it, who may call it, what it takes, what it answers and
 * how it can fail.
 */
import type { z } from "zod";
import { LIMITS } from "./limits.ts";
import type { ProblemCode } from "./problems.ts";
import { emptyQuerySchema } from "./requests.ts";

export type Scope = "read" | "write" | "revoke" | "admin";

/** Where the reference lists a route. */
export type RouteTag = "events" | "claims" | "grants" | "log" | "node" | "reference";

export interface Route {
  /** Name of the operation, for handlers, metrics and generated clients. */
  readonly id: string;
  readonly method: "GET" | "POST";
  /** As on the wire: colons are literal, `{name}` is a parameter. */
  readonly path: string;
  /** Whether the last parameter is all that is left of the path, slashes included. */
  readonly isTail: boolean;
  readonly tag: RouteTag;
  readonly summary: string;
  /** Markdown. */
  readonly description: string;
  /** Any one of these is enough; null = public: no API key is asked for. */
  readonly scopes: readonly [Scope, ...Scope[]] | null;
  /** Whether a public route tells more to a key with `read`. */
  readonly tellsReadersMore: boolean;
  /** Whether it takes no key on a public log. Such a route shows only what a certificate covers. */
  readonly isOpenOnPublicLog: boolean;
  readonly pathSchema: z.ZodType | null;
  readonly querySchema: z.ZodType;
  /** null = the route takes no body. */
  readonly bodySchema: z.ZodType | null;
  /** Whether no body, or an empty one, is `{}`. */
  readonly isBodyOptional: boolean;
  readonly bodyBytesMax: number;
  readonly timeoutMs: number;
  /** Which preferences of `Prefer` are honoured; `wait` is not listed: it is honoured where any is. */
  readonly preferences: readonly ("respond-async" | "witnessed")[];
  /** Schemas of the good answers by status; null = not JSON. */
  readonly answers: Readonly<Record<number, z.ZodType | null>>;
  /** What a good answer may be besides JSON, or instead of it: text, or bytes if the type is no `text/`. */
  readonly mediaTypes: readonly string[];
  /** Schemas of the events of a stream, by their names; null: the answer is no stream. */
  readonly events: Readonly<Record<string, z.ZodType>> | null;
  /** What it can answer beyond what every route can. */
  readonly problems: readonly ProblemCode[];
}

/** Any route can answer these. */
export const COMMON_PROBLEMS: readonly ProblemCode[] = [
  "http_invalid",
  "headers_too_large",
  "request_timeout",
  "route_not_found",
  "method_not_allowed",
  "invalid_request",
  "internal_error",
];

const AUTH_PROBLEMS: readonly ProblemCode[] = ["api_key_invalid", "scope_missing", "rate_limited"];
const BODY_PROBLEMS: readonly ProblemCode[] = ["media_type_unsupported", "body_too_large", "json_invalid"];
export const NODE_PROBLEMS: readonly ProblemCode[] = [
  "deadline_exceeded",
  "overloaded",
  "no_leader",
  "certification_stalled",
  "origin_contradicted",
  "not_initialised",
  "unavailable",
  "fenced",
  "halted",
];
export const READ_PROBLEMS: readonly ProblemCode[] = [...AUTH_PROBLEMS, ...NODE_PROBLEMS];
/** What any write can meet, whatever it writes. */
export const WRITE_PROBLEMS: readonly ProblemCode[] = [
  ...AUTH_PROBLEMS,
  ...BODY_PROBLEMS,
  "outcome_unknown",
  ...NODE_PROBLEMS,
  "clock_unsafe",
  "storage_full",
];
export const VERIFY_PROBLEMS: readonly ProblemCode[] = [...READ_PROBLEMS, ...BODY_PROBLEMS, "as_of_future"];
/** What a route can answer besides, if a proof is asked for. */
export const PROOF_PROBLEMS: readonly ProblemCode[] = ["proof_too_large", "state_not_signed"];

interface RouteRow extends Pick<Route, "id" | "method" | "path" | "tag" | "summary" | "description" | "answers"> {
  readonly scopes?: Route["scopes"];
  readonly tellsReadersMore?: boolean;
  readonly isOpenOnPublicLog?: boolean;
  readonly isTail?: boolean;
  readonly pathSchema?: z.ZodType;
  readonly querySchema?: z.ZodType;
  readonly bodySchema?: z.ZodType;
  readonly isBodyOptional?: boolean;
  readonly bodyBytesMax?: number;
  readonly timeoutMs?: number;
  readonly preferences?: Route["preferences"];
  readonly mediaTypes?: readonly string[];
  readonly events?: NonNullable<Route["events"]>;
  readonly problems?: readonly ProblemCode[];
}

export function route<const Row extends RouteRow>(row: Row): Route & Pick<Row, "id"> {
  return {
    scopes: null,
    tellsReadersMore: false,
    isOpenOnPublicLog: false,
    isTail: false,
    pathSchema: null,
    querySchema: emptyQuerySchema,
    bodySchema: null,
    isBodyOptional: false,
    bodyBytesMax: row.bodySchema === undefined ? 0 : LIMITS.bodyBytesMax,
    timeoutMs: LIMITS.readTimeoutMs,
    preferences: [],
    mediaTypes: [],
    events: null,
    problems: [],
    ...row,
  };
}

/** A route that appends one record. */
export const WRITING = {
  method: "POST",
  timeoutMs: LIMITS.writeTimeoutMs,
  preferences: ["respond-async", "witnessed"],
} as const;
