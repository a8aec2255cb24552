import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FaultyCluster } from "./faulty-cluster.ts";
import type { HistoryChecker, HistoryVerdict } from "./history-checker.ts";
import { HistoryLoad } from "./history.ts";
import type { Nemesis } from "./nemesis.ts";
import { describeInjection, injectFaults } from "./inject-faults.ts";

export interface HistoryPlan {
  readonly checker: HistoryChecker;
  readonly nemesis: Nemesis;
  readonly writers: number;
  /** Acknowledged writes and answered reads before the fault: with fewer a history proves nothing. */
  readonly loadBefore: number;
  readonly holdMs: number;
}

export interface JudgedHistory extends HistoryVerdict {
  /** Refusals that clients got: none is expected. */
  readonly refusals: readonly unknown[];
  /** Acknowledged writes and answered reads from when all of the fault was in force until its end began. */
  readonly operationsMeanwhile: number;
}

/** Two cores give thousands of operations within seconds; with other work on them, within minutes. */
const LOAD_TIMEOUT_MS = 300_000;
/** How often in all an inconclusive history is repeated. */
const TRIES_MAX = 3;

/**
 * Lets a fault strike while every request is kept, and has the history judged. One that is `invalid` (too little before
 * the fault) or `undecided` (too much to judge in time) is neither good nor bad: it is repeated, and the last result is
 * returned.
 */
export async function judgedHistory(faulty: FaultyCluster, plan: HistoryPlan): Promise<JudgedHistory> {
  for (let tries = 1; ; tries++) {
    const said = await liveHistory(faulty, plan);
    process.stdout.write(`${JSON.stringify(said)}\n`);
    const isProof = said.verdict === "linearizable" || said.verdict === "not linearizable";
    if (isProof || said.refusals.length > 0 || tries === TRIES_MAX) return said;
    process.stdout.write(`${said.verdict}, which proves nothing: ${plan.nemesis.name}, once more\n`);
  }
}

async function liveHistory(faulty: FaultyCluster, plan: HistoryPlan): Promise<JudgedHistory> {
  const { checker, nemesis, writers, loadBefore, holdMs } = plan;
  const load = await HistoryLoad.start(faulty, writers);
  const meanwhile = new MeanwhileCount(() => load.operations);
  try {
    await load.more(loadBefore, LOAD_TIMEOUT_MS);
    const struck = meanwhile.counting(noted(nemesis, load));
    process.stdout.write(describeInjection(await injectFaults(faulty, load, [struck], holdMs)));
  } finally {
    await load.stop();
  }
  const folder = mkdtempSync(join(tmpdir(), "anchoring-history-"));
  try {
    const path = join(folder, "history.jsonl");
    load.history.save(path);
    const verdict = checker.judge(path, { writesBefore: loadBefore, readsBefore: loadBefore });
    return { ...verdict, refusals: load.history.refusals, operationsMeanwhile: meanwhile.operations };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A fault that is announced to the history as it strikes. */
function noted(nemesis: Nemesis, load: HistoryLoad): Nemesis {
  return {
    ...nemesis,
    inject: async (cluster, roles) => {
      load.history.fault(nemesis.name);
      return nemesis.inject(cluster, roles);
    },
  };
}

/** Counts what clients got done while a fault was in force: neither while it was made, nor while it was undone. */
export class MeanwhileCount {
  readonly #now: () => number;
  operations = 0;

  /** @param now how many operations there have been so far */
  constructor(now: () => number) {
    this.#now = now;
  }

  counting(nemesis: Nemesis): Nemesis {
    return {
      ...nemesis,
      inject: async (cluster, roles) => {
        const end = await nemesis.inject(cluster, roles);
        const before = this.#now();
        return async () => {
          this.operations += this.#now() - before;
          await end();
        };
      },
    };
  }
}
