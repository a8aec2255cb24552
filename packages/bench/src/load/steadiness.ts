/** The result of one stretch of load. */
export interface Stretch {
  /** Good answers in it. */
  readonly requests: number;
  /** Things done in each second. */
  readonly ratePerSecond: number;
  /** Processor time of the measured processes for each thing done, in milliseconds; null if unknown. */
  readonly cpuMsEach: number | null;
}

/** How many stretches in a row must be alike. */
const STRETCHES_ALIKE = 3;
const SPREAD_MAX = 0.1;

/**
 * Whether a load has settled: the newest stretches are within 10 % of one another, in rate and in processor time for
 * each thing done, but for one answer more or less, which counts where answers are few. With few clients the rate alone
 * shows little: they mostly wait, while the code they wait for is still being compiled.
 */
export function isSteady(stretches: readonly Stretch[]): boolean {
  const newest = stretches.slice(-STRETCHES_ALIKE);
  if (newest.length < STRETCHES_ALIKE || newest.some(({ requests }) => requests === 0)) return false;
  const costs = newest.flatMap(({ cpuMsEach }) => (cpuMsEach === null ? [] : [cpuMsEach]));
  const max = SPREAD_MAX + 1 / Math.max(...newest.map(({ requests }) => requests));
  return spread(newest.map(({ ratePerSecond }) => ratePerSecond)) <= max && spread(costs) <= max;
}

/** From the smallest to the largest, as a share of the largest; 0 for none, 1 if the largest is 0. */
export function spread(values: readonly number[]): number {
  if (values.length === 0) return 0;
  const largest = Math.max(...values);
  return largest <= 0 ? 1 : (largest - Math.min(...values)) / largest;
}
