import { setTimeout as delay } from "node:timers/promises";
import type { FaultyCluster } from "./faulty-cluster.ts";
import { rolesOf } from "./nemesis.ts";
import type { Nemesis } from "./nemesis.ts";

/** Clients that go on writing during faults. */
export interface SteadyLoad {
  /** When each acknowledgement came, in milliseconds of this process's monotonic clock. */
  readonly acknowledgedMs: readonly number[];
  /** Waits until so many more are acknowledged. */
  more(count: number): Promise<void>;
}

export interface InjectionReport {
  readonly name: string;
  /** Before the fault. */
  readonly leader: string;
  /** Acknowledged while the fault lasted. */
  readonly acknowledgedMeanwhile: number;
  /** The longest time without any acknowledgement, from the strike to the end of all. */
  readonly longestGapMs: number;
  /** From the end of the fault until every node was ready. */
  readonly readyAfterMs: number;
}

const ACKNOWLEDGED_AFTERWARDS = 50;
const READY_TIMEOUT_MS = 120_000;

/**
 * Injects several faults at once into a cluster under load for a while, and waits until it has recovered.
 * @throws when it is not
 */
export async function injectFaults(
  faulty: FaultyCluster,
  load: SteadyLoad,
  nemeses: readonly Nemesis[],
  holdMs: number,
): Promise<InjectionReport> {
  const name = nemeses.map((nemesis) => nemesis.name).join(", and ");
  const roles = await rolesOf(faulty);
  const before = load.acknowledgedMs.length;
  const injectedMs = performance.now();
  const ends: (() => Promise<void>)[] = [];
  for (const nemesis of nemeses) ends.unshift(await nemesis.inject(faulty, roles));
  await delay(holdMs);
  const acknowledgedMeanwhile = load.acknowledgedMs.length - before;
  for (const end of ends) await end();
  const endedMs = performance.now();
  await faulty.cluster.ready(READY_TIMEOUT_MS);
  const readyAfterMs = performance.now() - endedMs;
  await load.more(ACKNOWLEDGED_AFTERWARDS);
  const times = [injectedMs, ...load.acknowledgedMs.slice(before)];
  const longestGapMs = Math.max(...times.slice(1).map((atMs, i) => atMs - (times[i] ?? atMs)));
  return { name, leader: roles.leader, acknowledgedMeanwhile, longestGapMs, readyAfterMs };
}

export function describeInjection({
  name,
  leader,
  acknowledgedMeanwhile,
  longestGapMs,
  readyAfterMs,
}: InjectionReport): string {
  const gap = `${(longestGapMs / 1000).toFixed(2)} s`;
  const ready = `${(readyAfterMs / 1000).toFixed(2)} s`;
  return `${name} (${leader} led): ${acknowledgedMeanwhile} meanwhile, longest gap ${gap}, ready ${ready} after\n`;
}
