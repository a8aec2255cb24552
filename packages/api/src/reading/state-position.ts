/** Positions in a state that a quorum has signed: what its head proves, and no more. */
import type { AsOf as WantedAsOf } from "@event-anchoring/api-contract";
import { parseNote, parseStateHead } from "@event-anchoring/protocol";
import type { StateHead } from "@event-anchoring/protocol";
import type { AsOf } from "@event-anchoring/records";
import type { SignedState } from "../control-plane/hold-state.ts";
import { ProblemError, problemError } from "../request/problem-error.ts";
import type { ConsistentRead } from "./consistent-read.ts";

/** The head that this node's control plane has signed itself. */
export function headOf({ stateHead }: SignedState): StateHead {
  return parseStateHead(parseNote(stateHead).text);
}

/**
 * The position that a request means, if the head proves it.
 * @param wanted null = the newest that it proves: its last leaf, and the last moment before any later one
 * @throws ProblemError `as_of_future`
 */
export async function resolveInState(read: ConsistentRead, wanted: WantedAsOf | null, head: StateHead): Promise<AsOf> {
  const { lastAcceptedMs, stampMs } = head;
  const newest = head.nextSequence - 1;
  if (wanted === null) return { sequence: newest, timeMs: Math.max(lastAcceptedMs, stampMs - 1) };
  if (wanted.kind === "time") {
    // From its stamp on, a later leaf may be older than that time.
    if (wanted.timeMs >= stampMs) throw beyond(head);
    const { sequence } = await read.select((reads) => reads.sequenceAtOrBefore(wanted.timeMs));
    if (sequence === null)
      throw new ProblemError({ code: "anchor_not_found", detail: "as_of is before every anchor." });
    return { sequence, timeMs: wanted.timeMs };
  }
  if (wanted.sequence > newest) throw beyond(head);
  const { acceptedMs } = await read.select((reads) => reads.acceptedMsOf(wanted.sequence));
  if (acceptedMs === null) throw problemError("as_of_future");
  return { sequence: wanted.sequence, timeMs: wanted.kind === "position" ? wanted.timeMs : acceptedMs };
}

function beyond({ nextSequence, stampMs }: StateHead): ProblemError {
  const detail = `The signed state ends with sequence ${nextSequence - 1}, before ${stampMs} ms.`;
  return new ProblemError({ code: "as_of_future", detail });
}
