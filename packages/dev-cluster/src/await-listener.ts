import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { LOOPBACK } from "./ports.ts";

const POLL_MS = 50;

/** Waits until something listens on a loopback port, the time is over, or nobody wants it any more. */
export async function awaitListener(
  port: number,
  options: { readonly timeoutMs: number; readonly isWanted: () => boolean },
): Promise<void> {
  const giveUpAt = performance.now() + options.timeoutMs;
  while (options.isWanted() && performance.now() < giveUpAt && !(await listens(port))) await delay(POLL_MS);
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: LOOPBACK, port });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
