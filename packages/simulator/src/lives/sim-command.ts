import { randomInt } from "node:crypto";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { SERVICE_VERSION } from "@event-anchoring/control-contract";
import { GROWTH_NAMES } from "../trust/cluster-plan.ts";
import { ASKED_FOR, FAULTS, type Fault } from "../faults/faults.ts";
import { type LiarLifeResult, liveBesideALiar } from "../liar/liar-life.ts";
import { LIES, type LieName } from "../lies/all-lies.ts";
import { DRAWN_HARM_MS, type DrawnLife, LIAR_SHAPES, liveDrawnLife } from "./drawn-life.ts";
import { type LifeOptions, type LifeResult, liveOneLife } from "./life.ts";
import { type CommonOptions, type Series, liveMany } from "./life-pool.ts";
import { PLANTED_BUGS, type PlantedBug } from "../planted/planted-bugs.ts";
import { formatLine } from "../world/life-trace.ts";

const SIM_HELP = `npm run sim -- --seed N        replays one life, with every line of its story
npm run sim -- --drawn N       lives what the gate of lives lives for this seed, and names the command of its story
npm run sim -- --minutes M     explores lives for so long, with progress and a rate
npm run sim -- --seeds K       as many lives

  --from N          the first seed (default: drawn, and printed)
  --jobs J          lives at the same time (default: one for each core)
  --harm-seconds S  how long faults strike in each life (default 20)
  --nodes 3|5       how large clusters are (default: drawn from the seed)
  --witnesses N     how many witnesses the trust root lists (default: three in every fourth life)
  --grows 1-3|3-5|3-5-3
                    how clusters grow; the last gives it up (default: drawn from the seed)
  --faults a,b      which faults may strike (default: drawn from the seed)
  --lie NAME        with --seed: beside a liar, without other faults; --lie list names the lies
  --quorum K        with --lie: of 3, 4 or 5 nodes, as --nodes says (default: 2 of 3)
  --bug NAME        with a planted bug; --bug list names them
  --quiet           with --seed: the verdict alone
  --json            one line for each life, and nothing else
  --built           the build is there: it is not made anew
  --help, --version print this, or the version
`;

interface Out {
  write(text: string): unknown;
}

const SEEDS_TO_DRAW_FROM = 2 ** 40;
const PROGRESS_MS = 5000;
const WITNESSES_MAX = 9;

/** `npm run sim`. @returns the exit code: 1 if an invariant was broken, 2 for invalid arguments */
export async function simCommand(argv: readonly string[], out: Out, err: Out): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      seed: { type: "string" },
      drawn: { type: "string" },
      lie: { type: "string" },
      quorum: { type: "string" },
      minutes: { type: "string" },
      seeds: { type: "string" },
      from: { type: "string" },
      "harm-seconds": { type: "string" },
      jobs: { type: "string" },
      nodes: { type: "string" },
      witnesses: { type: "string" },
      grows: { type: "string" },
      json: { type: "boolean", default: false },
      built: { type: "boolean", default: false },
      faults: { type: "string" },
      bug: { type: "string" },
      quiet: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
      version: { type: "boolean", default: false },
    },
  });
  if (values.help || values.version) {
    out.write(values.help ? SIM_HELP : `npm run sim, event anchoring ${SERVICE_VERSION}\n`);
    return 0;
  }
  if (values.bug === "list") {
    for (const [name, what] of Object.entries(PLANTED_BUGS)) out.write(`${name.padEnd(36)} ${what}\n`);
    return 0;
  }
  if (values.lie === "list") {
    out.write(`${Object.keys(LIES).join("\n")}\n`);
    return 0;
  }
  if (values.drawn !== undefined) return replayDrawn(values.drawn, out, err);
  if (values.lie !== undefined || values.quorum !== undefined) return replayBesideALiar(values, out, err);
  const common = commonOptions(values);
  if (typeof common === "string") {
    err.write(`${common}\n${SIM_HELP}`);
    return 2;
  }
  if (values.seed !== undefined) return replay(Number(values.seed), common, values.quiet, out);
  const from = values.from === undefined ? randomInt(SEEDS_TO_DRAW_FROM) : Number(values.from);
  const untilMs = performance.now() + Number(values.minutes ?? (values.seeds === undefined ? 1 : 1e6)) * 60_000;
  const jobs = Number(values.jobs ?? availableParallelism());
  const range = { from, count: Number(values.seeds ?? 1e9), untilMs, jobs };
  return values.json ? report(range, common, out) : explore(range, common, out);
}

interface LiarValues {
  readonly seed?: string;
  readonly lie?: string;
  readonly quorum?: string;
  readonly quiet: boolean;
}

interface Values {
  readonly bug?: string;
  readonly faults?: string;
  readonly nodes?: string;
  readonly witnesses?: string;
  readonly grows?: string;
  readonly "harm-seconds"?: string;
}

