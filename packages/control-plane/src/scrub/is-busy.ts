import type { Session } from "../session/session.ts";

/** Committed entries that the tables lack, and commands that wait to be proposed, beyond which a node is busy. */
const BEHIND_MAX = 64;
const QUEUED_MAX = 256;

interface BusySession {
  readonly consensus: Pick<Session["consensus"], "view"> & {
    readonly tables: Pick<Session["consensus"]["tables"], "writtenIndex">;
  };
  readonly writes: { readonly queue: Pick<Session["writes"]["queue"], "depth"> };
}

/** True while the scrub should not read: there is no session, it lags, or its queue is long. */
export function isBusyFor(session: BusySession | null): boolean {
  if (session === null) return true;
  const { consensus, writes } = session;
  const behind = consensus.view().commitIndex - consensus.tables.writtenIndex;
  return behind > BEHIND_MAX || writes.queue.depth.commands > QUEUED_MAX;
}
