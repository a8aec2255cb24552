import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { SIMULATED_SECONDS } from "../figures/names.ts";
import type { Row } from "../figures/rows.ts";
import type { ApartScenario } from "./scenario.ts";

// From packages/bench/dist/scenarios.
const PROGRAM = fileURLToPath(new URL("../../../simulator/bin/sim.js", import.meta.url));
const MS_PER_MINUTE = 60_000;
/** V8 compiles the nodes' code meanwhile; that is part of what the gates pay, once for each thread. */
const LEAST_MS = 30_000;
const NAME = "simulated lives, one at a time";

/** How much simulated time a processor makes: what bounds the gate of lives. */
export const SIMULATED_LIVES: ApartScenario = {
  kind: "apart",
  name: NAME,
  isOptIn: false,
  run: async ({ progress: { reporter }, measureMs, signal }): Promise<readonly Row[]> => {
    const minutes = Math.max(measureMs, LEAST_MS) / MS_PER_MINUTE;
    const args = [PROGRAM, "--built", "--from", "1", "--jobs", "1", "--minutes", String(minutes)];
    const { stdout } = await reporter.step("living simulated lives", () =>
      promisify(execFile)(process.execPath, args, signal === null ? {} : { signal }).catch((error: unknown) => {
        throw brokenLifeIn(error) ?? error;
      }),
    );
    return [{ type: "figure", scenario: NAME, measure: SIMULATED_SECONDS, value: rateIn(stdout), unit: "" }];
  },
};

/** @returns which lives broke a sentence, by the commands that replay them; null: the simulator failed otherwise */
export function brokenLifeIn(error: unknown): Error | null {
  const told = error instanceof Error && "stdout" in error ? String(error.stdout) : "";
  const replays = told.match(/^npm run sim -- --seed \d+.*$/gm);
  return replays === null ? null : new Error(`a life broke a sentence: ${replays.join(", ")}`, { cause: error });
}

/** The last rate that the simulator has told. */
export function rateIn(told: string): number {
  const rates = [...told.matchAll(/ (\d+) simulated seconds for a core-second/g)];
  const newest = rates.at(-1)?.[1];
  if (newest === undefined) throw new Error(`the simulator tells no rate: ${told}`);
  return Number(newest);
}
