/** How many calls into the WebAssembly engine an entry costs: a count, which no machine's noise moves. */
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import type { QuietCluster, QuietMachine } from "@event-anchoring/simulator";
import { anchor, readyCluster } from "./cluster-steps.ts";

interface Instance {
  readonly exports: Readonly<Record<string, unknown>>;
}
interface WebAssemblyApi {
  instantiate(...given: unknown[]): Promise<Instance>;
}
type Export = (...args: unknown[]) => unknown;

const ENTRIES = 20;
/** All three nodes together made 21.5 as measured, and 55 when statuses and terms were calls. */
const CALLS_PER_ENTRY_MAX = 23;

const api = (globalThis as unknown as { readonly WebAssembly: WebAssemblyApi }).WebAssembly;
let calls = 0;
let cluster: QuietCluster;

function counted([name, value]: [string, unknown]): [string, unknown] {
  if (typeof value !== "function") return [name, value];
  const counting: Export = (...args) => {
    calls += 1;
    return (value as Export)(...args);
  };
  return [name, counting];
}

beforeEach(async () => {
  const instantiate = api.instantiate.bind(api);
  jest.spyOn(api, "instantiate").mockImplementation(async (...given) => {
    const { exports } = await instantiate(...given);
    return { exports: Object.fromEntries(Object.entries(exports).map(counted)) };
  });
  cluster = await readyCluster();
});

afterEach(() => {
  jest.restoreAllMocks();
});

test("an entry costs few calls, on all nodes together, beside those of an idle cluster", async () => {
  const leader = cluster.leader() as QuietMachine;
  // The first writes may meet the end of the cluster's birth.
  for (let at = 0; at < 3; at++) await anchor(cluster, leader, at);
  calls = 0;
  await cluster.time.advance(10_000);
  const idleCallsPerMs = calls / 10_000;
  const entriesBefore = leader.live().state.appliedIndex;
  const fromMs = cluster.time.clock.monotonicMs();
  calls = 0;
  for (let at = 3; at < 3 + ENTRIES; at++) await anchor(cluster, leader, at);
  const idleCalls = (cluster.time.clock.monotonicMs() - fromMs) * idleCallsPerMs;
  const entries = leader.live().state.appliedIndex - entriesBefore;
  expect(entries).toBeGreaterThanOrEqual(ENTRIES);
  expect((calls - idleCalls) / entries).toBeLessThanOrEqual(CALLS_PER_ENTRY_MAX);
  expect((calls - idleCalls) / entries).toBeGreaterThan(3);
});
