import { LoadClient } from "../load-client.ts";
import type { LoadAnswer } from "../load-client.ts";
import { percentile } from "./percentile.ts";

/** What one scenario measured. Times are in milliseconds, rates in anchors per second. */
export interface Measurement {
  readonly scenario: string;
  readonly clients: number;
  readonly anchorsPerRequest: number;
  readonly seconds: number;
  readonly requests: number;
  readonly anchorsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly goal: string | null;
  /** Answers that were not what they should be, by status; `0` = no answer. */
  readonly failures: Readonly<Record<string, number>>;
}

export interface BenchRequest {
  readonly path: string;
  /** null: a GET. */
  readonly body: string | null;
}

/** What is asked for, again and again. */
export interface Workload {
  readonly name: string;
  readonly anchorsPerRequest: number;
  /** What the product promises of it, on the machine that docs/ARCHITECTURE.md names. */
  readonly goal?: string;
  /** @returns null when everything that was prepared is used up */
  next(apiUrl: string): BenchRequest | null;
  isGood(answer: LoadAnswer): boolean;
}

export interface Scenario extends Workload {
  /** Concurrent clients, each with one request under way. They are spread over the nodes given. */
  readonly clients: number;
  readonly apiUrls: readonly string[];
  readonly durationMs: number;
}

export interface ScenarioTarget {
  readonly apiKey: string;
  /** Keeps some of the answers, as JSON text, so that their receipts can be verified afterwards. */
  readonly onSample: (answer: string) => void;
}

const SAMPLE_EVERY = 97;
const TIMEOUT_MS = 20_000;

/** Runs a scenario: every client asks, waits for the answer, and asks again. */
export async function runScenario(scenario: Scenario, target: ScenarioTarget): Promise<Measurement> {
  const perNode = Math.ceil(scenario.clients / scenario.apiUrls.length);
  const pools = scenario.apiUrls.map(
    (apiUrl) => new LoadClient({ apiUrl, apiKey: target.apiKey, connections: perNode }),
  );
  const latenciesMs: number[] = [];
  const failures: Record<string, number> = {};
  const startedAt = performance.now();
  const endsAt = startedAt + scenario.durationMs;
  const client = async (pool: LoadClient): Promise<void> => {
    while (performance.now() < endsAt) {
      const request = scenario.next(pool.apiUrl);
      if (request === null) return;
      const askedAt = performance.now();
      const answer = await send(pool, request);
      const isGood = scenario.isGood(answer);
      if (!isGood) failures[String(answer.status)] = (failures[String(answer.status)] ?? 0) + 1;
      else latenciesMs.push(performance.now() - askedAt);
      if (isGood && latenciesMs.length % SAMPLE_EVERY === 1) target.onSample(answer.text);
    }
  };
  await Promise.all(
    Array.from({ length: scenario.clients }, (_, i) => {
      const pool = pools[i % pools.length];
      if (pool === undefined) throw new Error("a scenario needs a node");
      return client(pool);
    }),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  await Promise.all(pools.map((pool) => pool.close()));
  return summarise(scenario, seconds, latenciesMs, failures);
}

async function send(pool: LoadClient, { path, body }: BenchRequest): Promise<LoadAnswer> {
  try {
    return await (body === null ? pool.get(path, TIMEOUT_MS) : pool.post(path, body, TIMEOUT_MS));
  } catch (error) {
    // No answer is a failure of the scenario, counted under the status 0.
    return { status: 0, text: String(error) };
  }
}

function summarise(
  scenario: Scenario,
  seconds: number,
  latenciesMs: readonly number[],
  failures: Readonly<Record<string, number>>,
): Measurement {
  const sorted = latenciesMs.toSorted((a, b) => a - b);
  const at = (p: number): number => (sorted.length === 0 ? Number.NaN : percentile(sorted, p));
  return {
    scenario: scenario.name,
    clients: scenario.clients,
    anchorsPerRequest: scenario.anchorsPerRequest,
    seconds,
    requests: sorted.length,
    anchorsPerSecond: (sorted.length * scenario.anchorsPerRequest) / seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: at(1),
    goal: scenario.goal ?? null,
    failures,
  };
}