function commonOptions(values: Values): CommonOptions | string {
  const faults = values.faults?.split(",");
  const known: readonly string[] = [...FAULTS, ...ASKED_FOR];
  const strange = faults?.find((fault) => !known.includes(fault));
  if (strange !== undefined) return `no fault is called ${strange}; there are ${known.join(", ")}`;
  if (values.bug !== undefined && !(values.bug in PLANTED_BUGS)) return `no planted bug is called ${values.bug}`;
  const harm = values["harm-seconds"];
  const nodes = values.nodes === undefined ? undefined : Number(values.nodes);
  if (nodes !== undefined && nodes !== 3 && nodes !== 5) return `a cluster has 3 or 5 nodes, not ${values.nodes}`;
  const witnesses = values.witnesses === undefined ? undefined : Number(values.witnesses);
  if (witnesses !== undefined && !(Number.isInteger(witnesses) && witnesses >= 0 && witnesses <= WITNESSES_MAX)) {
    return `a trust root lists 0 to ${WITNESSES_MAX} witnesses here, not ${values.witnesses}`;
  }
  const grows = GROWTH_NAMES.find((name) => name === values.grows);
  if (values.grows !== undefined && grows === undefined) return `a cluster grows ${GROWTH_NAMES.join(" or ")}`;
  return {
    ...(nodes === undefined ? {} : { nodes }),
    ...(witnesses === undefined ? {} : { witnesses }),
    ...(grows === undefined ? {} : { grows }),
    ...(values.bug === undefined ? {} : { bugs: new Set([values.bug as PlantedBug]) }),
    ...(faults === undefined ? {} : { faults: faults as Fault[] }),
    ...(harm === undefined ? {} : { harmMs: Number(harm) * 1000 }),
  };
}

async function replay(seed: number, common: CommonOptions, isQuiet: boolean, out: Out): Promise<number> {
  const onLine: NonNullable<LifeOptions["onLine"]> = (line) => out.write(`${formatLine(line)}\n`);
  const result = await liveOneLife({ ...common, seed, ...(isQuiet ? {} : { onLine }) });
  out.write(`${verdictOf(result)}\n`);
  return result.broken === null ? 0 : 1;
}

async function replayDrawn(text: string, out: Out, err: Out): Promise<number> {
  const seed = seedOf(text);
  if (seed === null) {
    err.write(`--drawn takes a seed, not ${text}\n${SIM_HELP}`);
    return 2;
  }
  const life = await liveDrawnLife(seed);
  const { shape, lie, broken, simulatedMs, acknowledged, lastHolder } = life;
  const beside = lie === null ? "" : `: ${lie}`;
  const lived = `${(simulatedMs / 1000).toFixed(1)} s, ${shape}${beside}, ${acknowledged} acknowledged`;
  out.write(`${headOf(seed, broken)}${lived}${leftOn(lastHolder)}\n`);
  out.write(`Its story: npm run sim -- ${storyOf(life)}\n`);
  return broken === null ? 0 : 1;
}

/** The flags that live the same life, with every line. */
function storyOf({ seed, shape, lie }: DrawnLife): string {
  const flags = `--seed ${seed} --harm-seconds ${DRAWN_HARM_MS / 1000}`;
  if (lie === null) return flags;
  const [nodes, quorum] = LIAR_SHAPES.find((one) => shape === `${one[0]} nodes, quorum ${one[1]}, one lies`) ?? [];
  if (nodes === undefined) throw new Error(`no cluster beside a liar has this shape: ${shape}`);
  return `${flags} --lie ${lie} --nodes ${nodes} --quorum ${quorum}`;
}

async function replayBesideALiar(values: Values & LiarValues, out: Out, err: Out): Promise<number> {
  const { seed: text = "", lie, nodes = "3", quorum = "2", "harm-seconds": harm, bug, quiet } = values;
  const seed = seedOf(text);
  const name = (Object.keys(LIES) as LieName[]).find((each) => each === lie);
  const shape = LIAR_SHAPES.find((one) => one.join() === [nodes, quorum].join());
  const isBugKnown = bug === undefined || bug in PLANTED_BUGS;
  const isPlain = [values.faults, values.grows, values.witnesses].every((flag) => flag === undefined);
  if (seed === null || name === undefined || shape === undefined || !isBugKnown || !isPlain) {
    const shapes = LIAR_SHAPES.map(([of, k]) => `${k} of ${of}`).join(", ");
    err.write(
      `--lie takes one of the list, a seed, a quorum of ${shapes}, and no faults, growth or witnesses\n${SIM_HELP}`,
    );
    return 2;
  }
  const result = await liveBesideALiar({
    seed,
    nodes: shape[0],
    quorum: shape[1],
    lie: name,
    ...(harm === undefined ? {} : { lieMs: Number(harm) * 1000 }),
    ...(bug === undefined ? {} : { bugs: new Set([bug as PlantedBug]) }),
    ...(quiet ? {} : { onLine: (line) => out.write(`${formatLine(line)}\n`) }),
  });
  out.write(`${liarVerdictOf(result, `${nodes} nodes, quorum ${quorum}, one lies: ${name}`)}\n`);
  return result.broken === null ? 0 : 1;
}

