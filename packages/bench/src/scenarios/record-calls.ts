import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Recorder } from "@event-anchoring/sdk/recorder";
import { RECORD_CALLS_NAME, RECORD_P50, RECORD_P99 } from "../figures/names.ts";
import { percentile } from "../figures/percentile.ts";
import type { Row } from "../figures/rows.ts";
import type { ApartScenario } from "./scenario.ts";

const CALLS = 20_000;
/** V8 has compiled what is called by then. */
const UNMEASURED = 5000;
const US_PER_MS = 1000;
/** A tool call, as agents record it: its envelope has 512 bytes. */
const CONTENT = {
  tool: "refund",
  arguments: { order: "4711", amount: 1900, currency: "EUR", reason: "damaged on delivery" },
  result: { status: "paid", transaction: "t-0123456789", balance: 120_000 },
  text: "x".repeat(159),
};

/**
 * How long a program waits until its event survives kill -9. Nothing is sent: the calls follow one another, so that the
 * recorder does nothing else meanwhile.
 */
export const RECORD_CALLS: ApartScenario = {
  kind: "apart",
  name: RECORD_CALLS_NAME,
  isOptIn: false,
  run: async ({ progress: { reporter } }): Promise<readonly Row[]> => {
    const folder = mkdtempSync(join(tmpdir(), "anchoring-record-"));
    try {
      const times = await reporter.step(`recording ${CALLS} events`, () => recordTimesUs(folder, CALLS, UNMEASURED));
      const sorted = times.toSorted((a, b) => a - b);
      const figure = (measure: string, value: number): Row => {
        return { type: "figure", scenario: RECORD_CALLS_NAME, measure, value, unit: "µs" };
      };
      return [figure(RECORD_P50, percentile(sorted, 0.5)), figure(RECORD_P99, percentile(sorted, 0.99))];
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};

/**
 * @param folder of the recorder; its events stay in the spool
 * @returns how long each call took
 */
export async function recordTimesUs(folder: string, calls: number, unmeasured: number): Promise<readonly number[]> {
  const client = { createEventAnchors: () => Promise.reject(new Error("there is no service")) };
  const recorder = await Recorder.open({
    client,
    directory: folder,
    batchMs: 60_000,
    exitFlushMs: 0,
    onError: () => undefined,
  });
  const times: number[] = [];
  for (let call = 0; call < unmeasured + calls; call += 1) {
    const startedAt = performance.now();
    recorder.record(CONTENT, { what: "tool.call", who: "billing-agent" });
    const tookMs = performance.now() - startedAt;
    if (call >= unmeasured) times.push(tookMs * US_PER_MS);
  }
  await recorder.close({ timeoutMs: 0 });
  return times;
}
