/** A backup round alters at most so many bits. */
const ROUND_MAX = 24;

/** Bits that were altered so far in one batch. */
export interface CountedFlips {
  /** Met by nodes. */
  readonly nodes: number;
  readonly backups: number;
}

/**
 * How many bits of a backup the next round may alter. A backup is judged in a second, and a node in a minute: without a
 * bound most of the count would be backups. They are a quarter of it at most.
 */
export function backupFlipsAllowed({ nodes, backups }: CountedFlips): number {
  return Math.max(0, Math.min(ROUND_MAX, Math.floor(nodes / 3) - backups));
}
