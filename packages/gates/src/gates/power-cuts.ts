import { Seeded } from "@event-anchoring/simulator";
import { until } from "@event-anchoring/testkit";
import { isReady, nodeFiles } from "@event-anchoring/testkit/cluster";
import { ForgetfulDisks, MixedLoad, audit, cutPower, startFaultyCluster } from "@event-anchoring/testkit/faults";
import type { Stopped } from "@event-anchoring/testkit/cluster";
import type { FaultyCluster } from "@event-anchoring/testkit/faults";
import type { Batch, Gate } from "./gate.ts";
import { SERVICE_SOURCES } from "./sources.ts";

const LOAD = { writers: 6, batchEvents: 8 };
/** Acknowledged before each cut: with fewer the audit proves little. */
const RECORDS_BEFORE = 150;
const RECORDS_AFTER = 30;
const RECORDS_TIMEOUT_MS = 300_000;
const READY_TIMEOUT_MS = 120_000;
/** An audit reads all that the cluster holds: a new cluster keeps it short. */
const CUTS_OF_A_CLUSTER = 20;
/** Share of the unsynced pages that have reached the disk: none, some in any order, nearly all. */
const KEPT = [0, 0.5, 0.9];

type Who = "all nodes" | "the leader and a follower" | "both followers" | "the leader" | "a follower";
const WHO: readonly Who[] = ["all nodes", "the leader and a follower", "both followers", "the leader", "a follower"];

/** Power cuts on real clusters under load, on disks that forget. `forget.c` of the testkit says what they forget. */
export const POWER_CUTS: Gate = {
  name: "power-cuts",
  counts: "power cuts of one, two or all nodes under load, which lose what was not synced, each with an audit",
  fails: "an acknowledged record that is lost, doubled or contradicted, or a node that does not come back",
  toReach: 500,
  firstStop: 50,
  sources: SERVICE_SOURCES,
  missing: () => {
    const made = ForgetfulDisks.make();
    if (!(made instanceof ForgetfulDisks)) return made.missing;
    made.close();
    return null;
  },
  run: async (batch) => {
    for (let seed = batch.from; !batch.isOver(); seed += CUTS_OF_A_CLUSTER) await cutsOfACluster(seed, batch);
  },
};

async function cutsOfACluster(from: number, batch: Batch): Promise<void> {
  const disks = ForgetfulDisks.make();
  if (!(disks instanceof ForgetfulDisks)) throw new Error(disks.missing);
  try {
    const faulty = await startFaultyCluster(disks);
    try {
      for (let seed = from; seed < from + CUTS_OF_A_CLUSTER && !batch.isOver(); seed++) {
        const { who, pages, anchored, broken } = await cutOnce(faulty, disks, seed);
        batch.note(1, seed, { [who]: 1, "acknowledged and audited": anchored, "pages lost": pages });
        if (broken.length > 0) batch.fail({ seed: `${seed}`, what: `${who}: ${broken.slice(0, 5).join("; ")}` });
        // What is broken once would be told after every later cut.
        if (broken.length > 0) return;
      }
    } finally {
      await faulty.end();
    }
  } finally {
    disks.close();
  }
}

export interface CutResult {
  readonly who: Who;
  /** Pages that were not synced, and are lost. */
  readonly pages: number;
  readonly anchored: number;
  readonly broken: readonly string[];
}

/**
 * One cut under load, what comes back, and the audit of all that was ever acknowledged.
 * @param whileOff called when the disks have forgotten, and nothing runs on them yet
 */
export async function cutOnce(
  faulty: FaultyCluster,
  disks: ForgetfulDisks,
  seed: number,
  whileOff: () => void = () => {},
): Promise<CutResult> {
  const { recorder, notices } = faulty;
  const dice = new Seeded(seed, 31);
  const who = dice.pick(WHO);
  const kept = dice.pick(KEPT);
  const before = recorder.anchored.length;
  const load = MixedLoad.start(faulty, recorder, `load ${seed}`, LOAD);
  try {
    await load.more(RECORDS_BEFORE, RECORDS_TIMEOUT_MS);
    const nodeIds = await nodesOf(who, faulty);
    const forgotten = await cutPower(faulty, disks, { nodeIds, isKept: () => dice.chance(kept) });
    whileOff();
    const pages = forgotten.reduce((sum, lost) => sum + lost.pages, 0);
    const result = { who, pages, anchored: recorder.anchored.length - before };
    const problems = await comesBack(faulty, nodeIds);
    if (problems.length > 0) {
      await load.abandon();
      return { ...result, broken: [...problems, ...notices.slice(-3)] };
    }
    await load.more(RECORDS_AFTER, RECORDS_TIMEOUT_MS);
    await load.stop();
    const { broken } = await audit(faulty, recorder);
    const refused = recorder.refusals.map(({ status, text }) => `answered ${status}: ${text}`);
    const ended = notices.filter((said) => /fenced|halted/.test(said));
    return { ...result, broken: [...broken, ...refused, ...recorder.contradictions, ...ended] };
  } catch (error) {
    await load.abandon();
    throw error;
  }
}

/** @returns a line for each node that does not: the check for which it stops, or what is wrong with it */
async function comesBack(faulty: FaultyCluster, nodeIds: readonly string[]): Promise<readonly string[]> {
  const problemOf = async (id: string): Promise<readonly string[]> => {
    const files = nodeFiles(faulty.cluster, id);
    const comesUp = async (): Promise<Stopped | "ready" | null> =>
      files.stopped() ?? ((await isReady(faulty, id)) ? "ready" : null);
    try {
      await faulty.cluster.node(id).startPostgres();
      faulty.cluster.node(id).startProcesses();
      const outcome = await until(`${id} is ready`, comesUp, READY_TIMEOUT_MS);
      return outcome === "ready" ? [] : [`${id} stops for good: ${outcome.check}: ${outcome.detail}`];
    } catch (error) {
      return [`${id} does not come back: ${String(error)}`];
    }
  };
  return (await Promise.all(nodeIds.map(problemOf))).flat();
}

async function nodesOf(who: Who, faulty: FaultyCluster): Promise<readonly string[]> {
  const { id: leader } = await faulty.leader();
  const all = faulty.cluster.file.nodes.map(({ id }) => id);
  const followers = all.filter((id) => id !== leader);
  switch (who) {
    case "all nodes":
      return all;
    case "the leader and a follower":
      return [leader, ...followers.slice(0, 1)];
    case "both followers":
      return followers;
    case "the leader":
      return [leader];
    case "a follower":
      return followers.slice(0, 1);
  }
}
