import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { GATES } from "./gates/all-gates.ts";
import { CHECKOUT, PAGE_PATH, RESULTS_PATH } from "./gates/checkout.ts";
import type { Gate } from "./gates/gate.ts";
import { JUDGE_SOURCES } from "./gates/sources.ts";
import { EarlierSources, rehash } from "./rehash.ts";
import { type BatchLine, SOURCES_CHANGED, appendResult, isBatch, readResults } from "./results.ts";
import { type BatchPlan, runBatch } from "./run-batch.ts";
import { sourcesHash } from "./sources-hash.ts";
import { tableOf, withTable } from "./table.ts";
import { GateRests, batchesOf, leastRun, nextSeed, totalsOf } from "./totals.ts";

const HELP = `npm run gates -- --minutes M   runs for so long what has been run least on this code; keeps the results
npm run gates                  says what has been run on this code

  --only a,b        these gates alone; the names are in the answer of npm run gates
  --batch-minutes B how long one batch may take (default 10)
  --jobs J          how many run at the same time (default: one for each core)
  --seed N          lives that seed of the gate that --only names again, and keeps nothing
  --table           writes the table of docs/testing.md anew
  --mended GATE:SEED=COMMIT
                    notes which commit has mended a failure
  --rehash          when a gate has another list of sources: notes at which
                    commits earlier batches had the present code by that list
  --help, --version print this, or the version
`;

/** What a seed that is lived again may take. */
const REPLAY_MS = 3_600_000;

interface Out {
  write(text: string): unknown;
}

const OPTIONS = {
  minutes: { type: "string" },
  "batch-minutes": { type: "string", default: "10" },
  only: { type: "string" },
  jobs: { type: "string", default: String(availableParallelism()) },
  seed: { type: "string" },
  table: { type: "boolean", default: false },
  mended: { type: "string" },
  rehash: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
  version: { type: "boolean", default: false },
} as const;

type Options = ReturnType<typeof parseArgs<{ readonly options: typeof OPTIONS }>>["values"];

/** `npm run gates`. @returns the exit code: 1 if a batch had a failure, 2 for invalid arguments */
export async function gatesCommand(argv: readonly string[], out: Out, err: Out, stop: AbortSignal): Promise<number> {
  const values = optionsOf(argv);
  if (typeof values === "string") {
    err.write(`${values}\n${HELP}`);
    return 2;
  }
  if (values.help || values.version) {
    out.write(values.help ? HELP : `npm run gates, event anchoring ${versionHere()}\n`);
    return 0;
  }
  const names = values.only?.split(",") ?? GATES.map(({ name }) => name);
  const gates = GATES.filter(({ name }) => names.includes(name));
  const [minutes, batchMinutes, jobs] = [values.minutes ?? "1", values["batch-minutes"], values.jobs].map(Number);
  const isPlan = [minutes, batchMinutes, jobs].every((value) => value !== undefined && value > 0);
  if (gates.length < names.length || !isPlan) {
    err.write(`the gates are ${GATES.map(({ name }) => name).join(", ")}; numbers are above 0\n${HELP}`);
    return 2;
  }
  if (values.mended !== undefined) return noteMended(values.mended, err);
  if (values.rehash) return noteRehashed(out);
  if (values.table) return writeTable(err);
  if (values.seed !== undefined) return replay(gates, values.seed, stop, { out, err });
  if (values.minutes === undefined) return tell(out);
  const untilMs = performance.now() + (minutes ?? 0) * 60_000;
  return run({ gates, untilMs, batchMs: (batchMinutes ?? 0) * 60_000, jobs: jobs ?? 1, stop }, out);
}

function versionHere(): string {
  const { version } = JSON.parse(readFileSync(join(CHECKOUT, "package.json"), "utf8")) as { version: string };
  return version;
}

/** @returns what is wrong with them, if they are no options */
function optionsOf(argv: readonly string[]): Options | string {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS }).values;
  } catch (error) {
    if (error instanceof TypeError && "code" in error) return error.message;
    throw error;
  }
}

interface Run {
  readonly gates: readonly Gate[];
  readonly untilMs: number;
  readonly batchMs: number;
  readonly jobs: number;
  readonly stop: AbortSignal;
}

async function run({ gates, untilMs, batchMs, jobs, stop }: Run, out: Out): Promise<number> {
  const able = gates.filter((gate) => {
    const missing = gate.missing();
    if (missing !== null) out.write(`${gate.name}: not here (${missing})\n`);
    return missing === null;
  });
  let failures = 0;
  const rests = new GateRests(able);
  while (performance.now() < untilMs && !stop.aborted) {
    const lines = readResults(RESULTS_PATH);
    const gate = leastRun(rests.ready(), (each) => totalsOf(batchesOf(lines, each.name, hashOf(each))).count);
    if (gate === null) break;
    const endMs = Math.min(untilMs, performance.now() + batchMs);
    const isOver = (): boolean => stop.aborted || performance.now() >= endMs;
    const from = nextSeed(lines, gate.name, hashOf(gate));
    const line = await runBatch({ ...planOf(gate, out), from, jobs, isOver, forMs: endMs - performance.now() });
    rests.note(gate, line?.count ?? 0);
    if (line === null) continue;
    appendResult(RESULTS_PATH, line);
    out.write(`${toldOf(line)}\n`);
    failures += line.failures.length;
    // What runs was loaded before; the build may be another's now.
    if (line.sources === SOURCES_CHANGED) {
      out.write("The sources were changed meanwhile. Run the gates in a worktree of their own.\n");
      return 1;
    }
  }
  return failures === 0 ? 0 : 1;
}

