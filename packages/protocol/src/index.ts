export { assertNever } from "./assert-never.ts";
export {
  InvalidBytesError,
  ZERO_32,
  asciiToBytes,
  base64ToBytes,
  bytesToAscii,
  bytesToBase64,
  bytesToHex,
  bytesToUtf8,
  compareBytes,
  concatBytes,
  equalBytes,
  hexToBytes,
  isZero,
  utf8ToBytes,
} from "./bytes.ts";
export type { InvalidBytesCode } from "./bytes.ts";
export type { Crypto, Ed25519Verify, Sha256 } from "./crypto.ts";
export { ByteReader, ByteWriter, DecodeError } from "./encoding.ts";
export type { DecodeCode } from "./encoding.ts";
export { toAnchorId, toOriginFingerprint } from "./ids.ts";
export type { AnchorId, OriginFingerprint } from "./ids.ts";
export {
  apiKeyHash,
  clientEventCommit,
  logKeySeed,
  operatorRevoker,
  originFingerprintOf,
  raftIdOf,
  tag,
} from "./tags.ts";
export {
  EMPTY_SEMANTIC_ANCHOR,
  LEAF_BYTES,
  LEAF_KIND,
  REVOCATION_AUTHORITIES,
  REVOCATION_REASONS,
  anchorIdOf,
  decodeLeaf,
  encodeLeaf,
  isEmptySemanticAnchor,
} from "./leaf.ts";
export type {
  ActorBody,
  ClaimBody,
  ClaimLeaf,
  EventBody,
  EventLeaf,
  GenesisBody,
  GenesisLeaf,
  GrantBody,
  GrantLeaf,
  Leaf,
  LeafHeader,
  LeafKind,
  RevocationBody,
  RevocationLeaf,
  SemanticAnchor,
  SignedEventLeaf,
  TrustRootBody,
  TrustRootLeaf,
} from "./leaf.ts";
export {
  claimIssuerPayload,
  claimPayload,
  eventActorPayload,
  grantPayload,
  grantWitnessPayload,
  revocationPayload,
} from "./payloads.ts";
export type { ClaimContent, EventContent, GrantContent, RevocationContent } from "./payloads.ts";
export {
  EMPTY_ROOT,
  appendToFrontier,
  emptyFrontier,
  frontierRoot,
  interiorHash,
  proveConsistency,
  proveInclusion,
  subtreesForConsistency,
  subtreesForInclusion,
  subtreesOfSize,
  verifyConsistency,
  verifyInclusion,
} from "./merkle.ts";
export type { ConsistencyClaim, Frontier, HashAt, InclusionClaim, Subtree } from "./merkle.ts";
export { RecentTree } from "./recent-tree.ts";
export {
  TILE_HEIGHT,
  TILE_WIDTH,
  entriesPath,
  subtreeHashInTile,
  tileOf,
  tilePath,
  tileWidthAt,
} from "./tiles.ts";
export type { TilePosition } from "./tiles.ts";
export {
  Ed25519CanaryError,
  assertEd25519Canaries,
  createEd25519Verify,
  passesEd25519Prefilter,
} from "./ed25519.ts";
export { nobleCrypto } from "./noble-crypto.ts";
