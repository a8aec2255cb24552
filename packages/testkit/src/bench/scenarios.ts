import { randomBytes } from "node:crypto";
import { LoadClient } from "../load-client.ts";
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
  /** Answers that were not 201 (batches: 200), by status; `0` = no answer. */
  readonly failures: Readonly<Record<string, number>>;
}

export interface Scenario {
  readonly name: string;
  /** Concurrent clients, each with one request under way. They are spread over the nodes given. */
  readonly clients: number;
  readonly anchorsPerRequest: number;
  readonly apiUrls: readonly string[];
  readonly durationMs: number;
}

export interface ScenarioTarget {
  readonly apiKey: string;
  /** By api_url: the origin that writes to this node name. */
  readonly originFingerprints: ReadonlyMap<string, string>;
  /** Keeps some of the receipts, as JSON text of the whole answer, to be verified afterwards. */
  readonly onSample: (answer: string) => void;
}

const SAMPLE_EVERY = 97;

/** Runs a scenario: every client writes, waits for the certified answer, and writes again. */
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
    const origin = target.originFingerprints.get(pool.apiUrl) ?? "";
    while (performance.now() < endsAt) {
      const { path, body } = requestOf(scenario.anchorsPerRequest, origin);
      const askedAt = performance.now();
      const answer = await pool
        .post(path, body, 20_000)
        .catch((error: unknown) => ({ status: 0, text: String(error) }));
      const isGood = scenario.anchorsPerRequest === 1 ? answer.status === 201 : isWholeBatch(answer, scenario);
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

function isWholeBatch(answer: { status: number; text: string }, scenario: Scenario): boolean {
  return answer.status === 200 && answer.text.includes(`"created":${scenario.anchorsPerRequest}`);
}

function requestOf(anchors: number, origin: string): { path: string; body: string } {
  const event = (): string => `"event_hash":"${randomBytes(32).toString("hex")}"`;
  if (anchors === 1) {
    return { path: "/v1/event-anchors", body: `{"origin_fingerprint":"${origin}",${event()}}` };
  }
  const events = Array.from({ length: anchors }, () => `{${event()}}`).join(",");
  return { path: "/v1/event-anchors/batch", body: `{"origin_fingerprint":"${origin}","events":[${events}]}` };
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
    failures,
  };
}
