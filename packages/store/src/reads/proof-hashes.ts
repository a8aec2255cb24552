import { bytesToHex, hexToBytes } from "@event-anchoring/protocol";
import type { HashAt, OriginFingerprint, Subtree } from "@event-anchoring/protocol";
import type { Reader } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { LoadedTiles, loadHashRanges, rangesOfSubtrees } from "../ledger/tree-hashes.ts";

/** Complete subtrees of one origin, for proofs (`subtreesForInclusion`, `subtreesForConsistency`). */
export interface SubtreesOfOrigin {
  readonly originFingerprint: OriginFingerprint;
  /** May repeat: each is loaded once. */
  readonly subtrees: readonly Subtree[];
}

/**
 * The parts of tiles that some proofs need. Interior hashes are computed on demand, each once: a proof from a tile that
 * no other proof has used costs some 250 hashes a tile (0.3 ms), so many proofs should be made off the event loop.
 */
export interface ProofHashes {
  readonly appliedIndex: number;
  /** For proveInclusion and proveConsistency. Throws StoreError `out_of_order` for hashes that were not loaded. */
  hashAt(originFingerprint: OriginFingerprint): HashAt;
}

/** One statement for all requests. An origin may be named more than once. */
export async function loadProofHashes(session: Reader, requests: readonly SubtreesOfOrigin[]): Promise<ProofHashes> {
  const subtreesOf = new Map<string, Subtree[]>();
  for (const { originFingerprint, subtrees } of requests) {
    const key = bytesToHex(originFingerprint);
    const known = subtreesOf.get(key) ?? [];
    subtreesOf.set(key, known);
    known.push(...subtrees);
  }
  const wanted = [...subtreesOf].map(([key, subtrees]) => ({
    originFingerprint: hexToBytes(key),
    ranges: rangesOfSubtrees(subtrees),
  }));
  const { appliedIndex, hashes } = await loadHashRanges(session, wanted);
  const loaded = new Map<string, LoadedTiles>();
  wanted.forEach(({ originFingerprint, ranges }, position) => {
    loaded.set(bytesToHex(originFingerprint), new LoadedTiles(ranges, hashes[position] ?? []));
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
