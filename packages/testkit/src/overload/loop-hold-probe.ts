/**
 * Loaded into a Node process before its program (`--import`): measures how long one turn of its loop works. Told
 * "take hold" over the process's channel, it answers with the longest turn since the last time, in milliseconds of
 * processor time: others on the machine add what they slow it down by, and not what they make it wait. Linux.
 */
import { readFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

const EVERY_MS = 1;

function workedMs(): number {
  const [ns = ""] = readFileSync("/proc/thread-self/schedstat", "latin1").split(" ");
  return Number(ns) / 1e6;
}

if (isMainThread) {
  let longestMs = 0;
  let beforeMs = workedMs();
  const timer = setInterval(() => {
    const nowMs = workedMs();
    longestMs = Math.max(longestMs, nowMs - beforeMs);
    beforeMs = nowMs;
  }, EVERY_MS);
  timer.unref();
  process.on("message", (message) => {
    if (message !== "take hold") return;
    process.send?.({ type: "hold", ms: longestMs });
    longestMs = 0;
  });
}
