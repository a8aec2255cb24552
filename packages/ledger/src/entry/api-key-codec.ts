/** Commands about the key table as bytes. */
import { DecodeError } from "@event-anchoring/protocol";
import type { ByteReader, ByteWriter } from "@event-anchoring/protocol";
import { readText, writeText } from "./field-codec.ts";
import { SCOPES } from "./command.ts";
import type { CreateApiKeyCommand, RevokeApiKeyCommand, RotateApiKeyCommand, Scope } from "./command.ts";
import { LIMITS } from "./limits.ts";

/** Scopes as bits, in the order of SCOPES. @throws RangeError for none, or one named twice */
export function scopesToBits(scopes: readonly Scope[]): number {
  let bits = 0;
  for (const scope of scopes) {
    const bit = 1 << SCOPES.indexOf(scope);
    if ((bits & bit) !== 0) throw new RangeError(`scope ${scope} is named twice`);
    bits |= bit;
  }
  if (bits === 0) throw new RangeError("a key has at least one scope");
  return bits;
}

/** @throws RangeError for 0 and for unknown bits */
export function scopesFromBits(bits: number): Scope[] {
  if (!Number.isInteger(bits) || bits < 1 || bits >= 1 << SCOPES.length)
    throw new RangeError(`no scopes have the bits ${bits}`);
  return SCOPES.filter((_, position) => (bits & (1 << position)) !== 0);
}

/** @throws RangeError if a field is out of its bounds; so do the other writers */
export function writeCreateApiKey(writer: ByteWriter, command: CreateApiKeyCommand): void {
  const { key } = command;
  writer.bytes(key.keyHash, 32).bytes(key.apiClientId, 16);
  writeText(writer, key.label, 0, LIMITS.labelCharsMax);
  writer.u8(scopesToBits(key.scopes)).u64(key.expiresMs).u32(key.requestsPerSecond);
}

/** Reads bytes that may be attacker-controlled; so do the other readers. @throws DecodeError */
export function readCreateApiKey(reader: ByteReader): CreateApiKeyCommand {
  const keyHash = reader.bytes(32);
  const apiClientId = reader.bytes(16);
  const label = readText(reader, 0, LIMITS.labelCharsMax);
  const bits = reader.u8();
  if (bits < 1 || bits >= 1 << SCOPES.length) throw new DecodeError("value_invalid", `no scopes have the bits ${bits}`);
  const expiresMs = reader.u64();
  const requestsPerSecond = reader.u32();
  const key = { keyHash, apiClientId, label, scopes: scopesFromBits(bits), expiresMs, requestsPerSecond };
  return { kind: "create_api_key", key };
}

export function writeRevokeApiKey(writer: ByteWriter, command: RevokeApiKeyCommand): void {
  writer.bytes(command.keyId, 16);
}

export function readRevokeApiKey(reader: ByteReader): RevokeApiKeyCommand {
  return { kind: "revoke_api_key", keyId: reader.bytes(16) };
}

export function writeRotateApiKey(writer: ByteWriter, command: RotateApiKeyCommand): void {
  writer.bytes(command.keyId, 16).bytes(command.keyHash, 32).u64(command.overlapMs).u64(command.expiresMs);
}

export function readRotateApiKey(reader: ByteReader): RotateApiKeyCommand {
  return {
    kind: "rotate_api_key",
    keyId: reader.bytes(16),
    keyHash: reader.bytes(32),
    overlapMs: reader.u64(),
    expiresMs: reader.u64(),
  };
}
