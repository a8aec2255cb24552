import type { Seeded } from "@event-anchoring/simulator";
import {
  MixedLoad,
  answersAt,
  flipBack,
  flipBit,
  isReady,
  isRefusal,
  nodeFiles,
  questionsAbout,
  until,
  wrongAnswers,
} from "@event-anchoring/testkit";
import type { LoadAnswer, Question, Recorder, TestCluster } from "@event-anchoring/testkit";
import { placesOf } from "./places.ts";
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
/** What a damaged node gets to come up, or to say that it does not. */
const DAMAGED_TIMEOUT_MS = 15_000;
const SOUND_TIMEOUT_MS = 120_000;
const SHOWN = 3;

export interface FlipRound {
  readonly what: Flipped;
  /** How many of the altered bits were put to the test: of a node that does not come up, one. */
  readonly flips: number;
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
  await stop(setup, nodeId, what === "log ahead" || (what !== "tables" && dice.chance(0.5)));
  const flipped = places.map(({ path, offset }) => flipBit(path, offset, dice.below(8)));
  const outcome = await start(setup, nodeId, DAMAGED_TIMEOUT_MS);
  const given = await askDamaged(setup, nodeId, before.questions);
  const damagedBroken = wrongAnswers(setup, before.questions.slice(0, given.length), before.sound, given);
  await write(setup, recorder, `beside ${seed}`, RECORDS_BESIDE);
  const refusals = recorder.refusals.slice(refusalsBefore).map(({ status, text }) => `answered ${status}: ${text}`);
  const refused = given.filter(isRefusal).length;
  const round = {
    what,
    flips: outcome === "serves" ? places.length : 1,
    outcome,
    answered: given.length - refused,
    refused,
  };
  const found = [...damagedBroken.slice(0, SHOWN), ...refusals.slice(0, SHOWN)];
  // What the log has lost is gone: a bit that is given back gives nothing back.
  if (what === "log ahead") return { ...round, broken: found, isWhole: false };
  await stop(setup, nodeId, false);
  const isAsBefore = flipped.map(flipBack).every(Boolean);
  const again = await servesAgain(setup, recorder, nodeId, dice, isAsBefore);
  return {
    ...round,
    outcome: again.isWhole ? outcome : `${outcome}, then ${again.outcome}`,
    broken: [...found, ...again.broken.slice(0, SHOWN)].map((line) => `${nodeId}: ${line}`),
    isWhole: again.isWhole,
  };
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
  const outcome = await start(setup, nodeId, SOUND_TIMEOUT_MS);
  if (!isAsBefore && outcome.startsWith("stops: ")) return { outcome, broken: [], isWhole: false };
  if (outcome !== "serves") return { outcome, broken: [`with its bits given back it ${outcome}`], isWhole: false };
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

async function stop({ cluster }: TestCluster, nodeId: string, isKilled: boolean): Promise<void> {
  const node = cluster.node(nodeId);
  if (isKilled) {
    await node.killProcesses();
    await node.killPostgres();
    return;
  }
  await node.stopProcesses();
  await node.stopPostgres();
}

/** @returns `serves`, `stops: ` and the check, or what it does instead of either */
async function start(setup: TestCluster, nodeId: string, timeoutMs: number): Promise<string> {
  const node = setup.cluster.node(nodeId);
  const files = nodeFiles(setup.cluster, nodeId);
  try {
    await node.startPostgres();
  } catch {
    // Its log says why; it is no answer to a client.
    return "has a database that does not start";
  }
  node.startProcesses();
  const comesUp = async (): Promise<string | null> => {
    const stopped = files.stopped();
    if (stopped !== null) return `stops: ${stopped.check}`;
    return (await isReady(setup, nodeId)) ? "serves" : null;
  };
  return until(`${nodeId} comes up`, comesUp, timeoutMs).catch(() => "is not ready");
}
