import { pathToFileURL } from "node:url";
import { CHECKOUT } from "./gates/checkout.ts";
import type { Failure, Figures, Gate } from "./gates/gate.ts";
import { type BatchLine, SOURCES_CHANGED } from "./results.ts";

export interface BatchPlan {
  readonly gate: Gate;
  readonly from: number;
  readonly jobs: number;
  readonly isOver: () => boolean;
  readonly forMs: number;
  readonly say: (line: string) => void;
  readonly commit: string;
  /** The hash of the sources that matter, now: it is taken before and after. */
  readonly sources: () => string;
  readonly judge: string;
  readonly node: string;
  /** The present time, RFC 3339, and a clock that is never set. */
  readonly now: () => string;
  readonly monotonicMs: () => number;
}

/**
 * Runs one batch. An error of the gate ends it, and is a failure: what was finished before counts. If the sources
 * change meanwhile, nobody knows which of them it was about: it counts for none.
 * @returns its line; null: nothing was finished
 */
export async function runBatch(plan: BatchPlan): Promise<BatchLine | null> {
  const { gate, from, jobs, isOver, forMs, say, commit, judge, node, now, monotonicMs } = plan;
  const sourcesBefore = plan.sources();
  const startedMs = monotonicMs();
  const figures: Record<string, number> = {};
  const failures: Failure[] = [];
  let count = 0;
  let to = from - 1;
  const note = (more: number, seed: number, given: Figures = {}): void => {
    count += more;
    to = Math.max(to, seed);
    for (const [name, figure] of Object.entries(given)) figures[name] = (figures[name] ?? 0) + figure;
  };
  try {
    await gate.run({ from, jobs, isOver, forMs, note, say, fail: (failure) => failures.push(failure) });
  } catch (error) {
    to += 1;
    failures.push({ seed: String(to), what: `the gate ended: ${String(error)}` });
  }
  if (to < from && failures.length === 0) return null;
  return {
    gate: gate.name,
    at: now(),
    commit,
    sources: plan.sources() === sourcesBefore ? sourcesBefore : SOURCES_CHANGED,
    from,
    to: Math.max(to, from),
    count,
    figures: rounded(figures),
    failures: failures.map(({ seed, what }) => ({ seed, what: withoutCheckout(what) })),
    seconds: Math.round((monotonicMs() - startedMs) / 1000),
    judge,
    node,
    jobs,
  };
}

/** Stack traces name files: in the results by their place in the repository, wherever this checkout is. */
function withoutCheckout(text: string): string {
  return text.replaceAll(pathToFileURL(CHECKOUT).href, "").replaceAll(CHECKOUT, "");
}

function rounded(figures: Figures): Figures {
  return Object.fromEntries(Object.entries(figures).map(([name, figure]) => [name, Math.round(figure)]));
}
