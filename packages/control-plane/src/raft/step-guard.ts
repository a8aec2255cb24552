import type { BasicStatus, ConfState, Entry, InboundMessage, RaftId, RaftIndex, Term } from "raft-ts";
import { isPeerMessage } from "raft-ts";
import type { EntryFault } from "./entry-guard.ts";

/**
 * The verdict on a message: fit to step; not for this node; one that no node sends that keeps its promises; or one that
 * shows that this program is too old for the group. `code`: why the node halts, if two members send such messages.
 */
export type StepVerdict =
  | { readonly kind: "step" }
  | { readonly kind: "refuse"; readonly detail: string }
  | { readonly kind: "offence"; readonly offence: StepOffence; readonly code: string; readonly detail: string }
  | { readonly kind: "halt"; readonly code: string; readonly detail: string };

type StepOffence = "impossible_message" | "term_too_high" | "unreadable_entry";

export interface StepGuardView {
  /** As it is after everything that waits in the append lane. */
  readonly status: BasicStatus;
  readonly confState: ConfState;
  /** The highest term that a peer is believed. */
  readonly termMax: Term;
  termAt(index: RaftIndex): Term | null;
  /** Why that entry must not be appended; null: it may be. */
  faultOf(entry: Entry): EntryFault | null;
}

const STEP: StepVerdict = { kind: "step" };

/**
 * Judges a peer's message before the engine sees it (attacker-controlled, though from an authenticated node).
 *
 * The library panics on what cannot happen among nodes that keep their promises. Such a message shows that one of the
 * two forgot, or lies, and not which: it is dropped, and its sender is cut off. A message of a lower term than ours
 * goes to the library unchecked: it may be late, and is ignored or answered there.
 */
export function judgeStep(message: InboundMessage, from: RaftId, view: StepGuardView): StepVerdict {
  const { status } = view;
  if (!isPeerMessage(message.type)) return refuse(`${message.type} is not for the network`);
  if (message.from !== from) return refuse("sender is not the connection's node");
  if (message.to !== status.id) return refuse("addressed to another node");
  if (message.term !== 0 && message.term < status.term) return STEP;
  if (message.term > Math.max(view.termMax, status.term)) {
    const detail = `${message.type} of term ${message.term}, explained is ${view.termMax}`;
    return { kind: "offence", offence: "term_too_high", code: "term_too_high", detail };
  }
  if (!isMember(message.from, view.confState) && !isFromFutureMember(message)) return refuse("sender is no member");
  switch (message.type) {
    case "MsgHeartbeat":
      if (message.commit > status.lastIndex) {
        return impossible(`heartbeat commits ${message.commit}, own log ends at ${status.lastIndex}`);
      }
      return STEP;
    case "MsgApp":
      return judgeAppend(message, view);
    case "MsgAppResp":
      // One of a later term only shows that this node does not lead any more.
      if (isOwnFollower(message, status) && !message.reject && message.index > status.lastIndex) {
        return impossible(`append of ${message.index} acknowledged, own log ends at ${status.lastIndex}`);
      }
      return STEP;
    default:
      return STEP;
  }
}

function judgeAppend(message: InboundMessage, view: StepGuardView): StepVerdict {
  const { commit } = view.status;
  let expected = message.index + 1;
  // From the first entry on that this log lacks, the engine takes all of them.
  let isHeld = true;
  for (const entry of message.entries) {
    if (entry.index !== expected) return refuse(`entry ${entry.index} where ${expected} follows`);
    expected += 1;
    const own = view.termAt(entry.index);
    isHeld &&= own === entry.term;
    if (isHeld) continue;
    if (entry.index > commit) {
      const fault = view.faultOf(entry);
      if (fault !== null) return verdictOf(fault, entry);
    } else if (own !== null && own !== entry.term) {
      return impossible(`entry ${entry.index} is committed with term ${own}, offered with term ${entry.term}`);
    }
  }
  return STEP;
}

function verdictOf({ kind, code, detail }: EntryFault, { index, term }: Entry): StepVerdict {
  const told = `entry ${index} of term ${term}: ${detail}`;
  if (kind === "outgrown") return { kind: "halt", code, detail: told };
  return kind === "offence" ? { kind, offence: "unreadable_entry", code, detail: told } : refuse(told);
}

/** The message answers something that this leader sent in its present term. */
function isOwnFollower(message: InboundMessage, status: BasicStatus): boolean {
  return status.role === "leader" && message.term === status.term;
}

/** A new leader may have been added by entries that this node has not applied yet. */
function isFromFutureMember(message: InboundMessage): boolean {
  return message.type === "MsgApp" || message.type === "MsgHeartbeat" || message.type === "MsgSnap";
}

function isMember(id: RaftId, conf: ConfState): boolean {
  return [conf.voters, conf.votersOutgoing, conf.learners, conf.learnersNext].some((ids) => ids.includes(id));
}

function refuse(detail: string): StepVerdict {
  return { kind: "refuse", detail };
}

function impossible(detail: string): StepVerdict {
  return { kind: "offence", offence: "impossible_message", code: "impossible_message", detail };
}
