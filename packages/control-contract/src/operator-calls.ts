/** The calls that an operator may make to a running cluster. There are no others. */
import { DecodeError, bytesToHex, compareBytes, hexToBytes } from "@event-anchoring/protocol";
import { SCOPES, decodeCommand, encodeCommand, operatorActMessage, usedCounterIn } from "@event-anchoring/ledger";
import type {
  ApiKey,
  EraseClientEventCommand,
  OperatorActCommand,
  OperatorCommand,
  RecordRevocationCommand,
  Scope,
} from "@event-anchoring/ledger";
import { z } from "zod";
import { decodeJson, encodeJson } from "./json-codec.ts";
import { REFUSAL_CODES } from "./refusal-code.ts";

/** Keys that one answer lists, the newest first; it contains the number of the others. */
export const LISTED_API_KEYS_MAX = 10_000;

const hex16 = z.string().regex(/^[0-9a-f]{32}$/);
const printable = z.string().regex(/^[\x20-\x7e]{0,128}$/);
const unixMs = z.int().min(0);
const requestsPerSecond = z.int().min(0).max(0xffff_ffff);
const scopes = z
  .array(z.enum(SCOPES))
  .min(1)
  .refine((listed) => new Set(listed).size === listed.length, "a scope is repeated");

/** The operator generates the secret and sends only its hash: no node sees a secret before it is used. */
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
  /** Requests per second that the key may make at each node, u32; 0: the node's configured rate. */
  readonly requestsPerSecond: number;
}

/** Ends a key for good, at once. */
export interface RevokeApiKey {
  /** 16 bytes. */
  readonly keyId: Uint8Array;
}

/** Puts a new key beside a live one, for the same API client, label, scopes and rate; the old one ends. */
export interface RotateApiKey {
  /** 16 bytes: the key that is replaced. */
  readonly keyId: Uint8Array;
  /** apiKeyHash(secret) of the new key, 32 bytes. */
  readonly keyHash: Uint8Array;
  /** How long the old key stays valid, milliseconds; never longer than its own expiry. */
  readonly overlapMs: number;
  /** When the new key ends, Unix milliseconds; 0 = never. */
  readonly expiresMs: number;
}

const refusedSchema = z.strictObject({
  outcome: z.literal("refused"),
  code: z.enum(REFUSAL_CODES),
  detail: z.string().max(1000),
  retryAfterMs: z.int().min(0).nullable(),
});

const operatorResultSchema = z.discriminatedUnion("outcome", [
  z.strictObject({ outcome: z.literal("applied"), finality: z.enum(["certified", "committed"]) }),
  z.strictObject({ outcome: z.literal("unchanged") }),
  z.strictObject({
    outcome: z.literal("recorded"),
    anchorId: z.string().regex(/^[0-9a-f]{64}$/),
    replayed: z.boolean(),
    finality: z.enum(["certified", "committed"]),
  }),
  z.strictObject({ outcome: z.literal("rejected"), code: z.string().max(64), detail: z.string().max(1000) }),
  refusedSchema,
]);

const operatorAct = z.strictObject({ operator: printable.min(1), counter: z.int().min(0) });

const listedApiKeySchema = z.strictObject({
  keyId: hex16,
  apiClientId: hex16,
  label: printable,
  scopes,
  expiresMs: unixMs,
  createdMs: unixMs,
  revokedMs: unixMs,
  requestsPerSecond,
  createdBy: operatorAct,
  endedBy: operatorAct.nullable(),
});

const apiKeyListSchema = z.discriminatedUnion("outcome", [
  z.strictObject({
    outcome: z.literal("listed"),
    keys: z.array(listedApiKeySchema).max(LISTED_API_KEYS_MAX),
    omitted: z.int().min(0),
  }),
  refusedSchema,
]);

/**
 * The result of a call that writes. `applied`, `unchanged` (it was so already), and `recorded` (for a revocation, with
 * the anchor id of its record and whether that existed before): HTTP 200. `rejected`, by a rule of the ledger: 409.
 * `refused`, not now: 503. Applied and recorded changes are in force either way; the finality says whether every leaf
 * that existed by then had a certificate in time.
 */
export type OperatorResult = z.infer<typeof operatorResultSchema>;

/** A key as the cluster knows it, without its hash. */
export type ListedApiKey = Omit<ApiKey, "keyHash">;

