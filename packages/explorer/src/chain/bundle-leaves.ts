/** The leaves of a bundle that was verified, with where each is proved. */
import { anchorIdOf, bytesToHex, decodeLeaf, nobleCrypto, parseCheckpoint, parseNote } from "@event-anchoring/protocol";
import type { Bundle } from "@event-anchoring/bundle";
import type { Leaf } from "@event-anchoring/protocol";

/** How a leaf is proved to be in a tree that a quorum has cosigned. */
export interface LeafProof {
  readonly origin: string;
  readonly treeSize: number;
  readonly rootHash: string;
  /** `path`: hashes from leaf to root. `range`: the last leaves of the tree, which make the root with those before. */
  readonly way: "path" | "range";
  readonly hashes: readonly string[];
  /** Depth of the first leaf of the range. */
  readonly from: number;
}

export interface BundleLeafEntry {
  readonly anchorId: string;
  readonly bytes: Uint8Array;
  readonly leaf: Leaf;
  readonly proof: LeafProof;
}

/** By hex of the anchor id, ascending by sequence. Only for a bundle whose verification has not failed. */
export function leavesOf({ checkpoints, leaves, ranges }: Bundle): ReadonlyMap<string, BundleLeafEntry> {
  const trees = checkpoints.map((note) => parseCheckpoint(parseNote(note).text));
  const entry = (bytes: Uint8Array, checkpoint: number, proof: Pick<LeafProof, "way" | "hashes" | "from">) => {
    const tree = trees[checkpoint];
    const leaf = decodeLeaf(bytes);
    const anchorId = bytesToHex(anchorIdOf(bytes, nobleCrypto.sha256));
    const { origin = "", treeSize = 0, rootHash = new Uint8Array(0) } = tree ?? {};
    return { anchorId, bytes, leaf, proof: { origin, treeSize, rootHash: bytesToHex(rootHash), ...proof } };
  };
  const all = [
    ...leaves.map(({ leaf, checkpoint, inclusion }) =>
      entry(leaf, checkpoint, { way: "path", hashes: inclusion.map(bytesToHex), from: 0 }),
    ),
    ...ranges.flatMap(({ leaves: bytes, checkpoint, frontier, from }) =>
      bytes.map((leaf) => entry(leaf, checkpoint, { way: "range", hashes: frontier.map(bytesToHex), from })),
    ),
  ];
  return new Map(all.toSorted((a, b) => a.leaf.sequence - b.leaf.sequence).map((each) => [each.anchorId, each]));
}