/** One seed again, as it ran before; nothing is kept. @returns the exit code */
async function replay(
  gates: readonly Gate[],
  text: string,
  stop: AbortSignal,
  { out, err }: { readonly out: Out; readonly err: Out },
): Promise<number> {
  const [gate, ...others] = gates;
  const seed = Number(text);
  if (gate === undefined || others.length > 0 || !Number.isSafeInteger(seed) || seed < 1) {
    err.write(`--seed takes a seed, and --only the one gate that runs it\n${HELP}`);
    return 2;
  }
  let isDone = false;
  const isOver = (): boolean => isDone || stop.aborted;
  const once: Gate = {
    ...gate,
    run: (batch) =>
      gate.run({
        ...batch,
        note: (...noted) => {
          isDone = true;
          batch.note(...noted);
        },
      }),
  };
  const line = await runBatch({ ...planOf(once, out), from: seed, jobs: 1, isOver, forMs: REPLAY_MS });
  out.write(`${line === null ? "nothing was finished" : toldOf(line)}\n`);
  return line !== null && line.failures.length === 0 ? 0 : 1;
}

function planOf(gate: Gate, out: Out): Omit<BatchPlan, "from" | "jobs" | "isOver" | "forMs"> {
  return {
    gate,
    say: (told) => out.write(`${told}\n`),
    commit: commitHere(),
    sources: () => hashOf(gate),
    judge: sourcesHash(CHECKOUT, JUDGE_SOURCES),
    node: process.version,
    now: () => new Date().toISOString(),
    monotonicMs: () => performance.now(),
  };
}

function hashOf({ sources }: Gate): string {
  return sourcesHash(CHECKOUT, sources);
}

function toldOf({ gate, count, from, to, seconds, failures }: BatchLine): string {
  const told = `${gate}: ${count} (seeds ${from} to ${to}) in ${seconds} s, ${failures.length} failures`;
  return [told, ...failures.map(({ seed, what }) => `  seed ${seed}: ${what}`)].join("\n");
}

function tell(out: Out): number {
  const lines = readResults(RESULTS_PATH);
  for (const gate of GATES) {
    const { count, failures } = totalsOf(batchesOf(lines, gate.name, hashOf(gate)));
    const goal = `first stop ${gate.firstStop}, for a release ${gate.toReach}`;
    out.write(`${gate.name.padEnd(14)} ${count} on this code (${goal}), ${failures} failures: ${gate.counts}\n`);
  }
  return 0;
}

function writeTable(err: Out): number {
  const page = withTable(readFileSync(PAGE_PATH, "utf8"), tableOf(GATES, readResults(RESULTS_PATH), hashOf));
  if (page === null) {
    err.write("docs/testing.md has no place for the table\n");
    return 1;
  }
  writeFileSync(PAGE_PATH, page);
  return 0;
}

function noteRehashed(out: Out): number {
  const earlier = new EarlierSources(CHECKOUT);
  try {
    const hashAt = (commit: string, { sources }: Gate): string | null => earlier.hashAt(commit, sources);
    const noted = rehash(GATES, readResults(RESULTS_PATH), hashOf, hashAt);
    for (const line of noted) appendResult(RESULTS_PATH, line);
    out.write(`${noted.length} noted\n`);
    if (earlier.missing.length > 0) out.write(`not in this repository: ${earlier.missing.join(", ")}\n`);
    return 0;
  } finally {
    earlier.end();
  }
}

function noteMended(text: string, err: Out): number {
  const [, gate, seed, commit] = /^([a-z-]+):(.+)=([0-9a-f]{7,40})$/.exec(text) ?? [];
  const proved = GATES.find(({ name }) => name === gate);
  const failed = readResults(RESULTS_PATH)
    .filter(isBatch)
    .filter((batch) => batch.gate === gate && batch.failures.some((failure) => failure.seed === seed));
  if (proved === undefined || seed === undefined || commit === undefined || failed.length === 0) {
    err.write(`--mended takes GATE:SEED=COMMIT of a failure in ${RESULTS_PATH}\n`);
    return 2;
  }
  const changed = filesOf(commit);
  if (changed === null) {
    err.write(`${commit} is no commit of this branch\n`);
    return 2;
  }
  if (failed.every((batch) => isBefore(commit, batch.commit.replace("+", "")))) {
    err.write(`seed ${seed} has failed with ${commit}: that does not mend it\n`);
    return 2;
  }
  const isOfSources = (file: string): boolean =>
    proved.sources.some((path) => file === path || file.startsWith(`${path}/`));
  const where = changed.some(isOfSources) ? "sources" : "judge";
  appendResult(RESULTS_PATH, { mended: { gate: proved.name, seed, commit, in: where } });
  return 0;
}

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { cwd: CHECKOUT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
}

/** What a commit has changed; null: it is none that the present one comes after. */
function filesOf(commit: string): readonly string[] | null {
  if (!isBefore(commit, "HEAD")) return null;
  return git("show", "--name-only", "--format=", commit).split("\n");
}

/** Whether the second commit comes after the first one, or is the same. */
function isBefore(commit: string, later: string): boolean {
  try {
    git("merge-base", "--is-ancestor", commit, later);
    return true;
  } catch {
    return false;
  }
}

function commitHere(): string {
  const isClean = git("status", "--porcelain", "--", "packages", "deploy", "package-lock.json", "test/vectors") === "";
  return `${git("rev-parse", "--short", "HEAD")}${isClean ? "" : "+"}`;
}
