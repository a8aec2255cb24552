import { bytesToHex } from "@event-anchoring/protocol";
import type { OperatorAct, Scope } from "../entry/command.ts";

/** A row of the replicated key table. The secret is not in it. */
export interface ApiKey {
  /** 16 bytes: the first half of keyHash. */
  readonly keyId: Uint8Array;
  /** 32 bytes: H(tag "api-key" ‖ secret). */
  readonly keyHash: Uint8Array;
  /** 16 bytes. */
  readonly apiClientId: Uint8Array;
  readonly label: string;
  /** In the order of SCOPES. */
  readonly scopes: readonly Scope[];
  /** Unix milliseconds, 0 = never. */
  readonly expiresMs: number;
  /** Tokens a second that it may use at each node, one for a small request; 0 = the node's configured rate. */
  readonly requestsPerSecond: number;
  /** Accepted time of the entry that made it, Unix milliseconds. */
  readonly createdMs: number;
  /** Accepted time of the entry that revoked it, Unix milliseconds, 0 = not revoked. */
  readonly revokedMs: number;
  /** The act that made it. */
  readonly createdBy: OperatorAct;
  /** The act that revoked it, or that set its end by replacing it; null: none. */
  readonly endedBy: OperatorAct | null;
}

const KEY_ID_BYTES = 16;

export function apiKeyIdOf(keyHash: Uint8Array): Uint8Array {
  return keyHash.slice(0, KEY_ID_BYTES);
}

/** The key's name in the key table. */
export function keyIdHex(keyId: Uint8Array): string {
  return bytesToHex(keyId);
}

/** True from its creation until it is revoked or expires. @param nowMs accepted time of the entry at hand */
export function isLiveApiKey(key: Pick<ApiKey, "revokedMs" | "expiresMs">, nowMs: number): boolean {
  return key.revokedMs === 0 && (key.expiresMs === 0 || nowMs < key.expiresMs);
}
