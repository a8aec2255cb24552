import type { IncomingMessage } from "node:http";
import type { Route } from "@event-anchoring/api-contract";
import type { CallerKey } from "@event-anchoring/control-contract";
import type { Credential, Scope } from "@event-anchoring/ledger";
import { RefusedError } from "../control-plane/control-plane.ts";
import { within } from "../request/deadline.ts";
import type { Deadline } from "../request/deadline.ts";
import { problemError } from "../request/problem-error.ts";
import type { KeyTable } from "./key-table.ts";
import type { RateLimiter } from "./rate-limiter.ts";

/** Who calls: known after the API key was checked. */
export interface Caller {
  readonly credential: Credential;
  readonly scopes: readonly Scope[];
  readonly isAdmin: boolean;
}

/** The scheme's name is case-insensitive (RFC 9110 section 11.1); the token is what follows one space or more. */
const BEARER = /^bearer +([^\s,]+)$/i;

/** The key as presented; null if there is none, or two that differ. Attacker-controlled. */
function presentedKey(request: IncomingMessage): string | null {
  const { authorization } = request.headers;
  const bearer = authorization === undefined ? null : (BEARER.exec(authorization)?.[1] ?? "");
  const plain = request.headers["x-api-key"];
  const header = typeof plain === "string" ? plain : null;
  if (bearer !== null && header !== null && bearer !== header) return null;
  return bearer ?? header;
}

/** Whether the request shows anything in the place of a key, good or bad. */
export function showsKey({ headers }: IncomingMessage): boolean {
  return headers.authorization !== undefined || headers["x-api-key"] !== undefined;
}

function callerOf({ apiClientId, keyId, scopes }: CallerKey): Caller {
  return { credential: { apiClientId, keyId }, scopes, isAdmin: scopes.includes("admin") };
}

/**
 * One load of the table may take a second and fail, for example while leadership moves; the request may have more time.
 */
async function findKey(presented: string, keys: KeyTable, deadline: Deadline): Promise<CallerKey | null> {
  for (;;) {
    try {
      const key = await within(keys.find(presented), deadline.remainingMs, "late");
      if (key === "late") throw new RefusedError("deadline_exceeded", "the key table did not come in time");
      return key;
    } catch (error) {
      const isLate = error instanceof RefusedError && error.code === "deadline_exceeded";
      if (!isLate || deadline.remainingMs <= 0) throw error;
    }
  }
}

/** How long a public answer waits for the key table: it can be given without it. */
const OPTIONAL_KEY_TIMEOUT_MS = 300;

/**
 * The caller of a public route that shows readers more. A bad key, or one that cannot be looked up now, makes it a
 * stranger: null.
 */
export async function readerOf(request: IncomingMessage, keys: KeyTable): Promise<Caller | null> {
  const presented = presentedKey(request);
  if (presented === null) return null;
  try {
    const key = await within(keys.find(presented), OPTIONAL_KEY_TIMEOUT_MS, null);
    return key !== null && key.scopes.includes("read") ? callerOf(key) : null;
  } catch (error) {
    if (error instanceof RefusedError) return null;
    throw error;
  }
}

/** Whether a request that was let in once would be let in again. A table that cannot be read now ends nobody. */
export async function isStillAllowed(
  request: IncomingMessage,
  { scopes }: Pick<Route, "scopes">,
  keys: KeyTable,
): Promise<boolean> {
  const presented = presentedKey(request);
  if (scopes === null || presented === null) return scopes === null;
  try {
    const key = await keys.find(presented);
    return key !== null && scopes.some((scope) => key.scopes.includes(scope));
  } catch (error) {
    if (error instanceof RefusedError) return true;
    throw error;
  }
}

/**
 * The early check of the API key: the ledger checks it again when it decides a write.
 * @param scopes any one of them is enough
 * @throws ProblemError `api_key_invalid`, `scope_missing`, `rate_limited`, in this order
 */
export async function authenticate(
  request: IncomingMessage,
  scopes: readonly Scope[],
  deadline: Deadline,
  { keys, limiter }: { readonly keys: KeyTable; readonly limiter: RateLimiter },
): Promise<Caller> {
  const presented = presentedKey(request);
  const key = presented === null ? null : await findKey(presented, keys, deadline);
  if (key === null) throw problemError("api_key_invalid");
  if (!scopes.some((scope) => key.scopes.includes(scope))) throw problemError("scope_missing");
  limiter.take(key);
  return callerOf(key);
}
