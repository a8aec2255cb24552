import type { ProcessorTime, Slice } from "./judge.ts";

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
  readonly #processor: () => ProcessorTime;
  #latencies: Record<string, number[]> = {};
  #yardstick: number[] = [];
  #spent: ProcessorTime;
  #startMs = performance.now();
  #timer: NodeJS.Timeout | null = null;
  #reading: Promise<void> = Promise.resolve();
  #error: Error | null = null;

  /** @param sizes called at the end of each slice @param processor what was taken up to now, NaN if it is not known */
  constructor(sizes: () => Promise<Readonly<Record<string, number>>>, processor: () => ProcessorTime) {
    this.#sizes = sizes;
    this.#processor = processor;
    this.#spent = processor();
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
    const spent = this.#processor();
    const endMs = performance.now();
    const [latencies, yardstick, startMs] = [this.#latencies, this.#yardstick, this.#startMs];
    const processor = {
      nodes: between(this.#spent.nodes, spent.nodes),
      yardstick: between(this.#spent.yardstick, spent.yardstick),
    };
    this.#spent = spent;
    this.#latencies = {};
    this.#yardstick = [];
    this.#startMs = endMs;
    this.slices.push({ startMs, endMs, latencies, yardstick, sizes, processor });
  }
}

/** A process that was started anew has taken less than the one before: what both took in the slice is not known. */
function between(before: number, after: number): number {
  return after < before ? NaN : after - before;
}
