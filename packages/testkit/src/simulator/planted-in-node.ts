import type { ControlPlaneNode } from "@event-anchoring/control-plane";
import type { Bugs } from "./planted-bugs.ts";

/** Replaces methods of a running node's parts, from outside. Called once for each session, before its first frame. */
export function plantInNode(node: ControlPlaneNode, bugs: Bugs): void {
  const { session } = node;
  if (session === null || bugs.size === 0) return;
  const { certifier, clockGuard, state } = session;
  if (bugs.has("clock_not_guarded")) clockGuard.isSafe = () => true;
  if (bugs.has("group_decided_twice")) state.groupIds.has = () => false;
  if (bugs.has("acknowledged_when_proposed")) {
    const whenCovered = certifier.whenCovered.bind(certifier);
    certifier.whenCovered = (origin, treeSize, covered) => {
      const held = certifier.heldOf(origin);
      if (held === null) return whenCovered(origin, treeSize, covered);
      covered(held);
      return () => {};
    };
  }
}
