import { equalBytes } from "@event-anchoring/protocol";
import { apiKeyIdOf, isLiveApiKey } from "./api-key.ts";
import type { ApiKey } from "./api-key.ts";
import { scopesToBits } from "./command-codec.ts";
import type { CreateApiKeyCommand } from "./command.ts";
import type { DecisionDraft } from "./decision-draft.ts";
import type { CommandOutcome } from "./decision.ts";
import { LIMITS } from "./limits.ts";
import { reject } from "./rejection.ts";
import type { RejectionCode } from "./rejection.ts";

function rejected(code: RejectionCode, detail: string, pointer?: string): CommandOutcome {
  return { kind: "rejected", rejection: reject(code, detail, pointer) };
}

function isSameKey(key: ApiKey, asked: CreateApiKeyCommand["key"]): boolean {
  return (
    equalBytes(key.keyHash, asked.keyHash) &&
    equalBytes(key.apiClientId, asked.apiClientId) &&
    key.label === asked.label &&
    scopesToBits(key.scopes) === scopesToBits(asked.scopes) &&
    key.expiresMs === asked.expiresMs
  );
}

/** Adds a key. Asked for again with the same fields it is there already; a revoked key does not come back. */
export function decideCreateApiKey(command: CreateApiKeyCommand, draft: DecisionDraft): CommandOutcome {
  const { key: asked, operator } = command;
  const keyId = apiKeyIdOf(asked.keyHash);
  const existing = draft.apiKey(keyId);
  if (existing !== null) {
    if (existing.revokedMs === 0 && isSameKey(existing, asked)) return { kind: "unchanged" };
    return rejected("api_key_conflict", "this key id is taken by another key, or was revoked", "/key/key_hash");
  }
  const nowMs = draft.acceptedMs;
  if (asked.expiresMs !== 0 && asked.expiresMs <= nowMs)
    return rejected("window_invalid", "the key would expire before it exists", "/key/expires_ms");
  let live = 0;
  for (const key of draft.apiKeys())
    if (equalBytes(key.apiClientId, asked.apiClientId) && isLiveApiKey(key, nowMs)) live++;
  if (live >= LIMITS.liveApiKeysPerClientMax)
    return rejected("api_key_limit", `the API client has ${live} live keys`, "/key/api_client_id");
  draft.putApiKey({
    keyId,
    keyHash: asked.keyHash,
    apiClientId: asked.apiClientId,
    label: asked.label,
    scopes: asked.scopes,
    expiresMs: asked.expiresMs,
    createdMs: nowMs,
    revokedMs: 0,
    operator,
  });
  return { kind: "applied" };
}
