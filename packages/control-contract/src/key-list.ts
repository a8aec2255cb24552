import { scopesFromBits, scopesToBits } from "@event-anchoring/ledger";
import type { ApiKey } from "@event-anchoring/ledger";
import { DecodeError } from "@event-anchoring/protocol";
import type { ByteReader, ByteWriter } from "@event-anchoring/protocol";
import { readBoolean, writeBoolean } from "./fields.ts";

/** What the api process needs of an API key. Its id is the first half of its hash. */
export type CallerKey = Pick<
  ApiKey,
  "keyId" | "keyHash" | "apiClientId" | "scopes" | "expiresMs" | "revokedMs" | "requestsPerSecond"
>;

/** Keys in one frame: 69 bytes each, so that a table of any size fits frames. */
export const KEYS_PER_FRAME = 50_000;

/** The rest of a frame of keys. @param isLast whether no further frame belongs to the same list */
export function writeKeys(writer: ByteWriter, keys: readonly CallerKey[], isLast: boolean): void {
  writeBoolean(writer, isLast);
  writer.u32(keys.length);
  for (const { keyHash, apiClientId, scopes, expiresMs, revokedMs, requestsPerSecond } of keys) {
    writer.bytes(keyHash, 32).bytes(apiClientId, 16).u8(scopesToBits(scopes));
    writer.u64(expiresMs).u64(revokedMs).u32(requestsPerSecond);
  }
}

/** @throws DecodeError */
export function readKeys(reader: ByteReader): { readonly keys: readonly CallerKey[]; readonly isLast: boolean } {
  const isLast = readBoolean(reader);
  const count = reader.u32();
  if (count > KEYS_PER_FRAME) throw new DecodeError("value_invalid", `${count} keys in one frame`);
  const keys: CallerKey[] = [];
  for (let at = 0; at < count; at++) keys.push(readKey(reader));
  return { keys, isLast };
}

function readKey(reader: ByteReader): CallerKey {
  const keyHash = reader.bytes(32);
  return {
    keyId: keyHash.slice(0, 16),
    keyHash,
    apiClientId: reader.bytes(16),
    scopes: readScopes(reader.u8()),
    expiresMs: reader.u64(),
    revokedMs: reader.u64(),
    requestsPerSecond: reader.u32(),
  };
}

function readScopes(bits: number): CallerKey["scopes"] {
  try {
    return scopesFromBits(bits);
  } catch (error) {
    if (error instanceof RangeError) throw new DecodeError("value_invalid", error.message);
    throw error;
  }
}
