import type { ConfState, InboundMessage, MessageType, SnapshotMeta, Term } from "./types.ts";

/** The largest `context` of a message, in bytes. */
export const CONTEXT_BYTES_MAX = 4096;

/** Node ids from here on are the library's names for its own storage threads. */
const RESERVED_ID_MIN = 0xffff_ffff_ffff_fffen;

/** What the library sends in `context` of a heartbeat while reads wait for it. */
const HEARTBEAT_CONTEXT_BYTES = 8;

const PEER_MESSAGES: ReadonlySet<MessageType> = new Set<MessageType>([
  "MsgApp",
  "MsgAppResp",
  "MsgVote",
  "MsgVoteResp",
  "MsgSnap",
  "MsgHeartbeat",
  "MsgHeartbeatResp",
  "MsgTimeoutNow",
  "MsgReadIndex",
  "MsgReadIndexResp",
  "MsgPreVote",
  "MsgPreVoteResp",
]);

/**
 * Whether a peer may send this type. The others are a node's messages to itself; proposals and leadership transfers
 * too, since neither is ever forwarded.
 */
export function isPeerMessage(type: MessageType): boolean {
  return PEER_MESSAGES.has(type);
}

/**
 * What is wrong with a message from a peer as such, whatever the receiver's state; null if nothing is. No correct
 * node sends a message that fails here, and the library would panic on some of them.
 */
export function findShapeFault(message: InboundMessage): string | null {
  if (!isPeerMessage(message.type)) return `${message.type} is not a message between peers`;
  if (!isMemberId(message.from) || !isMemberId(message.to)) return "from or to is not a node";
  if (!isCount(message.term) || !isCount(message.logTerm) || !isCount(message.index)) return "a number is out of range";
  if (!isCount(message.commit) || !isCount(message.rejectHint)) return "a number is out of range";
  if (message.vote !== 0n) return "vote is set";
  // A term of zero marks a local message; the library adds none to a read request, and panics if it finds one.
  if ((message.term === 0) !== (message.type === "MsgReadIndex")) return "wrong kind of term";
  if (message.context.length > CONTEXT_BYTES_MAX) return "context is too long";
  if ((message.snapshot !== null) !== (message.type === "MsgSnap")) return "snapshot and type do not fit";
  switch (message.type) {
    case "MsgApp":
      return findAppendFault(message);
    case "MsgSnap":
      return findSnapshotFault(message.snapshot, message.term) ?? findEntriesFault(message, 0);
    case "MsgReadIndex":
    case "MsgReadIndexResp":
      return findReadFault(message);
    case "MsgHeartbeat":
    case "MsgHeartbeatResp":
      if (message.context.length !== 0 && message.context.length !== HEARTBEAT_CONTEXT_BYTES) return "wrong context";
      return findEntriesFault(message, 0);
    default:
      return findEntriesFault(message, 0);
  }
}

/** A whole number that the engine can take: in [0, 2^53). */
export function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

export function isMemberId(id: bigint): boolean {
  return id > 0n && id < RESERVED_ID_MIN;
}

function findEntriesFault(message: InboundMessage, count: number): string | null {
  return message.entries.length === count ? null : `${message.entries.length} entries`;
}

/** Entries follow each other and the position they are anchored at; terms never fall and stay within the leader's. */
function findAppendFault(message: InboundMessage): string | null {
  let { index, logTerm } = message;
  if (logTerm > message.term) return "logTerm is above the term";
  if ((index === 0) !== (logTerm === 0)) return "index and logTerm do not fit";
  for (const entry of message.entries) {
    index += 1;
    if (entry.index !== index) return "entries are not contiguous";
    if (entry.term < Math.max(logTerm, 1) || entry.term > message.term) return "an entry's term is out of order";
    // No encoded conf change starts with a zero byte; the engine tells absent bytes by that.
    if (entry.type === "conf_change" && entry.payload[0] === 0) return "a conf change does not decode";
    logTerm = entry.term;
  }
  return null;
}

function findReadFault(message: InboundMessage): string | null {
  const request = message.entries[0];
  if (request === undefined || message.entries.length !== 1) return "a read has exactly one entry";
  if (request.index !== 0 || request.term !== 0 || request.type !== "normal")
    return "a read's entry is not its context";
  return request.payload.length > CONTEXT_BYTES_MAX ? "context is too long" : null;
}

function findSnapshotFault(snapshot: SnapshotMeta | null, term: Term): string | null {
  if (snapshot === null || snapshot.index === 0) return "an empty snapshot";
  if (snapshot.term === 0 || snapshot.term > term) return "the snapshot's term is out of range";
  return findConfStateFault(snapshot.confState);
}

/** What the library would refuse, by panicking, when it restores a membership. */
export function findConfStateFault(conf: ConfState): string | null {
  const { voters, votersOutgoing, learners, learnersNext } = conf;
  for (const ids of [voters, votersOutgoing, learners, learnersNext]) {
    if (!ids.every(isMemberId)) return "a member is not a node";
    if (new Set(ids).size !== ids.length) return "a member is named twice";
  }
  if (voters.length === 0) return "no voters";
  if (learners.some((id) => voters.includes(id) || votersOutgoing.includes(id))) return "a learner votes";
  if (learnersNext.some((id) => !votersOutgoing.includes(id) || voters.includes(id) || learners.includes(id))) {
    return "a next learner does not leave the voters";
  }
  if (votersOutgoing.length === 0 && conf.autoLeave) return "autoLeave without a joint configuration";
  return null;
}
