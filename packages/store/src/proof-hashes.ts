import { bytesToHex } from "@event-anchoring/protocol";
import type { HashAt, OriginFingerprint, Subtree } from "@event-anchoring/protocol";
import type { Reader } from "./connection.ts";
import { StoreError } from "./errors.ts";
import { LoadedHashes, foldRange, loadHashRanges, rangeOfSubtree } from "./tree-hashes.ts";

/** Complete subtrees of one origin, for proofs (`subtreesForInclusion`, `subtreesForConsistency`). */
export interface SubtreesOfOrigin {
  readonly originFingerprint: OriginFingerprint;
  /** May repeat: each is loaded once. */
  readonly subtrees: readonly Subtree[];
}

/** Subtree roots, enough for the proofs they were loaded for. */
export interface ProofHashes {
  readonly appliedIndex: number;
  /** For proveInclusion and proveConsistency. Throws StoreError `out_of_order` for what was not asked for. */
  hashAt(originFingerprint: OriginFingerprint): HashAt;
}

interface DistinctSubtrees {
  readonly originFingerprint: OriginFingerprint;
  readonly subtrees: Map<string, Subtree>;
}

function distinctSubtrees(requests: readonly SubtreesOfOrigin[]): Map<string, DistinctSubtrees> {
  const origins = new Map<string, DistinctSubtrees>();
  for (const { originFingerprint, subtrees } of requests) {
    const key = bytesToHex(originFingerprint);
    const known = origins.get(key) ?? { originFingerprint, subtrees: new Map<string, Subtree>() };
    origins.set(key, known);
    for (const subtree of subtrees) known.subtrees.set(`${subtree.level}/${subtree.index}`, subtree);
  }
  return origins;
}

/** One statement, whatever is asked for. An origin may be named more than once. */
export async function loadProofHashes(session: Reader, requests: readonly SubtreesOfOrigin[]): Promise<ProofHashes> {
  const origins = [...distinctSubtrees(requests)].map(([key, { originFingerprint, subtrees }]) => ({
    key,
    originFingerprint,
    subtrees: [...subtrees.values()],
  }));
  const { appliedIndex, hashes } = await loadHashRanges(
    session,
    origins.map(({ originFingerprint, subtrees }) => ({ originFingerprint, ranges: subtrees.map(rangeOfSubtree) })),
  );
  const loaded = new Map<string, LoadedHashes>();
  origins.forEach(({ key, subtrees }, position) => {
    const found = new LoadedHashes();
    subtrees.forEach((subtree, place) => {
      const range = hashes[position]?.[place];
      if (range !== undefined) found.add(subtree, foldRange(range));
    });
    loaded.set(key, found);
  });
  return {
    appliedIndex,
    hashAt: (originFingerprint) => {
      const found = loaded.get(bytesToHex(originFingerprint));
      if (found === undefined) {
        throw new StoreError("out_of_order", `no hashes of origin ${bytesToHex(originFingerprint)} were loaded`);
      }
      return found.hashAt;
    },
  };
}
