import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** What a life came to, as `npm run sim -- --json` says it. */
export interface Life {
  readonly seed: number;
  readonly nodes: number;
  readonly acknowledged: number;
  readonly entries: number;
  readonly simulatedMs: number;
  readonly traceHash: string;
  readonly broken: { readonly sentence: string; readonly detail: string } | null;
  /** Seed, sentence, the newest lines, and how to see it again; null: every sentence held. */
  readonly story: string | null;
}

const SIM = fileURLToPath(new URL("../../packages/simulator/bin/sim.js", import.meta.url));

/** Lives of the build, on every core, in the order of their seeds. */
export async function livesOf(...flags: readonly string[]): Promise<readonly Life[]> {
  const sim = spawn(process.execPath, [SIM, "--built", "--json", ...flags], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<number | null>((resolve, reject) => {
    sim.once("error", reject);
    sim.once("close", resolve);
  });
  const lives: Life[] = [];
  for await (const line of createInterface(sim.stdout)) lives.push(JSON.parse(line) as Life);
  const exitCode = await ended;
  if (exitCode === 0 || (exitCode === 1 && lives.some(({ broken }) => broken !== null))) {
    return lives.toSorted((left, right) => left.seed - right.seed);
  }
  throw new Error(`npm run sim ended with ${exitCode} after ${lives.length} lives`);
}

/** For the reader of the test's output. */
export function summaryOf(lives: readonly Life[], realMs: number): string {
  const sum = (of: (life: Life) => number): number => lives.reduce((total, life) => total + of(life), 0);
  const simulatedS = sum(({ simulatedMs }) => simulatedMs) / 1000;
  const rate = (simulatedS / (realMs / 1000)).toFixed(0);
  const entries = sum((life) => life.entries);
  const acknowledged = sum((life) => life.acknowledged);
  const minutes = (simulatedS / 60).toFixed(0);
  return (
    `${lives.length} lives, ${minutes} simulated minutes, ${rate} simulated seconds a second, ` +
    `${entries} entries, ${acknowledged} anchors acknowledged`
  );
}
