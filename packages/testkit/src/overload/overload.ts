/** More clients than a node can serve, and the answers of /readyz meanwhile. Each runs in a process of its own. */
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { HttpConnection } from "../clients/http-connection.ts";
import { pieceMs } from "./machine-pace.ts";
import type { CpuReading } from "./process-usage.ts";

const TIMEOUT_MS = 30_000;
const CHECK_PAUSE_MS = 20;

/** The request that is repeated. */
export interface Storm {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly path: string;
  /** JSON; null: a GET. */
  readonly body: string | null;
  readonly askers: number;
  readonly forMs: number;
}

/**
 * So many askers at once; each asks again when it has its answer, after a 503 as late as that asks for.
 * @returns how many answers there were, by status
 */
export async function storm({ url, headers, path, body, askers, forMs }: Storm): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const endMs = performance.now() + forMs;
  const ask = async (): Promise<void> => {
    const connection = new HttpConnection({ url, headers, timeoutMs: TIMEOUT_MS });
    while (performance.now() < endMs) {
      const { status } = await connection.send({ path, body });
      counts[status] = (counts[status] ?? 0) + 1;
      if (status === 503) await pause(1000);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: askers }, ask));
  return counts;
}

/** One check, in milliseconds. */
export interface Check {
  readonly status: number;
  /** From the connection to the whole answer. */
  readonly tookMs: number;
  /** How long, within it, the threads on its way were ready to run while the processors did something else. */
  readonly queuedMs: number;
  /** Processor time of a piece of work right after it: see `slownessOf`. */
  readonly pieceMs: number;
}

/** How long a process's main thread has been ready to run and has not run, since it began. Linux. */
function queuedMs(pid: number): number {
  const [, waited = ""] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "latin1").split(" ");
  return Number(waited) / 1e6;
}

/**
 * Asks /readyz on a new connection every time, as a gateway may, until it is told to stop.
 * @param pids of the processes that an answer passes through
 */
export async function checkReadiness(url: string, pids: readonly number[], isOver: () => boolean): Promise<Check[]> {
  const checks: Check[] = [];
  const queued = (): number => pids.reduce((sum, pid) => sum + queuedMs(pid), 0);
  while (!isOver()) {
    const connection = new HttpConnection({ url, headers: {}, timeoutMs: TIMEOUT_MS });
    const [atMs, before] = [performance.now(), queued()];
    const { status } = await connection.send({ path: "/readyz", body: null });
    const tookMs = performance.now() - atMs;
    checks.push({ status, tookMs, queuedMs: queued() - before, pieceMs: pieceMs() });
    connection.close();
    await pause(CHECK_PAUSE_MS);
  }
  return checks;
}

/** The share of the machine's processors that other programs than the ones that were read have used in between. */
export function othersShare(before: CpuReading, after: CpuReading): number {
  const sum = ({ ms }: CpuReading): number => Object.values(ms).reduce((all, each) => all + each, 0);
  const ours = sum(after) - sum(before);
  const there = (after.atMs - before.atMs) * after.cores;
  return Math.max(0, (after.machineMs - before.machineMs - ours) / there);
}
