import type { IncomingMessage } from "node:http";
import type { Scope } from "@event-anchoring/api-contract";
import type { ApiKey } from "@event-anchoring/ledger";
import type { KeyTable } from "./key-table.ts";
import { problemError } from "./problem-error.ts";
import type { Caller } from "./ports.ts";
import type { RateLimiter } from "./rate-limiter.ts";

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

function callerOf(key: ApiKey): Caller {
  const credential = { apiClientId: key.apiClientId, keyId: key.keyId };
  return { credential, isAdmin: key.scopes.includes("admin") };
}

/**
 * The early answer to who calls: the ledger looks at the key again when it decides a write.
 * @throws ProblemError `api_key_invalid`, `scope_missing`, `rate_limited`, in this order
 */
export async function authenticate(
  request: IncomingMessage,
  scope: Scope,
  keys: KeyTable,
  limiter: RateLimiter,
): Promise<Caller> {
  const presented = presentedKey(request);
  const key = presented === null ? null : await keys.find(presented);
  if (key === null) throw problemError("api_key_invalid");
  if (!key.scopes.includes(scope)) throw problemError("scope_missing");
  limiter.take(key.keyId);
  return callerOf(key);
}
