import type { Entry as LedgerEntry } from "@event-anchoring/ledger";
import type { InboundMessage } from "raft-ts";
import { EntryGuard } from "../raft/entry-guard.ts";
import { PeerFrames } from "./peer-frames.ts";
import type { Session } from "./session.ts";
import type { SessionOptions } from "./session-options.ts";

/** What arrives from a session's peers. */
export function framesOf(
  options: SessionOptions,
  session: Session,
  step: (message: InboundMessage) => void,
): PeerFrames {
  const { environment, identity, network, node, observer } = options;
  return new PeerFrames({
    clock: environment.clock,
    logger: environment.logger,
    network,
    peers: session.peers,
    members: session.members,
    state: session.state,
    certifier: session.certifier,
    truth: session.truth,
    failover: session.failover,
    states: session.states,
    clockGuard: session.clockGuard,
    proposals: session.proposals,
    leaderQueue: session.leaderQueue,
    selfNodeId: identity.nodeId,
    view: (from) => ({
      status: node.basicStatus(),
      confState: session.membership.confState,
      termMax: session.peers.termMax(),
      termAt: (index) => node.termAt(index),
      faultOf: (entry) => session.entryGuard.faultOf(entry, from),
    }),
    step,
    onEntryTrace: (from, frame) => observer?.onEntryTrace(from, frame),
  });
}

/** What of a leader's entries a session takes. */
export function entryGuardOf(
  { node, environment }: SessionOptions,
  { upkeep, state }: Session,
  read: (payload: Uint8Array) => LedgerEntry,
): EntryGuard {
  return new EntryGuard({
    node,
    read,
    rulesKnown: upkeep.rules.known,
    isOutgrown: (leader) => upkeep.rules.isOutgrown(leader),
    wallMs: () => environment.clock.wallMs(),
    lastAcceptedMs: () => state.lastAcceptedMs,
  });
}
