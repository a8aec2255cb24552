import type { Host } from "./host.ts";
import { finding } from "./mistakes.ts";
import type { Finding } from "./mistakes.ts";

/** A node whose clock is 5 s ahead does not lead; times of answers are to the second. */
const DIFFERENCE_MS_MAX = 2500;

/** Whether a time server keeps the clock, and whether it agrees with others. */
export async function checkClock(host: Host, others: readonly string[]): Promise<Finding[]> {
  const found: Finding[] = [];
  if ((await host.isClockKept()) === false) {
    found.push(finding("clock_not_kept", "no time server keeps the system's clock: run chrony or systemd-timesyncd"));
  }
  for (const url of others) {
    const beforeMs = host.nowMs();
    const dateMs = (await host.get(`${url}/healthz`))?.dateMs ?? null;
    if (dateMs === null) continue;
    // It was written at some time between question and answer, and is rounded down to the second.
    const [earliest, latest] = [beforeMs - dateMs - 1000, host.nowMs() - dateMs];
    if (earliest <= DIFFERENCE_MS_MAX && latest >= -DIFFERENCE_MS_MAX) continue;
    const seconds = Math.round(Math.abs(earliest + latest) / 2000);
    const side = earliest > 0 ? "ahead of" : "behind";
    found.push(finding("clock_differs", `the clock is ${seconds} s ${side} that of ${url}`));
  }
  return found;
}
