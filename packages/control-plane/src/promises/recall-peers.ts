import type { Members } from "../session/members.ts";
import type { PeerMemories } from "./peer-memories.ts";
import type { Promises } from "./promise-file.ts";

/** Gives back to memory what the promise file kept of each peer over a restart. */
export function recallPeers({ peers }: Promises, members: Members, memories: PeerMemories): void {
  for (const [key, kept] of peers) {
    const nodeId = members.nodeIdOf(BigInt(`0x${key}`));
    if (nodeId !== null) memories.recall(nodeId, kept);
  }
}
