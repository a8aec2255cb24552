import type { ConfChange, RaftIndex } from "raft-ts";
import { SessionMembership } from "../membership/session-membership.ts";
import type { Session } from "./session.ts";
import type { SessionOptions } from "./session-options.ts";

/** Who is in the group, as a session knows it. */
export function membershipOf(
  options: SessionOptions,
  session: Session,
  hooks: {
    readonly propose: (change: ConfChange) => RaftIndex | null;
    /** This node is no member any more, and by the trust root never will be again. */
    readonly onRetired: (detail: string) => void;
  },
): SessionMembership {
  const { environment, identity, node, confState, known, network, promises, restoration = null } = options;
  return new SessionMembership({
    environment,
    identity,
    node,
    confState,
    members: session.members,
    known,
    restoration,
    applied: () => session.state.trustRootChain?.newest.trustRoot ?? null,
    transferLeadership: () => session.transferLeadership(),
    network,
    promises,
    ...hooks,
  });
}
