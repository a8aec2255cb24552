import { InvalidBytesError } from "./bytes.ts";

declare const brand: unique symbol;

/** SHA-256 of 0x00 and a leaf: the RFC 6962 leaf hash of that leaf, 32 bytes. */
export type AnchorId = Uint8Array & { readonly [brand]: "AnchorId" };

/** Names one origin (one tree) for its whole life, 32 bytes. */
export type OriginFingerprint = Uint8Array & { readonly [brand]: "OriginFingerprint" };

// Plain numbers, all integers from 0 to 2^53 − 1 (the reader and writer of encoding.ts refuse more):
//   leafIndex = depth   position of a leaf in its origin's tree, from 0
//   treeSize            how many leaves a tree has: a count, one more than its last leafIndex
//   sequence            position among the leaves of all origins, from 0
//   …Ms, …S             Unix time in milliseconds, in seconds

/** @throws InvalidBytesError `length_invalid` unless `bytes` is `byteLength` long */
export function assertByteLength(bytes: Uint8Array, byteLength: number, what: string): void {
  if (bytes.length !== byteLength) {
    throw new InvalidBytesError("length_invalid", `${what} has ${bytes.length} bytes, expected ${byteLength}`);
  }
}

/** @throws InvalidBytesError `length_invalid` */
export function toAnchorId(bytes: Uint8Array): AnchorId {
  assertByteLength(bytes, 32, "anchor id");
  return bytes as AnchorId;
}

/** @throws InvalidBytesError `length_invalid` */
export function toOriginFingerprint(bytes: Uint8Array): OriginFingerprint {
  assertByteLength(bytes, 32, "origin fingerprint");
  return bytes as OriginFingerprint;
}
