import { readFileSync } from "node:fs";
import type { Seeded } from "@event-anchoring/simulator";
import { until } from "@event-anchoring/testkit";
import { nodeFiles } from "@event-anchoring/testkit/cluster";
import {
  MixedLoad,
  answersAt,
  flipBack,
  flipBit,
  isRefusal,
  questionsAbout,
  wrongAnswers,
} from "@event-anchoring/testkit/faults";
import type { LoadAnswer } from "@event-anchoring/testkit/clients";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import type { FlippedBit, Question, Recorder } from "@event-anchoring/testkit/faults";
import { startDamaged, startSound, stopNode } from "./node-starts.ts";
import { placesOf } from "./places.ts";
import type { Started } from "./node-starts.ts";
import type { Flipped, Place } from "./places.ts";

const LOAD = { writers: 3, batchEvents: 4 };
/** Acknowledged before each round, and beside the damaged node. */
const RECORDS_BEFORE = 40;
const RECORDS_BESIDE = 10;
const RECORDS_TIMEOUT_MS = 120_000;
/** Acknowledged records that are asked for, beside the newest. */
const ASKED_MAX = 60;
/** Records of all kinds are among the first. */
const ASKED_FIRST = 30;
const SOUND_TIMEOUT_MS = 120_000;
/** Once its server has named some, a node is started with the other bits. */
const STARTS_MAX = 3;
const SHOWN = 3;

export interface FlipRound {
  readonly what: Flipped;
  /** How many of the altered bits were met: those in files that its server has named, or all if the node serves. */
  readonly flips: number;
  /** Whether the damaged node neither served nor said why: the round's other bits are not counted. */
  readonly isSlow: boolean;
  /** What became of the damaged node. */
  readonly outcome: string;
  readonly answered: number;
  readonly refused: number;
  readonly broken: readonly string[];
  /** Whether all nodes serve again; else the cluster is spent. */
  readonly isWhole: boolean;
}

interface Asked {
  readonly questions: readonly Question[];
  readonly sound: readonly LoadAnswer[];
}

/** Who is damaged, and how. */
export interface NodeDamage {
  readonly nodeId: string;
  readonly what: Flipped;
  readonly places: readonly Place[];
  readonly dice: Seeded;
  readonly seed: number;
}

/** Alters bits of one node of three that is down, starts it, asks it, gives the bits back, and asks it again. */
export async function nodeRound(
  setup: TestCluster,
  recorder: Recorder,
  seed: number,
  what: Flipped,
  dice: Seeded,
): Promise<FlipRound> {
  await write(setup, recorder, `before ${seed}`, RECORDS_BEFORE);
  const { id: nodeId } = dice.pick(setup.cluster.file.nodes);
  const places = await placesOf(what, nodeFiles(setup.cluster, nodeId), dice);
  return damageNode(setup, recorder, { nodeId, what, places, dice, seed });
}

export async function damageNode(setup: TestCluster, recorder: Recorder, damage: NodeDamage): Promise<FlipRound> {
  const { nodeId, what, places, dice, seed } = damage;
  const refusalsBefore = recorder.refusals.length;
  const before = await askSound(setup, recorder, nodeId, dice);
  await stopNode(setup, nodeId, what === "log ahead" || (what !== "tables" && dice.chance(0.5)));
  const flipped = places.map(({ path, offset }) => flipBit(path, offset, dice.below(8)));
  const { left, given, outcome, isAsBefore, ...met } = await meetBits(setup, nodeId, flipped, before);
  await write(setup, recorder, `beside ${seed}`, RECORDS_BESIDE);
  const refusals = recorder.refusals.slice(refusalsBefore).map(({ status, text }) => `answered ${status}: ${text}`);
  const refused = given.filter(isRefusal).length;
  const round = { what, flips: met.flips, isSlow: met.isSlow, outcome, answered: given.length - refused, refused };
  const found = [...met.wrong.slice(0, SHOWN), ...refusals.slice(0, SHOWN)];
  // What the log has lost is gone: a bit that is given back gives nothing back.
  if (what === "log ahead") return { ...round, broken: found, isWhole: false };
  await stopNode(setup, nodeId, false);
  const areAllBack = left.map(flipBack).every(Boolean) && isAsBefore;
  const again = await servesAgain(setup, recorder, nodeId, dice, areAllBack);
  return {
    ...round,
    outcome: again.isWhole ? outcome : `${outcome}, then ${again.outcome}`,
    broken: [...found, ...again.broken.slice(0, SHOWN)].map((line) => `${nodeId}: ${line}`),
    isWhole: again.isWhole,
  };
}

interface Met {
  /** How many bits were put to the test. */
  readonly flips: number;
  /** Whether the last start has proved nothing: the node did not serve, and did not say why. */
  readonly isSlow: boolean;
  /** What became of the last start. */
  readonly outcome: string;
  readonly given: readonly LoadAnswer[];
  readonly wrong: readonly string[];
  /** What was not given back yet. */
  readonly left: readonly FlippedBit[];
  /** Whether what was given back is as it was before. */
  readonly isAsBefore: boolean;
}

/**
 * Starts the damaged node and asks it. Bits in files that its server names as damaged are met: they are given back, and
 * the node is started with the others, a few times.
 */
