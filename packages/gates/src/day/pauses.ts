/**
 * How long a client of a day waits: half to one and a half times the mean, drawn anew each time. Clients of one fixed
 * period keep their places to one another for minutes, and a cluster's figures are of these places: docs/testing.md.
 * @param chance from 0 to 1, 1 excluded
 * @returns what draws the next pause, milliseconds
 */
export function around(meanMs: number, chance: () => number = Math.random): () => number {
  return () => meanMs * (0.5 + chance());
}
