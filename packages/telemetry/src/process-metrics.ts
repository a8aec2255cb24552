import { type Registry, Histogram, collectDefaultMetrics } from "prom-client";

const SAMPLE_EVERY_MS = 500;
const DELAY_BUCKETS_S = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** Longer than a process lives. */
const NEVER_MS = 2 ** 31 - 1;

/**
 * What every process of a node says about itself: prom-client's default metrics, and how late its event loop is.
 *
 * The loop's delay is how late a timer comes, sampled twice a second. prom-client's own measure reports the time
 * between samples as if it were delay, and its samples woke an idle process most often.
 * @param prefix of each name, such as `anchoring_api_`
 */
export function collectProcessMetrics(registry: Registry, prefix: string): void {
  collectDefaultMetrics({ register: registry, prefix, eventLoopMonitoringPrecision: NEVER_MS });
  for (const what of ["min", "max", "mean", "stddev", "p50", "p90", "p99"]) {
    registry.removeSingleMetric(`${prefix}nodejs_eventloop_lag_${what}_seconds`);
  }
  // Gauges that are named like counters; the totals they add up are separate metrics.
  for (const what of ["handles", "requests", "resources"]) {
    registry.removeSingleMetric(`${prefix}nodejs_active_${what}_total`);
  }
  const delays = new Histogram({
    name: `${prefix}event_loop_delay_seconds`,
    help: "How late the event loop comes to a timer, sampled twice a second",
    buckets: DELAY_BUCKETS_S,
    registers: [registry],
  });
  sampleDelays((seconds) => delays.observe(seconds));
}

function sampleDelays(observe: (seconds: number) => void): void {
  let dueMs = performance.now() + SAMPLE_EVERY_MS;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    observe(Math.max(0, nowMs - dueMs) / 1000);
    dueMs = nowMs + SAMPLE_EVERY_MS;
  }, SAMPLE_EVERY_MS);
  timer.unref();
}
