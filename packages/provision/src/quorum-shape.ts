/** What a quorum buys. docs/PROTOCOL.md, "Quorum and policy". */

/** So many of so many active nodes must cosign. */
export interface QuorumShape {
  readonly quorum: number;
  readonly nodes: number;
}

/** What a new cluster is offered. */
export const QUORUM_SHAPES: readonly QuorumShape[] = [
  { quorum: 2, nodes: 3 },
  { quorum: 3, nodes: 5 },
  { quorum: 3, nodes: 4 },
  { quorum: 4, nodes: 5 },
];

/** How many nodes may be down while the others go on certifying. */
function crashesSurvived({ quorum, nodes }: QuorumShape): number {
  return nodes - quorum;
}

/**
 * How many nodes may lie without two certificates of one size that differ: f is the largest with 2k − n ≥ f + 1, and
 * no more than may be down as well, for a liar may be silent. 0: one liar is detected, and not excluded.
 */
export function liarsExcluded({ quorum, nodes }: QuorumShape): number {
  return Math.min(2 * quorum - nodes - 1, Math.max(1, nodes - quorum));
}

/** As in `2 of 3: goes on with 1 node down; detects one lying node, excludes none`. */
export function describeQuorumShape(shape: QuorumShape): string {
  const crashes = crashesSurvived(shape);
  const liars = liarsExcluded(shape);
  const down = crashes === 0 ? "stops when a node is down" : `goes on with ${crashes} ${nodeWord(crashes)} down`;
  const lying = liars === 0 ? "detects one lying node, excludes none" : `excludes ${liars} lying ${nodeWord(liars)}`;
  return `${shape.quorum} of ${shape.nodes}: ${down}; ${lying}`;
}

function nodeWord(count: number): string {
  return count === 1 ? "node" : "nodes";
}