async function meetBits(
  setup: TestCluster,
  nodeId: string,
  flipped: readonly FlippedBit[],
  { questions, sound }: Asked,
): Promise<Met> {
  const { postgresLog } = nodeFiles(setup.cluster, nodeId);
  const given: LoadAnswer[] = [];
  const wrong: string[] = [];
  let left = flipped;
  let isAsBefore = true;
  for (let starts = 1; ; starts++) {
    const { length: before } = readFileSync(postgresLog);
    const { kind, outcome } = await startDamaged(setup, nodeId);
    const answers = await askDamaged(setup, nodeId, questions);
    given.push(...answers);
    wrong.push(...wrongAnswers(setup, questions.slice(0, answers.length), sound, answers));
    const named = metBits(readFileSync(postgresLog).subarray(before).toString(), left);
    const isLast = kind === "serves" || named.length === 0 || named.length === left.length;
    if (isLast || starts === STARTS_MAX || wrong.length > 0) {
      const isSlow = kind === "slow" && named.length === 0;
      const flips = flipped.length - left.length + metNow(kind, named.length, left.length);
      return { flips, isSlow, outcome, given, wrong, left, isAsBefore };
    }
    await stopNode(setup, nodeId, false);
    isAsBefore = named.map(flipBack).every(Boolean) && isAsBefore;
    left = left.filter((one) => !named.includes(one));
  }
}

/**
 * How many of the altered bits the last start has met: all, if the node serves. Of a node that stops or says why, and
 * whose server names none, one: nobody knows what the others would have done. A slow node has met none.
 */
export function metNow(kind: Started["kind"], named: number, left: number): number {
  if (kind === "serves") return left;
  return kind === "slow" ? named : Math.max(1, named);
}

/** The bits in files that a Postgres server says it cannot read. @param said its log */
export function metBits(said: string, flipped: readonly FlippedBit[]): readonly FlippedBit[] {
  const matches = said.matchAll(/invalid page in block \d+ of relation "?([\w/.]+)/gu);
  const relations = new Set([...matches].map(([, relation = ""]) => relation));
  return flipped.filter(({ path }) => [...relations].some((relation) => path.endsWith(`/${relation}`)));
}

/** A node that refuses one question after another refuses the others too: they are not waited for. */
async function askDamaged(
  setup: TestCluster,
  nodeId: string,
  questions: readonly Question[],
): Promise<readonly LoadAnswer[]> {
  const first = await answersAt(setup, nodeId, questions.slice(0, ASKED_FIRST));
  if (first.every(isRefusal)) return first;
  return [...first, ...(await answersAt(setup, nodeId, questions.slice(ASKED_FIRST)))];
}

interface Again {
  readonly outcome: string;
  readonly broken: readonly string[];
  readonly isWhole: boolean;
}

/**
 * A node that has all its bits again has to serve, and to be right. Where the node has written an altered block, it may
 * also stop for good and say why: it is replaced then.
 */
async function servesAgain(
  setup: TestCluster,
  recorder: Recorder,
  nodeId: string,
  dice: Seeded,
  isAsBefore: boolean,
): Promise<Again> {
  const { kind, outcome } = await startSound(setup, nodeId, SOUND_TIMEOUT_MS);
  if (!isAsBefore && kind === "stops") return { outcome, broken: [], isWhole: false };
  if (kind !== "serves") return { outcome, broken: [`with its bits given back it ${outcome}`], isWhole: false };
  const { questions, sound } = await askSound(setup, recorder, nodeId, dice);
  const given = await allAnswered(setup, nodeId, questions);
  const broken = wrongAnswers(setup, questions, sound, given).map((line) => `with its bits given back: ${line}`);
  return { outcome, broken, isWhole: broken.length === 0 };
}

/** What another node says about records of every age. Nobody writes. */
async function askSound(setup: TestCluster, recorder: Recorder, nodeId: string, dice: Seeded): Promise<Asked> {
  const newest = recorder.anchored.slice(-RECORDS_BEFORE);
  const older = Array.from({ length: Math.min(ASKED_MAX, recorder.anchored.length) }, () => {
    return dice.pick(recorder.anchored);
  });
  const questions = questionsAbout(setup, [...new Set([...older, ...newest])]);
  const other = setup.cluster.file.nodes.find(({ id }) => id !== nodeId);
  return { questions, sound: await allAnswered(setup, other?.id ?? "", questions) };
}

async function allAnswered(
  setup: TestCluster,
  nodeId: string,
  questions: readonly Question[],
): Promise<readonly LoadAnswer[]> {
  const given = [...(await answersAt(setup, nodeId, questions))];
  const refused = (): readonly number[] => given.flatMap((answer, at) => (isRefusal(answer) ? [at] : []));
  const askAgain = async (): Promise<boolean> => {
    const places = refused();
    const again = await answersAt(
      setup,
      nodeId,
      places.flatMap((at) => questions[at] ?? []),
    );
    places.forEach((at, place) => (given[at] = again[place] ?? { status: 0, text: "not asked" }));
    return refused().length === 0;
  };
  await until(`${nodeId} answers everything`, askAgain, SOUND_TIMEOUT_MS).catch((cause: unknown) => {
    const [at = 0] = refused();
    throw new Error(`${nodeId} does not answer ${questions[at]?.path}: ${given[at]?.text}`, { cause });
  });
  return given;
}

async function write(setup: TestCluster, recorder: Recorder, name: string, count: number): Promise<void> {
  const load = MixedLoad.start(setup, recorder, name, LOAD);
  try {
    await load.more(count, RECORDS_TIMEOUT_MS);
    await load.stop();
  } catch (error) {
    await load.abandon();
    throw error;
  }
}
