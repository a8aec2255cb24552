import { setTimeout as delay } from "node:timers/promises";

/** False: the signal has ended it. */
export async function waited(ms: number, signal: AbortSignal | null): Promise<boolean> {
  try {
    await delay(ms, undefined, signal === null ? {} : { signal });
    return true;
  } catch (error) {
    if (signal?.aborted === true) return false;
    throw error;
  }
}
