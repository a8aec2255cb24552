import { setTimeout as delay } from "node:timers/promises";
import type { FaultyCluster } from "./faulty-cluster.ts";
import type { MixedLoad } from "./mixed-load.ts";
import { rolesOf } from "./nemesis.ts";
import type { Nemesis } from "./nemesis.ts";

export interface StrikeReport {
  readonly name: string;
  readonly leader: string;
  /** Records acknowledged while the fault lasted. */
  readonly anchoredMeanwhile: number;
  /** The longest time without any acknowledgement, from the strike to the end of all. */
  readonly longestGapMs: number;
  /** From the end of the fault until every node was ready. */
  readonly readyAfterMs: number;
}

const RECORDS_AFTERWARDS = 50;
const READY_TIMEOUT_MS = 60_000;

/** Gives a cluster under load one fault for a while, and waits until it is whole again and goes on. */
export async function strike(
  faulty: FaultyCluster,
  load: MixedLoad,
  nemesis: Nemesis,
  holdMs: number,
): Promise<StrikeReport> {
  const { anchored } = load.recorder;
  const roles = await rolesOf(faulty);
  const before = anchored.length;
  const struckMs = performance.now();
  const end = await nemesis.strike(faulty, roles);
  await delay(holdMs);
  const anchoredMeanwhile = anchored.length - before;
  await end();
  const endedMs = performance.now();
  await faulty.cluster.ready(READY_TIMEOUT_MS);
  const readyAfterMs = performance.now() - endedMs;
  await load.more(RECORDS_AFTERWARDS);
  const times = [struckMs, ...anchored.slice(before).map(({ endedMs: atMs }) => atMs)].toSorted((a, b) => a - b);
  const longestGapMs = Math.max(...times.slice(1).map((atMs, i) => atMs - (times[i] ?? atMs)));
  return { name: nemesis.name, leader: roles.leader, anchoredMeanwhile, longestGapMs, readyAfterMs };
}

export function describeStrike({ name, leader, anchoredMeanwhile, longestGapMs, readyAfterMs }: StrikeReport): string {
  const gap = `${(longestGapMs / 1000).toFixed(2)} s`;
  const ready = `${(readyAfterMs / 1000).toFixed(2)} s`;
  return `${name} (leader ${leader}): ${anchoredMeanwhile} meanwhile, longest gap ${gap}, ready ${ready} after\n`;
}
