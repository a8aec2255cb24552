/** Look-up runs as they are stored. */
import { until } from "@event-anchoring/testkit";
import type { RunSizes } from "../../src/tables/look-up-runs.ts";
import { sql } from "./database.ts";

/** So small that a few leaves make long runs. */
export const SMALL_RUNS: RunSizes = { short: 8, long: 128 };

interface StoredRun {
  readonly first: number;
  readonly past: number;
  readonly items: number;
}

/** The runs of one hash, ascending. @param index 1: of event hashes */
export async function storedRuns(url: string, index = 1): Promise<readonly StoredRun[]> {
  const rows = await sql(
    url,
    `SELECT first::int, past::int, sum(cardinality(items))::int AS items FROM state.lookup_runs
      WHERE index = $1 GROUP BY first, past ORDER BY first`,
    [index],
  );
  return rows as StoredRun[];
}

/** Waits until every leaf is in a run that has enough others for it. */
export async function runsWritten(url: string, nextSequence: number, { short, long }: RunSizes): Promise<void> {
  const past = nextSequence - (nextSequence % short);
  const longPast = nextSequence - (nextSequence % long);
  await until("all look-up runs that are due are written", async () => {
    const runs = await storedRuns(url);
    const hasLong = longPast === 0 || runs.some((run) => run.first === longPast - long && run.past === longPast);
    return hasLong && (runs.at(-1)?.past ?? 0) === past;
  });
}
