/** The leaves of a bundle that was verified, with where each is proved. */
import {
  anchorIdOf,
  bytesToHex,
  checkpointOrigin,
  decodeLeaf,
  nobleCrypto,
  parseCheckpoint,
  parseNote,
  parseStateHead,
} from "@event-anchoring/protocol";
import type { Bundle } from "@event-anchoring/bundle";
import type { Leaf } from "@event-anchoring/protocol";

/** How a leaf is proved to be in a tree that a quorum has cosigned. */
export interface LeafProof {
  readonly origin: string;
  readonly treeSize: number;
  readonly rootHash: string;
  /**
   * `path`: hashes from leaf to root. `range`: the last leaves of the tree, which make the root with those before.
   * `state`: the record has a value in the state tree, whose root this is; `treeSize` is the number of all leaves then.
   */
  readonly way: "path" | "range" | "state";
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

interface TreeShown {
  readonly origin: string;
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
}

const NO_TREE: TreeShown = { origin: "", treeSize: 0, rootHash: new Uint8Array(0) };

function entryOf(
  bytes: Uint8Array,
  { origin, treeSize, rootHash }: TreeShown,
  proof: Pick<LeafProof, "way" | "hashes" | "from">,
): BundleLeafEntry {
  const leaf = decodeLeaf(bytes);
  const anchorId = bytesToHex(anchorIdOf(bytes, nobleCrypto.sha256));
  return { anchorId, bytes, leaf, proof: { origin, treeSize, rootHash: bytesToHex(rootHash), ...proof } };
}

/** What the state head shows: a tree for each origin, by the hex of its fingerprint, and the state itself. */
function shownByState(note: string): { readonly trees: ReadonlyMap<string, TreeShown>; readonly state: TreeShown } {
  const head = parseStateHead(parseNote(note).text);
  const trees = head.origins.map(({ originFingerprint, treeSize, rootHash }) => {
    const origin = checkpointOrigin(head.clusterName, originFingerprint);
    return [bytesToHex(originFingerprint), { origin, treeSize, rootHash }] as const;
  });
  const state = { origin: head.clusterName, treeSize: head.nextSequence, rootHash: head.stateRoot };
  return { trees: new Map(trees), state };
}

/** By hex of the anchor id, ascending by sequence. Only for a bundle whose verification has not failed. */
export function leavesOf({ checkpoints, leaves, ranges, state }: Bundle): ReadonlyMap<string, BundleLeafEntry> {
  const trees = checkpoints.map((note) => parseCheckpoint(parseNote(note).text));
  const shown = state === null ? null : shownByState(state.head);
  const treeOf = (leaf: Uint8Array, checkpoint: number | null): TreeShown =>
    (checkpoint === null ? shown?.trees.get(bytesToHex(decodeLeaf(leaf).originFingerprint)) : trees[checkpoint]) ??
    NO_TREE;
  const all = [
    ...leaves.map(({ leaf, checkpoint, inclusion }) =>
      entryOf(leaf, treeOf(leaf, checkpoint), { way: "path", hashes: inclusion.map(bytesToHex), from: 0 }),
    ),
    ...ranges.flatMap(({ leaves: bytes, checkpoint, frontier, from }) =>
      bytes.map((leaf) => {
        const hashes = frontier.map(bytesToHex);
        return entryOf(leaf, treeOf(leaf, checkpoint), { way: "range", hashes, from });
      }),
    ),
    ...(state?.records ?? []).map(({ leaf }) =>
      entryOf(leaf, shown?.state ?? NO_TREE, { way: "state", hashes: [], from: 0 }),
    ),
  ];
  return new Map(all.toSorted((a, b) => a.leaf.sequence - b.leaf.sequence).map((each) => [each.anchorId, each]));
}
