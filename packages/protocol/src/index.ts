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
export { sha256Of } from "./crypto.ts";
export type { Crypto, Ed25519Verify, Sha256 } from "./crypto.ts";
export { ByteReader, ByteWriter, DecodeError, writeU64 } from "./encoding.ts";
export { toAnchorId, toOriginFingerprint } from "./ids.ts";
export type { AnchorId, OriginFingerprint } from "./ids.ts";
export {
  apiKeyHash,
  clientEventCommit,
  logKeySeed,
  clientRevoker,
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
  ClaimBody,
  ClaimLeaf,
  EventBody,
  EventLeaf,
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
  TrustRootLeaf,
} from "./leaf.ts";
export { EventLeafWriter } from "./event-leaf-writer.ts";
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
export type { Frontier, HashAt, Subtree } from "./merkle.ts";
export {
  EMPTY_STATE_ROOT,
  joinStateSubtrees,
  stateKeyBit,
  stateKeyOf,
  stateLeafHash,
  stateRootOfLeaves,
  verifyStateProof,
} from "./state-tree.ts";
export type { StateLeaf, StateProof, StateSubtree } from "./state-tree.ts";
export { shareStateProofs, stateRootOfProof } from "./state-proof.ts";
export type { PlacedStateLeaf, ProvedStateKey } from "./state-proof.ts";
export {
  StateHeadError,
  formatStateHead,
  formatStateHeadNote,
  honestSigners,
  isGoodStateHeadSignature,
  parseStateHead,
  stateHeadLine,
  stateHeadMessage,
  verifyStateHead,
} from "./state-head.ts";
export type { StateHead, StateMembers, VerifiedStateHead } from "./state-head.ts";
export { RecentTree } from "./recent-tree.ts";
export type { TreeGrowth } from "./recent-tree.ts";
export { TILE_WIDTH, entriesPath, subtreeHashInTile, tileOf, tilePath, tileWidthAt } from "./tiles.ts";
export { Ed25519CanaryError, assertEd25519Canaries, createEd25519Verify, passesEd25519Prefilter } from "./ed25519.ts";
export { nobleCrypto, nobleSigning } from "./noble-crypto.ts";
export { NOTE_SIGNATURES_MAX, NoteError, VKEY_TYPE } from "./note.ts";
export {
  equalVkeys,
  formatNote,
  formatSignatureLine,
  formatVkey,
  makeVkey,
  noteMessage,
  noteSignatureLine,
  parseNote,
  parseSignatureLine,
  parseVkey,
} from "./note.ts";
export type { SignatureLine, Vkey } from "./note.ts";
export {
  CheckpointError,
  checkpointOrigin,
  cosignerName,
  formatCheckpoint,
  isClusterName,
  isNodeId,
  isRootLabel,
  parseCheckpoint,
  parseForeignCheckpoint,
  parseDecimal,
  operatorKeyName,
  rootKeyName,
} from "./checkpoint.ts";
export type { Checkpoint } from "./checkpoint.ts";
export {
  ADD_CHECKPOINT_BYTES_MAX,
  AddCheckpointError,
  COSIGNATURES_BYTES_MAX,
  CONSISTENCY_LINES_MAX,
  TREE_SIZE_CONTENT_TYPE,
  formatAddCheckpoint,
  formatCosignatures,
  formatTreeSize,
  parseAddCheckpoint,
  parseCosignatures,
  parseTreeSize,
} from "./witness/add-checkpoint.ts";
export type { SubmittedCheckpoint } from "./witness/add-checkpoint.ts";
export { cosignatureLine, cosignatureMessage, parseCosignatureLine, verifyCosignature } from "./cosignature.ts";
export { ContradictionError, formatContradiction, verifyContradiction } from "./contradiction.ts";
export type { ContradictingNote, Contradiction } from "./contradiction.ts";
export { verifyKnownLines } from "./known-lines.ts";
export type { NoteRefusalCode, VerifiedLine } from "./known-lines.ts";
export { distinctPolicyLines, meetsQuorum } from "./quorum.ts";
export { formatPolicy, parsePolicy, satisfiesPolicy } from "./policy.ts";
export { POLICY_FORMATS, renderPolicy } from "./policy-rendering.ts";
export type { PolicyDemand, PolicyFormat } from "./policy-rendering.ts";
export { TrustRootError } from "./trust-root-error.ts";
export { NODE_STATUSES, ORIGINS_MAX, ORIGIN_STATUSES, formatTrustRootText } from "./trust-root-text.ts";
export type {
  NodeStatus,
  OriginStatus,
  TrustRoot,
  TrustRootNode,
  TrustRootOperator,
  TrustRootOrigin,
  TrustRootWitness,
} from "./trust-root-text.ts";
export {
  findOrigin,
  parseSignedTrustRoot,
  parseTrustRootText,
  quorumPolicyOf,
  rootThk,
  tlogPolicyOf,
  trustRootMessage,
  trustRootSignatureLine,
  witnessedPolicyOf,
} from "./trust-root.ts";
export type { SignedTrustRoot } from "./trust-root.ts";
export { compareWithHighestSeen, extendTrustRootChain, verifyTrustRootChain } from "./trust-root-chain.ts";
export type { TrustRootChain, TrustRootRefusal, TrustRootVerification } from "./trust-root-chain.ts";
export { ProofError, formatProof, parseProof, receiptFromJson, receiptToJson } from "./proof.ts";
export type { Receipt, ReceiptJson, StatedReceipt } from "./proof.ts";
export { RECEIPT_STEPS, checkpointKeys, verifyReceipt } from "./receipt.ts";
export type { ReceiptExpectation, ReceiptStep, ReceiptStepCode, ReceiptVerification } from "./receipt.ts";
export { witnessingOf, witnessingText, withoutWitnesses } from "./witnessing.ts";
export type { Witnessing } from "./witnessing.ts";
export { ATTRIBUTE_TYPES, attributeTypeName, attributeTypeOf } from "./attribute-types.ts";
