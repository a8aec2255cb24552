import { asciiToBytes, concatBytes, isZero } from "./bytes.ts";
import { sha256Of } from "./crypto.ts";
import type { Sha256 } from "./crypto.ts";
import { ByteReader } from "./encoding.ts";
import { assertByteLength, toOriginFingerprint } from "./ids.ts";
import type { OriginFingerprint } from "./ids.ts";

const TAG_PREFIX = "event-anchoring/v4.2/";
const TAG_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const known = new Map<string, Uint8Array>();

/**
 * The bytes that begin everything this project hashes or signs: `event-anchoring/v4.2/<name>` and one zero byte. The
 * same array is returned for the same name: never write to it. docs/PROTOCOL.md, "Tags", lists every name.
 */
export function tag(name: string): Uint8Array {
  let bytes = known.get(name);
  if (bytes === undefined) {
    if (!TAG_NAME.test(name)) throw new RangeError(`not a tag name: ${name}`);
    bytes = asciiToBytes(`${TAG_PREFIX}${name}\0`);
    known.set(name, bytes);
  }
  return bytes;
}

function part(bytes: Uint8Array, byteLength: number, what: string): Uint8Array {
  assertByteLength(bytes, byteLength, what);
  return bytes;
}

/** H(tag "origin" ‖ cluster id ‖ the node's first cosigner public key): fixed for the life of the origin. */
export function originFingerprintOf(
  clusterId: Uint8Array,
  firstCosignerPublicKey: Uint8Array,
  sha256: Sha256,
): OriginFingerprint {
  const key = part(firstCosignerPublicKey, 32, "cosigner public key");
  return toOriginFingerprint(sha256Of([tag("origin"), part(clusterId, 32, "cluster id"), key], sha256));
}

/**
 * H(tag "client-event-id" ‖ salt ‖ id): binds a leaf to the id its client chose without showing the id.
 * @param salt 32 random bytes
 * @param clientEventId 1 to 128 printable ASCII characters
 */
export function clientEventCommit(salt: Uint8Array, clientEventId: string, sha256: Sha256): Uint8Array {
  return sha256Of([tag("client-event-id"), part(salt, 32, "client event salt"), asciiToBytes(clientEventId)], sha256);
}

/** H(tag "api-key" ‖ the 32 secret bytes): what is stored of an API key. */
export function apiKeyHash(secret: Uint8Array, sha256: Sha256): Uint8Array {
  return sha256(concatBytes(tag("api-key"), part(secret, 32, "api key secret")));
}

/** H(tag "operator" ‖ API client id): the `revoker` of a revocation by an API client that no party has signed. */
export function clientRevoker(apiClientId: Uint8Array, sha256: Sha256): Uint8Array {
  return sha256Of([tag("operator"), part(apiClientId, 16, "api client id")], sha256);
}

/** H(tag "operator" ‖ the operator's public key): the `revoker` of a revocation by an operator's act. */
export function operatorRevoker(publicKey: Uint8Array, sha256: Sha256): Uint8Array {
  return sha256Of([tag("operator"), part(publicKey, 32, "operator public key")], sha256);
}

/** H(tag "log-key" ‖ log seed ‖ origin fingerprint): the Ed25519 seed of an origin's log key. Secret. */
export function logKeySeed(logSeed: Uint8Array, originFingerprint: OriginFingerprint, sha256: Sha256): Uint8Array {
  const fingerprint = part(originFingerprint, 32, "origin fingerprint");
  return sha256(concatBytes(tag("log-key"), part(logSeed, 32, "log seed"), fingerprint));
}

/** The first 8 bytes of H(tag "raft-id" ‖ cluster id ‖ node id), as an unsigned integer that is never 0. */
export function raftIdOf(clusterId: Uint8Array, nodeId: string, sha256: Sha256): bigint {
  const hash = sha256(concatBytes(tag("raft-id"), part(clusterId, 32, "cluster id"), asciiToBytes(nodeId)));
  const first = hash.subarray(0, 8);
  if (isZero(first)) throw new RangeError(`node id ${nodeId} has raft id 0 in this cluster: choose another`);
  const reader = new ByteReader(first);
  return BigInt(reader.u32()) * 0x1_0000_0000n + BigInt(reader.u32());
}
