import { readdirSync } from "node:fs";
import { until } from "@event-anchoring/testkit";

/** A process, how many files and sockets it held at first, and how many more it may come to hold. */
export interface WatchedProcess {
  readonly name: string;
  readonly pid: number;
  readonly before: number;
  /** Connections and files that it opens when it first needs them, and then keeps. */
  readonly kept: number;
}

/** @returns null: the process has ended */
export function openFiles(pid: number): number | null {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return null;
    throw error;
  }
}

/**
 * Waits until each process holds no more open files than it did, but for those that it keeps.
 * @returns a line for each that does; one that has ended holds none
 */
export async function notClosed(watched: readonly WatchedProcess[], timeoutMs: number): Promise<readonly string[]> {
  const lines = watched.map(async ({ name, pid, before, kept }) => {
    const held = (): number => openFiles(pid) ?? 0;
    return until(`${name} closes its files`, () => held() <= before + kept, timeoutMs).then(
      () => [],
      () => [`${name} holds ${held()} open files; at first ${before}, and at most ${kept} more are kept`],
    );
  });
  return (await Promise.all(lines)).flat();
}
