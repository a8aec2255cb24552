import { setTimeout as delay } from "node:timers/promises";

const POLL_MS = 25;

/**
 * Waits until a condition holds; the way tests wait for other processes.
 * @param condition null (or false) while it does not hold, else what the caller wants to know
 * @throws with `what` and the newest reason when the time is over
 */
export async function until<Result>(
  what: string,
  condition: () => Result | null | false | Promise<Result | null | false>,
  timeoutMs = 60_000,
): Promise<Result> {
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    const result = await condition();
    if (result !== null && result !== false) return result;
    if (performance.now() > giveUpAt) throw new Error(`not so after ${timeoutMs} ms: ${what}`);
    await delay(POLL_MS);
  }
}
