/** What time it is. */
export interface Clock {
  /** Wall time, ms since the Unix epoch. May jump; nothing about safety may depend on it. */
  wallMs(): number;
  /** Time that never goes back, ms since an arbitrary start. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};
