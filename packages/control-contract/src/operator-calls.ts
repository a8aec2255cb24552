/** What an operator may do to a running cluster. A call that is not in this list does not exist. */
import { bytesToHex, hexToBytes } from "@event-anchoring/protocol";
import { LIMITS, SCOPES } from "@event-anchoring/ledger";
import type { Scope } from "@event-anchoring/ledger";
import { z } from "zod";
import { decodeJson, encodeJson } from "./json-codec.ts";
import { REFUSAL_CODES } from "./refusal-code.ts";

/** As the ledger's limit for labels. */
export const API_KEY_LABEL_CHARACTERS_MAX = LIMITS.labelCharsMax;

const createApiKeySchema = z.strictObject({
  keyHash: z.string().regex(/^[0-9a-f]{64}$/),
  apiClientId: z.string().regex(/^[0-9a-f]{32}$/),
  label: z.string().regex(/^[\x20-\x7e]{1,128}$/),
  scopes: z
    .array(z.enum(SCOPES))
    .min(1)
    .refine((scopes) => new Set(scopes).size === scopes.length, "a scope is repeated"),
  expiresMs: z.int().min(0),
});

/** The operator draws the secret and sends its hash only: no node ever sees a secret before it is used. */
export interface CreateApiKey {
  /** apiKeyHash(secret), 32 bytes. */
  readonly keyHash: Uint8Array;
  /** 16 bytes. */
  readonly apiClientId: Uint8Array;
  /** 1 to 128 printable ASCII characters. */
  readonly label: string;
  /** At least one, none repeated. */
  readonly scopes: readonly Scope[];
  /** Unix milliseconds; 0 = never. */
  readonly expiresMs: number;
}

const operatorResultSchema = z.discriminatedUnion("outcome", [
  z.strictObject({ outcome: z.literal("applied") }),
  z.strictObject({ outcome: z.literal("unchanged") }),
  z.strictObject({ outcome: z.literal("rejected"), code: z.string().max(64), detail: z.string().max(1000) }),
  z.strictObject({
    outcome: z.literal("refused"),
    code: z.enum(REFUSAL_CODES),
    detail: z.string().max(1000),
    retryAfterMs: z.int().min(0).nullable(),
  }),
]);

/**
 * What became of a call that writes. `applied` and `unchanged` (it was so already): HTTP 200. `rejected`, by a rule of
 * the ledger: 409. `refused`, not now: 503.
 */
export type OperatorResult = z.infer<typeof operatorResultSchema>;

export function operatorResultStatus(result: OperatorResult): number {
  switch (result.outcome) {
    case "applied":
    case "unchanged":
      return 200;
    case "rejected":
      return 409;
    case "refused":
      return 503;
  }
}

export function encodeCreateApiKey(call: CreateApiKey): Uint8Array {
  return encodeJson({
    keyHash: bytesToHex(call.keyHash),
    apiClientId: bytesToHex(call.apiClientId),
    label: call.label,
    scopes: call.scopes,
    expiresMs: call.expiresMs,
  });
}

/** @throws DecodeError */
export function decodeCreateApiKey(body: Uint8Array): CreateApiKey {
  const { keyHash, apiClientId, ...rest } = decodeJson(body, createApiKeySchema);
  return { ...rest, keyHash: hexToBytes(keyHash, 32), apiClientId: hexToBytes(apiClientId, 16) };
}

export function encodeOperatorResult(result: OperatorResult): Uint8Array {
  return encodeJson(result);
}

/** @throws DecodeError */
export function decodeOperatorResult(body: Uint8Array): OperatorResult {
  return decodeJson(body, operatorResultSchema);
}
