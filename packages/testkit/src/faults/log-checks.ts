import type { AnchoredRecord, Recorder, SeenCosignature } from "./recorder.ts";
import { rootsAt } from "./stored-log.ts";
import type { StoredLeaf } from "./stored-log.ts";

/** A leader whose clock is further ahead of the others' stamps nothing; and what it takes to find that out. */
const AHEAD_MS_MAX = 5000 + 1000;

/**
 * Compares the log of a node with what was answered. Each line is a broken promise.
 * @param nowMs Unix milliseconds, when all of it had been written
 */
export function brokenByLog(leaves: readonly StoredLeaf[], recorder: Recorder, nowMs: number): readonly string[] {
  return [
    ...mistimed(leaves, nowMs),
    ...misplaced(leaves, recorder.anchored),
    ...strangers(leaves, recorder.attempted),
    ...unfoundedRoots(leaves, [...recorder.cosignatures, ...recorder.heads]),
  ];
}

/** Acknowledged, and not there in its place. */
function misplaced(leaves: readonly StoredLeaf[], anchored: readonly AnchoredRecord[]): readonly string[] {
  return anchored.flatMap(({ kind, content, anchorId, sequence, depth, originFingerprint }) => {
    const leaf = leaves[sequence];
    const isThere =
      leaf !== undefined &&
      leaf.anchorId === anchorId &&
      leaf.depth === depth &&
      leaf.originFingerprint === originFingerprint &&
      leaf.content === `${kind} ${content}`;
    return isThere ? [] : [`lost: ${kind} ${content}, acknowledged as ${anchorId} at sequence ${sequence}`];
  });
}

/** In the log without a request, or twice. */
function strangers(leaves: readonly StoredLeaf[], attempted: ReadonlySet<string>): readonly string[] {
  const seen = new Map<string, number>();
  return leaves.flatMap(({ content, sequence }) => {
    if (content === null) return [];
    const before = seen.get(content);
    seen.set(content, sequence);
    if (before !== undefined) return [`doubled: ${content} at sequences ${before} and ${sequence}`];
    return attempted.has(content) ? [] : [`nobody has sent what is at sequence ${sequence}: ${content}`];
  });
}

type LoggedRoot = Pick<SeenCosignature, "nodeId" | "originFingerprint" | "treeSize" | "rootHash">;

/** Roots that were answered and that the leaves do not give. */
function unfoundedRoots(leaves: readonly StoredLeaf[], said: readonly LoggedRoot[]): readonly string[] {
  const keyOf = ({ originFingerprint, treeSize }: LoggedRoot): string => `${originFingerprint} ${treeSize}`;
  const roots = rootsAt(leaves, new Set(said.map(keyOf)));
  return said.flatMap((one) => {
    const root = roots.get(keyOf(one));
    return root === one.rootHash ? [] : [`${keyOf(one)}: ${one.nodeId} said ${one.rootHash}, the leaves ${root}`];
  });
}

/** Times that go back, or come from a clock that was ahead of all others. */
function mistimed(leaves: readonly StoredLeaf[], nowMs: number): readonly string[] {
  return leaves.flatMap(({ sequence, acceptedMs }) => {
    const before = leaves[sequence - 1]?.acceptedMs ?? 0;
    if (acceptedMs < before) return [`time goes back at sequence ${sequence}: ${before}, then ${acceptedMs}`];
    return acceptedMs <= nowMs + AHEAD_MS_MAX ? [] : [`sequence ${sequence} is ${acceptedMs - nowMs} ms ahead of time`];
  });
}
