import { consistencyQuerySchema, parseQuery } from "@event-anchoring/api-contract";
import type { ConsistencyAnswer } from "@event-anchoring/api-contract";
import type { ShownCertificate } from "@event-anchoring/control-contract";
import {
  bytesToBase64,
  bytesToHex,
  equalBytes,
  frontierRoot,
  proveConsistency,
  subtreesForConsistency,
  subtreesOfSize,
} from "@event-anchoring/protocol";
import type { HashAt, Sha256 } from "@event-anchoring/protocol";
import { RefusedError } from "../control-plane/control-plane.ts";
import { ConsistentRead } from "../reading/consistent-read.ts";
import { parsed, ProblemError, problemError } from "../request/problem-error.ts";
import type { Handler } from "./handler.ts";

/** A head of the tree that the cluster has certified, and the proof that it extends a smaller one. */
export interface Growth {
  readonly fromRoot: Uint8Array;
  readonly toRoot: Uint8Array;
  readonly proof: readonly Uint8Array[];
}

function aheadOf(name: string, size: number, treeSize: number): ProblemError {
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

/** GET /v1/event-anchors/consistency */
export const getConsistency: Handler = async (request, dependencies) => {
  const query = parsed(parseQuery(consistencyQuerySchema, request.search));
  const { sha256 } = dependencies.crypto;
  const origin = query.originFingerprint ?? dependencies.node.originFingerprint;
  const read = await ConsistentRead.begin(dependencies, [origin], request.deadline);
  const origins = await read.origins();
  if (!origins.some((head) => equalBytes(head.originFingerprint, origin))) throw problemError("origin_unknown");
  const certificate = read.certificateOf(origin);
  if (certificate === null) throw aheadOf("from_size", query.fromSize, 0);
  const { fromSize } = query;
  const toSize = query.toSize ?? certificate.treeSize;
  const { fromRoot, toRoot, proof } = await proveGrowth(read, certificate, { fromSize, toSize }, sha256);
  const checkpoint = toSize === certificate.treeSize ? certificate.checkpoint : null;
  const json: ConsistencyAnswer = {
    origin_fingerprint: bytesToHex(origin),
    from: { tree_size: fromSize, root_hash: bytesToHex(fromRoot) },
    to: { tree_size: toSize, root_hash: bytesToHex(toRoot), checkpoint },
    proof: proof.map(bytesToBase64),
  };
  return { status: 200, json };
};
