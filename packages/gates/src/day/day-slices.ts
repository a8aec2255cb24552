import type { Slice } from "./judge.ts";

export const SLICE_MS = 5000;

/** A slice with its time. */
export interface TimedSlice extends Slice {
  /** Milliseconds of this process's monotonic clock. */
  readonly startMs: number;
  readonly endMs: number;
}

/** What comes in, in slices of the same length, from the beginning of the day to its end. */
export class DaySlices {
  readonly slices: TimedSlice[] = [];
  readonly #sizes: () => Promise<Readonly<Record<string, number>>>;
  #latencies: Record<string, number[]> = {};
  #yardstick: number[] = [];
  #startMs = performance.now();
  #timer: NodeJS.Timeout | null = null;
  #reading: Promise<void> = Promise.resolve();
  #error: Error | null = null;

  /** @param sizes called at the end of each slice */
  constructor(sizes: () => Promise<Readonly<Record<string, number>>>) {
    this.#sizes = sizes;
    this.#timer = setInterval(() => {
      this.#reading = this.#reading
        .then(() => this.#end())
        .catch((error: unknown) => {
          this.#error ??= new Error("a slice could not be read", { cause: error });
        });
    }, SLICE_MS);
  }

  answered(kind: string, tookMs: number): void {
    (this.#latencies[kind] ??= []).push(tookMs);
  }

  measured(tookMs: number): void {
    this.#yardstick.push(tookMs);
  }

  /** Those that lie wholly between two times. */
  between(fromMs: number, toMs: number): readonly TimedSlice[] {
    return this.slices.filter(({ startMs, endMs }) => startMs >= fromMs && endMs <= toMs);
  }

  /** @throws if something could not be read */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#reading;
    if (this.#error !== null) throw this.#error;
  }

  async #end(): Promise<void> {
    const sizes = await this.#sizes();
    const endMs = performance.now();
    const [latencies, yardstick, startMs] = [this.#latencies, this.#yardstick, this.#startMs];
    this.#latencies = {};
    this.#yardstick = [];
    this.#startMs = endMs;
    this.slices.push({ startMs, endMs, latencies, yardstick, sizes });
  }
}
