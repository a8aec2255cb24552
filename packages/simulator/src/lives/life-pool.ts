import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { LifeOptions } from "./life.ts";

/** What all lives of a series have in common. */
export type CommonOptions = Omit<LifeOptions, "seed" | "onLine">;

export interface Series<Result> {
  readonly from: number;
  readonly count: number;
  readonly live: (seed: number) => Promise<Result>;
  /** A thread that answers each seed as `live` does: its file beside this one, and what it is given. */
  readonly thread: { readonly file: string; readonly common: unknown };
  /** Threads that run lives in parallel. The lives are the same for any number. */
  readonly jobs: number;
  /** Called before each life. */
  readonly isOver: () => boolean;
  /** In the order in which they end. */
  readonly onResult: (result: Result) => void;
}

/** Lives are short-lived garbage by the megabyte: a larger nursery saves a tenth of the time. */
const NURSERY_MB = 64;

/** As many lives as asked for, of consecutive seeds. */
export async function liveMany<Result>(series: Series<Result>): Promise<void> {
  const { count, isOver } = series;
  let next = series.from;
  const takeSeed = (): number | null => (next >= series.from + count || isOver() ? null : next++);
  // Threads run what was built; a test of the sources lives its lives by itself.
  const isBuilt = import.meta.url.endsWith(".js");
  if (series.jobs <= 1 || !isBuilt) return liveHere(series, takeSeed);
  await Promise.all(Array.from({ length: Math.min(series.jobs, count) }, () => liveInThread(series, takeSeed)));
}

async function liveHere<Result>({ live, onResult }: Series<Result>, takeSeed: () => number | null): Promise<void> {
  for (let seed = takeSeed(); seed !== null; seed = takeSeed()) onResult(await live(seed));
}

async function liveInThread<Result>(
  { thread, onResult }: Series<Result>,
  takeSeed: () => number | null,
): Promise<void> {
  const worker = new Worker(new URL(thread.file, import.meta.url), {
    workerData: thread.common,
    resourceLimits: { maxYoungGenerationSizeMb: NURSERY_MB },
  });
  try {
    for (let seed = takeSeed(); seed !== null; seed = takeSeed()) {
      worker.postMessage(seed, []);
      // Rejects with the thread's error if there is one.
      const [result] = (await once(worker, "message")) as [Result];
      onResult(result);
    }
  } finally {
    await worker.terminate();
  }
}
