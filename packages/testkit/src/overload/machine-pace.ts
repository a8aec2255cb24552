/** How slowly this machine computes at the moment: a bound on processor time is for a machine of one speed. */

/** What a piece takes on a quiet machine of 2 vCPU, in milliseconds of processor time. */
const PIECE_MS = 0.7;

const TEXT = JSON.stringify(Array.from({ length: 1000 }, (_, at) => ({ anchor_id: `${at}`.padStart(64, "0"), at })));

/** Does a small piece of work, as a server does it: JSON in, JSON out. */
function work(): number {
  const items = JSON.parse(TEXT) as readonly { readonly anchor_id: string; readonly at: number }[];
  const sum = items.reduce((total, { anchor_id: id, at }) => total + id.length + at, 0);
  return JSON.stringify({ sum, text: TEXT }).length;
}

/** @returns milliseconds of processor time that one piece of work has taken in this process */
export function pieceMs(): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/**
 * @param pieces what pieces of work took in the time that is judged
 * @returns 1 on a machine of that speed or a quicker one; 2 where the work takes twice as long
 */
export function slownessOf(pieces: readonly number[]): number {
  const middle = [...pieces].sort((a, b) => a - b)[Math.floor(pieces.length / 2)];
  if (middle === undefined) throw new Error("no piece of work was measured");
  return Math.max(1, middle / PIECE_MS);
}
