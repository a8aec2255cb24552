/** Turns the parts of a bundle into leaves that are proved to be in trees that a quorum has cosigned. */
import {
  DecodeError,
  anchorIdOf,
  appendToFrontier,
  bytesToHex,
  decodeLeaf,
  equalBytes,
  frontierRoot,
  subtreesOfSize,
  verifyInclusion,
} from "@event-anchoring/protocol";
import type { AnchorId, Crypto, Leaf, OriginStatus, Sha256, TrustRootChain } from "@event-anchoring/protocol";
import type { BundleLeaf, BundleRange } from "../format/bundle.ts";
import { BundleFailure, failUnless } from "./bundle-failure.ts";
import { verifyCheckpoint } from "./verify-checkpoint.ts";
import type { CheckpointVerification } from "./verify-checkpoint.ts";

type ValidCheckpoint = Extract<CheckpointVerification, { verdict: "valid" }>;

/** A tree of leaves, as a checkpoint or a state head gives it. */
export interface CertifiedTree {
  readonly originFingerprint: Uint8Array;
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
  /** In the newest version. */
  readonly status: OriginStatus;
}

/** A leaf that is in a certified tree. */
export interface ProvedLeaf {
  readonly anchorId: AnchorId;
  readonly bytes: Uint8Array;
  readonly leaf: Leaf;
  /** Status of its origin in the newest version. */
  readonly originStatus: OriginStatus;
}

/**
 * Every one of them, in their order.
 * @throws BundleFailure
 */
export function proveCheckpoints(
  notes: readonly string[],
  trustRoots: TrustRootChain,
  crypto: Crypto,
): ValidCheckpoint[] {
  const origins = new Set<string>();
  return notes.map((note, at) => {
    const verified = verifyCheckpoint(note, trustRoots, crypto.ed25519Verify);
    if (verified.verdict === "invalid")
      throw new BundleFailure(`checkpoint ${at}: ${verified.code}: ${verified.detail}`);
    const { origin } = verified.checkpoint;
    failUnless(!origins.has(origin), `checkpoint ${at} is a second one of origin ${origin}`);
    origins.add(origin);
    return verified;
  });
}

function decode(bytes: Uint8Array, where: string): Leaf {
  try {
    return decodeLeaf(bytes);
  } catch (error) {
    if (error instanceof DecodeError) throw new BundleFailure(`${where} is no leaf: ${error.message}`);
    throw error;
  }
}

function checkpointOf(part: BundleRange, checkpoints: readonly ValidCheckpoint[]): ValidCheckpoint {
  const checkpoint = checkpoints[part.checkpoint];
  if (checkpoint === undefined) throw new BundleFailure(`there is no checkpoint ${part.checkpoint}`);
  return checkpoint;
}

/** Decodes a leaf, which must be of this origin. */
function readLeaf(bytes: Uint8Array, { origin }: ValidCheckpoint, where: string): Leaf {
  const leaf = decode(bytes, where);
  const isOwn = equalBytes(leaf.originFingerprint, origin.originFingerprint);
  failUnless(isOwn, `${where} is of origin ${bytesToHex(leaf.originFingerprint)}, its checkpoint is of another`);
  return leaf;
}

/** The tree that a leaf says it is in, by the checkpoint that it names or by the state head. */
function treeOf(part: BundleLeaf, leaf: Leaf, trees: CertifiedTrees, where: string): CertifiedTree {
  const origin = bytesToHex(leaf.originFingerprint);
  const tree = part.checkpoint === null ? trees.ofState?.get(origin) : trees.ofCheckpoints[part.checkpoint];
  if (tree === undefined) throw new BundleFailure(`${where}: there is no tree of origin ${origin}`);
  const isOwn = equalBytes(leaf.originFingerprint, tree.originFingerprint);
  failUnless(isOwn, `${where} is of origin ${origin}, its checkpoint is of another`);
  return tree;
}

/** Trees that a quorum has signed. */
export interface CertifiedTrees {
  /** In the order of the checkpoints. */
  readonly ofCheckpoints: readonly CertifiedTree[];
  /** By the hex of the origin's fingerprint; null: there is no state head. */
  readonly ofState: ReadonlyMap<string, CertifiedTree> | null;
}

export function treeOfCheckpoint({ checkpoint, origin }: ValidCheckpoint): CertifiedTree {
  const { originFingerprint, status } = origin;
  return { originFingerprint, status, treeSize: checkpoint.treeSize, rootHash: checkpoint.rootHash };
}

/** @throws BundleFailure */
export function proveLeaves(leaves: readonly BundleLeaf[], trees: CertifiedTrees, sha256: Sha256): ProvedLeaf[] {
  return leaves.map((part, at) => {
    const where = `leaf ${at}`;
    const leaf = decode(part.leaf, where);
    const { treeSize: size, rootHash, status } = treeOf(part, leaf, trees, where);
    failUnless(leaf.depth < size, `${where} has depth ${leaf.depth}, its tree has ${size} leaves`);
    const anchorId = anchorIdOf(part.leaf, sha256);
    const claim = { leafHash: anchorId, index: leaf.depth, size, path: part.inclusion, rootHash };
    failUnless(verifyInclusion(claim, sha256), `${where}: the path does not lead to the root of its tree`);
    return { anchorId, bytes: part.leaf, leaf, originStatus: status };
  });
}

function proveRange(range: BundleRange, verified: ValidCheckpoint, where: string, sha256: Sha256): ProvedLeaf[] {
  const { treeSize, rootHash } = verified.checkpoint;
  const { from, leaves } = range;
  const isWhole = leaves.length > 0 && from + leaves.length === treeSize;
  failUnless(isWhole, `${where} has ${leaves.length} leaves from depth ${from} on, its tree has ${treeSize}`);
  const isFrontier = range.frontier.length === subtreesOfSize(from).length;
  failUnless(isFrontier, `${where}: ${range.frontier.length} hashes are no frontier of ${from} leaves`);
  let frontier = { size: from, hashes: range.frontier };
  const proved = leaves.map((bytes, at): ProvedLeaf => {
    const leaf = readLeaf(bytes, verified, `${where}, leaf ${at}`);
    failUnless(leaf.depth === from + at, `${where}, leaf ${at} has depth ${leaf.depth}`);
    const anchorId = anchorIdOf(bytes, sha256);
    frontier = appendToFrontier(frontier, anchorId, sha256);
    return { anchorId, bytes, leaf, originStatus: verified.origin.status };
  });
  const isRoot = equalBytes(frontierRoot(frontier, sha256), rootHash);
  failUnless(isRoot, `${where} does not make the root of its checkpoint`);
  return proved;
}

/** @throws BundleFailure */
export function proveRanges(
  ranges: readonly BundleRange[],
  checkpoints: readonly ValidCheckpoint[],
  sha256: Sha256,
): ProvedLeaf[] {
  const seen = new Set<number>();
  return ranges.flatMap((range, at) => {
    const where = `range ${at}`;
    failUnless(!seen.has(range.checkpoint), `${where} is a second one of checkpoint ${range.checkpoint}`);
    seen.add(range.checkpoint);
    return proveRange(range, checkpointOf(range, checkpoints), where, sha256);
  });
}