/** Null: it is none. */
function seedOf(text: string): number | null {
  const seed = Number(text);
  return Number.isSafeInteger(seed) && seed >= 1 ? seed : null;
}

function liarVerdictOf({ seed, broken, simulatedMs, acknowledged, traceHash }: LiarLifeResult, what: string): string {
  const lived = `${(simulatedMs / 1000).toFixed(1)} s, ${what}, ${acknowledged} acknowledged`;
  return `${headOf(seed, broken)}${lived}\ntrace ${traceHash}`;
}

interface Range {
  readonly from: number;
  readonly count: number;
  /** Monotonic time of this process. */
  readonly untilMs: number;
  readonly jobs: number;
}

function livesWith(common: CommonOptions): Pick<Series<LifeResult>, "live" | "thread"> {
  return {
    live: (seed) => liveOneLife({ ...common, seed }),
    thread: { file: "life-worker.js", common },
  };
}

/** For programs: the result of each life, without its trace. */
async function report({ from, count, untilMs, jobs }: Range, common: CommonOptions, out: Out): Promise<number> {
  let broken = 0;
  const onResult = (result: LifeResult): void => {
    if (result.broken !== null) broken += 1;
    const story = result.broken === null ? null : describeBroken(result, common);
    const line = { ...result, rejections: Object.fromEntries(result.rejections), newestLines: undefined, story };
    out.write(`${JSON.stringify(line)}\n`);
  };
  await liveMany({ ...livesWith(common), from, count, jobs, onResult, isOver: () => performance.now() >= untilMs });
  return broken === 0 ? 0 : 1;
}

async function explore({ from, count, untilMs, jobs }: Range, common: CommonOptions, out: Out): Promise<number> {
  const startedCpu = process.cpuUsage();
  let shownMs = performance.now();
  let simulatedMs = 0;
  let lives = 0;
  let broken = 0;
  out.write(`from seed ${from}\n`);
  const progress = (): void => {
    // All threads of the process: other work on the machine changes this less than a rate by the clock.
    const { user, system } = process.cpuUsage(startedCpu);
    const rate = ((simulatedMs * 1000) / (user + system)).toFixed(0);
    const simulated = (simulatedMs / 60_000).toFixed(1);
    const told = `${lives} lives, ${simulated} simulated minutes, ${rate} simulated seconds for a core-second`;
    out.write(`${told}, ${broken} broken\n`);
  };
  const onResult = (result: LifeResult): void => {
    lives += 1;
    simulatedMs += result.simulatedMs;
    if (result.broken !== null) {
      broken += 1;
      out.write(`${describeBroken(result, common)}\n`);
    }
    if (performance.now() - shownMs < PROGRESS_MS) return;
    shownMs = performance.now();
    progress();
  };
  await liveMany({ ...livesWith(common), from, count, jobs, onResult, isOver: () => performance.now() >= untilMs });
  progress();
  return broken === 0 ? 0 : 1;
}

function verdictOf(result: LifeResult): string {
  const { traceHash, simulatedMs, happenings, entries, acknowledged, nodes, faults } = result;
  const lived = `${(simulatedMs / 1000).toFixed(1)} s, ${nodes} nodes, ${happenings} happenings, ${entries} entries`;
  const watched = result.witnesses === 0 ? "" : `, ${result.witnessLines} lines of ${result.witnesses} witnesses`;
  const told = `${lived}, ${acknowledged} acknowledged${watched}${leftOn(result.lastHolder)}`;
  return `${headOf(result.seed, result.broken)}${told}; faults: ${faults.join(" ")}\ntrace ${traceHash}`;
}

function leftOn(lastHolder: string | null): string {
  return lastHolder === null ? "" : `, the state is left on ${lastHolder} alone`;
}

function headOf(seed: number, broken: LifeResult["broken"]): string {
  if (broken === null) return `seed ${seed}: every sentence held. `;
  const { sentence, detail, atMs } = broken;
  return `seed ${seed}: NOT ${sentence}, at ${(atMs / 1000).toFixed(4)} s: ${detail}\n`;
}

/** Seed, invariant, the newest lines, and how to reproduce it: for a failing test. */
function describeBroken(result: LifeResult, common: CommonOptions): string {
  return [verdictOf(result), ...result.newestLines, `npm run sim -- ${flagsOf(result.seed, common)}`].join("\n");
}

function flagsOf(seed: number, { harmMs, faults, bugs, nodes, witnesses, grows }: CommonOptions): string {
  const flags = [`--seed ${seed}`];
  if (harmMs !== undefined) flags.push(`--harm-seconds ${harmMs / 1000}`);
  if (nodes !== undefined) flags.push(`--nodes ${nodes}`);
  if (witnesses !== undefined) flags.push(`--witnesses ${witnesses}`);
  if (grows !== undefined) flags.push(`--grows ${grows}`);
  if (faults !== undefined) flags.push(`--faults ${faults.join()}`);
  if (bugs !== undefined) flags.push(`--bug ${[...bugs].join()}`);
  return flags.join(" ");
}
