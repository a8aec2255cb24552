import type { RaftId, Status } from "raft-ts";

/** Who should lead instead: of the other voters that can be reached, the one whose log reaches furthest. */
export function transferTarget({ id, progress }: Status, isReachable: (peer: RaftId) => boolean): RaftId | null {
  const others = [...progress].filter(([peer, { isLearner }]) => peer !== id && !isLearner);
  others.sort(([, left], [, right]) => right.match - left.match);
  return others.find(([peer]) => isReachable(peer))?.[0] ?? null;
}
