import type { SessionView } from "../session/view.ts";

/** Entries that wait to be applied, and commands that wait to be proposed, beyond which a node is busy. */
const BEHIND_MAX = 64;
const QUEUED_MAX = 256;

/** True while the scrub should not read: there is no session, it lags, or its queue is long. */
export function isBusyFor(session: Pick<SessionView, "raft" | "queue"> | null): boolean {
  if (session === null) return true;
  const { commitIndex, appliedIndex } = session.raft;
  return commitIndex - appliedIndex > BEHIND_MAX || session.queue.commands > QUEUED_MAX;
}
