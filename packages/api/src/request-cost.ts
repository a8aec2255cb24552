/**
 * What a request costs its key. One token is about what a small request takes of the process (half a millisecond on
 * 2 vCPU); the others are set from what was measured in its terms. docs/API.md, "Rates".
 */

/** What a handler has looked at, beyond one small thing. */
export interface Work {
  /** Items of a batch. */
  readonly items?: number;
  /** Hops of a delegation that were judged, shown or not. */
  readonly hops?: number;
}

const TOKENS_PER_ITEM = 0.1;
const TOKENS_PER_HOP = 0.1;
const BYTES_PER_TOKEN = 32 * 1024;

/** Beyond the token that every request costs when it comes. */
export function costOf({ items = 0, hops = 0 }: Work, bytes: number): number {
  return items * TOKENS_PER_ITEM + hops * TOKENS_PER_HOP + Math.floor(bytes / BYTES_PER_TOKEN);
}
