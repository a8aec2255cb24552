/** Proofs that one certified tree of an origin is the beginning of another. */
import type { ShownCertificate } from "@event-anchoring/control-contract";
import {
  equalBytes,
  frontierRoot,
  proveConsistency,
  subtreesForConsistency,
  subtreesOfSize,
} from "@event-anchoring/protocol";
import type { HashAt, Sha256 } from "@event-anchoring/protocol";
import { RefusedError } from "../control-plane/control-plane.ts";
import { ProblemError } from "../request/problem-error.ts";
import type { ConsistentRead } from "./consistent-read.ts";

/** A head of the tree that the cluster has certified, and the proof that it extends a smaller one. */
interface Growth {
  readonly fromRoot: Uint8Array;
  readonly toRoot: Uint8Array;
  readonly proof: readonly Uint8Array[];
}

/** A size that a client knows, and the cluster does not. */
export function aheadOf(name: string, size: number, treeSize: number): ProblemError {
  const detail = `The certified tree has ${treeSize} leaves; ${name} is ${size}.`;
  return new ProblemError({ code: "from_size_ahead", detail });
}

function rootAt(size: number, hashAt: HashAt, sha256: Sha256): Uint8Array {
  const hashes = subtreesOfSize(size).map(({ level, index }) => hashAt(level, index));
  return frontierRoot({ size, hashes }, sha256);
}

/**
 * Proof that an origin's tree of `fromSize` leaves is a prefix of the one of `toSize`, and the roots of both.
 * @throws ProblemError `from_size_ahead` if a size exceeds the certified one; RefusedError
 */
export async function proveGrowth(
  read: ConsistentRead,
  certificate: ShownCertificate,
  { fromSize, toSize }: { readonly fromSize: number; readonly toSize: number },
  sha256: Sha256,
): Promise<Growth> {
  const { originFingerprint, treeSize, rootHash } = certificate;
  if (fromSize > treeSize) throw aheadOf("from_size", fromSize, treeSize);
  if (toSize > treeSize) throw aheadOf("to_size", toSize, treeSize);
  const subtrees = [
    ...subtreesForConsistency(fromSize, toSize),
    ...subtreesOfSize(fromSize),
    ...subtreesOfSize(toSize),
  ];
  const hashes = await read.select((reads) => reads.proofHashes([{ originFingerprint, subtrees }]));
  const hashAt = hashes.hashAt(originFingerprint);
  const toRoot = rootAt(toSize, hashAt, sha256);
  if (toSize === treeSize && !equalBytes(toRoot, rootHash)) {
    throw new RefusedError("unavailable", `the tables have another root of ${treeSize} leaves than is certified`);
  }
  return {
    fromRoot: rootAt(fromSize, hashAt, sha256),
    toRoot,
    proof: proveConsistency(fromSize, toSize, hashAt, sha256),
  };
}
