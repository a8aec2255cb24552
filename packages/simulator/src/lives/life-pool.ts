import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { LifeOptions } from "./life.ts";

/** What all lives of a series have in common. */
export type CommonOptions = Omit<LifeOptions, "seed" | "onLine">;

/** Which lives, and how they are lived. */
export interface Lives {
  /** The first seed. */
  readonly from: number;
  readonly count: number;
  /** Threads that run lives in parallel. The lives are the same for any number. */
  readonly jobs: number;
  /** Called before each life. */
  readonly isOver: () => boolean;
}

export interface Series<Result> extends Lives {
  readonly live: (seed: number) => Promise<Result>;
  /** A thread that answers each seed as `live` does: its file beside this one, and what it is given. */
  readonly thread: { readonly file: string; readonly common: unknown };
  /** In the order in which they end. */
  readonly onResult: (result: Result) => void;
}

/** Lives are short-lived garbage by the megabyte: a larger nursery saves a tenth of the time. */
const NURSERY_MB = 64;

/** A life that ended with an error, instead of a result. */
export class LifeError extends Error {
  override readonly name = "LifeError";
  readonly seed: number;

  constructor(seed: number, cause: unknown) {
    super(`the life of seed ${seed} ended: ${String(cause)}`, { cause });
    this.seed = seed;
  }
}

/**
 * As many lives as asked for, of consecutive seeds. After an error no life begins; those that run have their results.
 * @throws {LifeError} the first one
 */
export async function liveMany<Result>(series: Series<Result>): Promise<void> {
  const { count, isOver } = series;
  let next = series.from;
  let hasFailed = false;
  const takeSeed = (): number | null => (hasFailed || next >= series.from + count || isOver() ? null : next++);
  const guarded = async (lived: Promise<void>): Promise<void> => {
    try {
      await lived;
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  };
  // Threads run what was built; a test of the sources lives its lives by itself.
  const isBuilt = import.meta.url.endsWith(".js");
  const threads = isBuilt ? Math.min(series.jobs, count) : 1;
  const liveOn = threads <= 1 ? liveHere : liveInThread;
  const ends = await Promise.allSettled(
    Array.from({ length: Math.max(threads, 1) }, () => guarded(liveOn(series, takeSeed))),
  );
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

async function liveHere<Result>({ live, onResult }: Series<Result>, takeSeed: () => number | null): Promise<void> {
  for (let seed = takeSeed(); seed !== null; seed = takeSeed()) {
    const taken = seed;
    const result = await live(taken).catch((error: unknown) => {
      throw new LifeError(taken, error);
    });
    onResult(result);
  }
}

async function liveInThread<Result>(
  { thread, onResult }: Series<Result>,
  takeSeed: () => number | null,
): Promise<void> {
  const worker = new Worker(new URL(thread.file, import.meta.url), {
    workerData: thread.common,
    resourceLimits: { maxYoungGenerationSizeMb: NURSERY_MB },
  });
  // Rejects with the thread's error if there is one. A thread that ends without one has no result either.
  const ended = once(worker, "exit").then(([code]) => {
    throw new Error(`its thread ended with exit code ${String(code)}`);
  });
  // Told by the race below; in the end it is this function that ends the thread.
  ended.catch(() => undefined);
  try {
    for (let seed = takeSeed(); seed !== null; seed = takeSeed()) {
      const taken = seed;
      worker.postMessage(taken, []);
      const message = Promise.race([once(worker, "message"), ended]).catch((error: unknown) => {
        throw new LifeError(taken, error);
      });
      const [result] = (await message) as [Result];
      onResult(result);
    }
  } finally {
    await worker.terminate();
  }
}
