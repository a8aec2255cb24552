import type { Slice } from "./judge.ts";

export const SLICE_MS = 5000;

type Spent = Slice["processorMs"];

/** A slice with its time. */
export interface TimedSlice extends Slice {
  /** Milliseconds of this process's monotonic clock. */
  readonly startMs: number;
  readonly endMs: number;
}

/** What comes in, in slices of the same length but for the first, from the beginning of the day to its end. */
export class DaySlices {
  readonly slices: TimedSlice[] = [];
  readonly #sizes: () => Promise<Readonly<Record<string, number>>>;
  readonly #processor: () => Spent;
  #latencies: Record<string, number[]> = {};
  #spentMs: Spent;
  #startMs = performance.now();
  #timer: NodeJS.Timeout | undefined = undefined;
  #reading: Promise<void> = Promise.resolve();
  #error: Error | null = null;

  /**
   * @param sizes called at the end of each slice
   * @param processor milliseconds that were taken up to now, by what took them; NaN if that is not known
   */
  constructor(sizes: () => Promise<Readonly<Record<string, number>>>, processor: () => Spent) {
    this.#sizes = sizes;
    this.#processor = processor;
    this.#spentMs = processor();
    this.#endSoon();
  }

  answered(kind: string, tookMs: number): void {
    (this.#latencies[kind] ??= []).push(tookMs);
  }

  /** Those that lie wholly between two times. */
  between(fromMs: number, toMs: number): readonly TimedSlice[] {
    return this.slices.filter(({ startMs, endMs }) => startMs >= fromMs && endMs <= toMs);
  }

  /** @throws if something could not be read */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#reading;
    if (this.#error !== null) throw this.#error;
  }

  /** At the next multiple of a slice's length: those of two clusters are of the same seconds. */
  #endSoon(): void {
    this.#timer = setTimeout(
      () => {
        this.#endSoon();
        this.#reading = this.#reading
          .then(() => this.#end())
          .catch((error: unknown) => {
            this.#error ??= new Error("a slice could not be read", { cause: error });
          });
      },
      SLICE_MS - (performance.now() % SLICE_MS),
    );
  }

  async #end(): Promise<void> {
    const sizes = await this.#sizes();
    const spentMs = this.#processor();
    const endMs = performance.now();
    const [latencies, startMs] = [this.#latencies, this.#startMs];
    const processorMs = taken(this.#spentMs, spentMs);
    this.#spentMs = spentMs;
    this.#latencies = {};
    this.#startMs = endMs;
    this.slices.push({ startMs, endMs, latencies, sizes, processorMs });
  }
}

/** A process that was started anew has taken less than the one before: what both took in the slice is not known. */
function taken(before: Spent, after: Spent): Spent {
  return Object.fromEntries(
    Object.entries(after).map(([name, ms]) => {
      const beforeMs = before[name] ?? NaN;
      return [name, ms < beforeMs ? NaN : ms - beforeMs];
    }),
  );
}