/**
 * `listed`: every key that the cluster knew at the time of the call, revoked and expired ones included, the newest
 * first (HTTP 200). `refused`: the node cannot confirm the list now (503).
 */
export type ApiKeyList =
  | {
      readonly outcome: "listed";
      /** At most LISTED_API_KEYS_MAX. */
      readonly keys: readonly ListedApiKey[];
      /** How many older ones are left out. */
      readonly omitted: number;
    }
  | z.infer<typeof refusedSchema>;

/** The counter of the operator's newest act, if an act was refused because of it; else null. */
export function usedCounterOf(result: OperatorResult): number | null {
  const isUsed = result.outcome === "rejected" && result.code === "operator_counter_used";
  return isUsed ? usedCounterIn(result.detail) : null;
}

export function operatorResultStatus(result: OperatorResult): number {
  switch (result.outcome) {
    case "applied":
    case "unchanged":
    case "recorded":
      return 200;
    case "rejected":
      return 409;
    case "refused":
      return 503;
  }
}

/** The calls of an operator that are decided through the log. */
export type OperatorCall =
  | ({ readonly kind: "create_api_key" } & CreateApiKey)
  | ({ readonly kind: "revoke_api_key" } & RevokeApiKey)
  | ({ readonly kind: "rotate_api_key" } & RotateApiKey)
  | RecordRevocationCommand<null>
  | EraseClientEventCommand<null>;

/** The signer of an act, and the cluster. */
export interface ActSigner {
  /** The operator's name in the trust root. */
  readonly operator: string;
  /** 32 bytes. */
  readonly clusterId: Uint8Array;
  /** The epoch of the trust root in force. */
  readonly epoch: number;
  /** Ed25519, 64 bytes. */
  sign(message: Uint8Array): Uint8Array;
}

function commandOf(call: OperatorCall): OperatorCommand {
  if (call.kind !== "create_api_key") return call;
  const { kind, ...key } = call;
  return { kind, key };
}

/** The body of an `operator_act`: the command of the log, as every replica will verify it. */
export function encodeOperatorAct(signer: ActSigner, counter: number, call: OperatorCall): Uint8Array {
  const { operator } = signer;
  const command = commandOf(call);
  const signature = signer.sign(operatorActMessage(signer, { operator, counter }, command));
  return encodeCommand({ kind: "operator_act", operator, counter, signature, command });
}

/** @throws DecodeError */
export function decodeOperatorAct(body: Uint8Array): OperatorActCommand {
  const command = decodeCommand(body);
  if (command.kind === "operator_act") return command;
  throw new DecodeError("value_invalid", `${command.kind} is no act of an operator`);
}

/**
 * The answer to `list_api_keys`. @param keys in any order, and any number of them: those that do not fit are counted
 */
export function apiKeyListOf(keys: Iterable<ApiKey>): ApiKeyList {
  const newestFirst = [...keys].sort(
    (left, right) => right.createdMs - left.createdMs || compareBytes(left.keyId, right.keyId),
  );
  const listed = newestFirst.slice(0, LISTED_API_KEYS_MAX).map(({ keyHash: _secret, ...key }) => key);
  return { outcome: "listed", keys: listed, omitted: newestFirst.length - listed.length };
}

export function encodeApiKeyList(list: ApiKeyList): Uint8Array {
  if (list.outcome === "refused") return encodeJson(list);
  const keys = list.keys.map((key) => ({
    ...key,
    keyId: bytesToHex(key.keyId),
    apiClientId: bytesToHex(key.apiClientId),
  }));
  return encodeJson({ ...list, keys });
}

/** @throws DecodeError */
export function decodeApiKeyList(body: Uint8Array): ApiKeyList {
  const list = decodeJson(body, apiKeyListSchema);
  if (list.outcome === "refused") return list;
  const keys = list.keys.map((key) => ({
    ...key,
    keyId: hexToBytes(key.keyId, 16),
    apiClientId: hexToBytes(key.apiClientId, 16),
  }));
  return { ...list, keys };
}

export function apiKeyListStatus(list: ApiKeyList): number {
  return list.outcome === "listed" ? 200 : 503;
}

export function encodeOperatorResult(result: OperatorResult): Uint8Array {
  return encodeJson(result);
}

/** @throws DecodeError */
export function decodeOperatorResult(body: Uint8Array): OperatorResult {
  return decodeJson(body, operatorResultSchema);
}
