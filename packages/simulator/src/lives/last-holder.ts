import { type DatabaseImage, endOf } from "../disks/database-image.ts";

interface Member {
  readonly name: string;
  readonly database: Pick<DatabaseImage, "rows" | "compacted">;
}

/**
 * The only node that is left with a state that the others need: their logs end before its own begins, and the others
 * that had these entries too are lost for good. No second node can sign that state, so nobody takes it over, and nobody
 * commits anything: the cluster is restored from the database of this node (`docs/operating/restore.md`). Decision 0027
 * says why.
 * @param serving those that are not lost
 * @param lost those that are. One of them must have on its disk what was cut: a log is not cut before a second node has
 *   what goes. Fewer than two are no reason: of three nodes, the one that lags sees a single other one, and takes its
 *   word.
 */
export function lastHolder<M extends Member>(serving: readonly M[], lost: readonly Member[]): M | null {
  const [holder, ...others] = [...serving].sort((left, right) => beginOf(right) - beginOf(left));
  if (holder === undefined || lost.length < 2 || others.length < 2) return null;
  const reaches = ({ database }: Member): boolean => endOf(database).index >= beginOf(holder);
  return lost.some(reaches) && !others.some(reaches) ? holder : null;
}

/** The entry after which its log begins. */
function beginOf({ database }: Member): number {
  return database.compacted.index;
}
