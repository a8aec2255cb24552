/** The key table. Operators change it; every replica reads it at the position of the command that it judges. */
import { equalBytes } from "@event-anchoring/protocol";
import { apiKeyIdOf, isLiveApiKey } from "../state/api-key.ts";
import type { ApiKey } from "../state/api-key.ts";
import { scopesToBits } from "../entry/api-key-codec.ts";
import type { CreateApiKeyCommand, OperatorAct, RevokeApiKeyCommand, RotateApiKeyCommand } from "../entry/command.ts";
import { refused } from "./decide-checks.ts";
import type { DecisionDraft } from "./decision-draft.ts";
import type { CommandOutcome } from "./decision.ts";
import { LIMITS } from "../entry/limits.ts";
import { reject } from "./rejection.ts";
import type { Rejection } from "./rejection.ts";

type AskedKey = CreateApiKeyCommand["key"];

function isSameKey(key: ApiKey, asked: AskedKey): boolean {
  return (
    equalBytes(key.keyHash, asked.keyHash) &&
    equalBytes(key.apiClientId, asked.apiClientId) &&
    key.label === asked.label &&
    scopesToBits(key.scopes) === scopesToBits(asked.scopes) &&
    key.expiresMs === asked.expiresMs &&
    key.requestsPerSecond === asked.requestsPerSecond
  );
}

/** The outcome if the id of a requested key is taken, by the same key or by another one; null: it is free. */
function judgeTaken(asked: AskedKey, pointer: string, draft: DecisionDraft): CommandOutcome | null {
  const existing = draft.apiKey(apiKeyIdOf(asked.keyHash));
  if (existing === null) return null;
  if (existing.revokedMs === 0 && isSameKey(existing, asked)) return { kind: "unchanged" };
  return refused(reject("api_key_conflict", "this key id is taken by another key, or was revoked", pointer));
}

function judgeNewExpiry(asked: AskedKey, pointer: string, draft: DecisionDraft): Rejection | null {
  if (asked.expiresMs === 0 || asked.expiresMs > draft.acceptedMs) return null;
  return reject("window_invalid", "the key would expire before it exists", pointer);
}

/** @param ending a key that does not count, because it ends when the new one begins */
function judgeLimit(
  apiClientId: Uint8Array,
  ending: ApiKey | null,
  pointer: string,
  draft: DecisionDraft,
): Rejection | null {
  let live = 0;
  for (const key of draft.apiKeys()) {
    if (ending !== null && equalBytes(key.keyId, ending.keyId)) continue;
    if (equalBytes(key.apiClientId, apiClientId) && isLiveApiKey(key, draft.acceptedMs)) live++;
  }
  if (live < LIMITS.liveApiKeysPerClientMax) return null;
  return reject("api_key_limit", `the API client has ${live} live keys`, pointer);
}

function newKey(asked: AskedKey, { operator, counter }: OperatorAct, draft: DecisionDraft): ApiKey {
  const keyId = apiKeyIdOf(asked.keyHash);
  return {
    keyId,
    ...asked,
    createdMs: draft.acceptedMs,
    revokedMs: 0,
    createdBy: { operator, counter },
    endedBy: null,
  };
}

/** 0 means "never" in a key: a key that ends at this entry ends at 1 at the earliest. */
function endingNow(draft: DecisionDraft): number {
  return Math.max(1, draft.acceptedMs);
}

/** Adds a key. Repeating it with the same fields changes nothing; a revoked key does not come back. */
export function decideCreateApiKey(
  { key: asked }: CreateApiKeyCommand,
  act: OperatorAct,
  draft: DecisionDraft,
): CommandOutcome {
  const taken = judgeTaken(asked, "/key/key_hash", draft);
  if (taken !== null) return taken;
  const rejection =
    judgeNewExpiry(asked, "/key/expires_ms", draft) ?? judgeLimit(asked.apiClientId, null, "/key/api_client_id", draft);
  if (rejection !== null) return refused(rejection);
  draft.putApiKey(newKey(asked, act, draft));
  return { kind: "applied" };
}

/** Ends a key for good. An expired key can still be revoked: so the caller need not know whether it has expired. */
export function decideRevokeApiKey(
  { keyId }: RevokeApiKeyCommand,
  { operator, counter }: OperatorAct,
  draft: DecisionDraft,
): CommandOutcome {
  const key = draft.apiKey(keyId);
  if (key === null) return refused(reject("api_key_unknown", "no key has this id", "/key_id"));
  if (key.revokedMs !== 0) return { kind: "unchanged" };
  draft.putApiKey({ ...key, revokedMs: endingNow(draft), endedBy: { operator, counter } });
  return { kind: "applied" };
}

/** When the old key ends: after the overlap, and never later than it would have. */
function expiryAfter(key: ApiKey, overlapMs: number, draft: DecisionDraft): number {
  const until = Math.min(endingNow(draft) + overlapMs, Number.MAX_SAFE_INTEGER);
  return key.expiresMs === 0 ? until : Math.min(key.expiresMs, until);
}

/**
 * Puts a new key beside an old one, which ends after the overlap. Repeating it changes nothing. A revoked or expired
 * key is not replaced: a client that was shut out does not get access again this way.
 */
export function decideRotateApiKey(
  command: RotateApiKeyCommand,
  act: OperatorAct,
  draft: DecisionDraft,
): CommandOutcome {
  const { keyId, keyHash, overlapMs, expiresMs } = command;
  const old = draft.apiKey(keyId);
  if (old === null) return refused(reject("api_key_unknown", "no key has this id", "/key_id"));
  const { apiClientId, label, scopes, requestsPerSecond } = old;
  const asked = { keyHash, apiClientId, label, scopes, expiresMs, requestsPerSecond };
  const taken = judgeTaken(asked, "/key_hash", draft);
  if (taken !== null) return taken;
  if (!isLiveApiKey(old, draft.acceptedMs))
    return refused(reject("api_key_invalid", "the key to be replaced is revoked or expired", "/key_id"));
  const { operator, counter } = act;
  const replaced = { ...old, expiresMs: expiryAfter(old, overlapMs, draft), endedBy: { operator, counter } };
  const ending = isLiveApiKey(replaced, draft.acceptedMs) ? null : old;
  const rejection = judgeNewExpiry(asked, "/expires_ms", draft) ?? judgeLimit(apiClientId, ending, "/key_id", draft);
  if (rejection !== null) return refused(rejection);
  draft.putApiKey(replaced);
  draft.putApiKey(newKey(asked, act, draft));
  return { kind: "applied" };
}
