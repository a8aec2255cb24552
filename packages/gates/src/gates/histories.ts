import { join } from "node:path";
import {
  CLOCK_NEMESES,
  HistoryChecker,
  NETWORK_NEMESES,
  PROCESS_NEMESES,
  STORAGE_NEMESES,
  judgedHistory,
  startFaultyCluster,
} from "@event-anchoring/testkit/faults";
import type { FaultyCluster, Nemesis } from "@event-anchoring/testkit/faults";
import { CHECKOUT } from "./checkout.ts";
import type { Batch, Gate } from "./gate.ts";
import { SERVICE_SOURCES } from "./sources.ts";

const WRITERS = 8;
/** Acknowledged writes, and as many answered reads, before the faults. */
const LOAD_BEFORE = 5000;
/** A shorter history is not counted. */
const OPERATIONS_MIN = 10_000;
/** Acknowledged writes and answered reads under the faults: with fewer a history says nothing about them. */
const MEANWHILE_MIN = 100;
const HOLD_MS = 6000;
const HISTORIES_OF_A_CLUSTER = 10;
const OF_A_NODE = [...PROCESS_NEMESES, ...STORAGE_NEMESES, ...CLOCK_NEMESES];

/** What clients of real clusters see under two faults at once. */
export const HISTORIES: Gate = {
  name: "histories",
  counts: "histories of clients under pairs of faults, judged by porcupine",
  fails: "a history that is not linearizable",
  toReach: 300,
  firstStop: 30,
  sources: SERVICE_SOURCES,
  missing: () => {
    const made = HistoryChecker.build(join(CHECKOUT, "test/linearizability"));
    if (!(made instanceof HistoryChecker)) return made.missing;
    made.close();
    return null;
  },
  run: async (batch) => {
    const checker = HistoryChecker.build(join(CHECKOUT, "test/linearizability"));
    if (!(checker instanceof HistoryChecker)) throw new Error(checker.missing);
    try {
      for (let seed = batch.from; !batch.isOver(); seed += HISTORIES_OF_A_CLUSTER) {
        await historiesOfACluster(seed, checker, batch);
      }
    } finally {
      checker.close();
    }
  },
};

async function historiesOfACluster(from: number, checker: HistoryChecker, batch: Batch): Promise<void> {
  const faulty = await startFaultyCluster();
  try {
    for (let seed = from; seed < from + HISTORIES_OF_A_CLUSTER && !batch.isOver(); seed++) {
      const nemesis = pairOf(seed, faulty);
      const plan = { checker, nemesis, writers: WRITERS, loadBefore: LOAD_BEFORE, holdMs: HOLD_MS };
      const judged = await judgedHistory(faulty, plan);
      const { verdict, reason, operations, operationsMeanwhile, refusals } = judged;
      if (refusals.length > 0)
        batch.fail({ seed: `${seed}`, what: `${nemesis.name}: refused: ${JSON.stringify(refusals[0])}` });
      if (verdict === "not linearizable") batch.fail({ seed: `${seed}`, what: `${nemesis.name}: ${reason}` });
      const { isProof, as } = worthOf(judged);
      if (!isProof) batch.say(`seed ${seed} is not counted (${as}): ${nemesis.name}, ${operationsMeanwhile} under it`);
      const covered = isProof ? { [`covered: ${nemesis.name}`]: 1 } : {};
      const done = { operations, "operations under the faults": operationsMeanwhile };
      batch.note(isProof ? 1 : 0, seed, { [as]: 1, ...done, ...covered });
    }
  } finally {
    await faulty.end();
  }
}

type JudgedHistory = Awaited<ReturnType<typeof judgedHistory>>;

interface Worth {
  readonly isProof: boolean;
  /** The name that it is counted under, or left out under. */
  readonly as: string;
}

/** What a history proves. Neither good nor bad proves nothing, and nor does one with too little in it. */
export function worthOf(judged: Pick<JudgedHistory, "verdict" | "operations" | "operationsMeanwhile">): Worth {
  const { verdict, operations, operationsMeanwhile } = judged;
  if (verdict !== "linearizable" && verdict !== "not linearizable") return { isProof: false, as: verdict };
  if (operations < OPERATIONS_MIN) return { isProof: false, as: "too short" };
  if (operationsMeanwhile < MEANWHILE_MIN) return { isProof: false, as: "too little under the faults" };
  return { isProof: true, as: verdict };
}

/** Every pair of a fault of a node and one of the network, in an order that the seed gives. */
function pairOf(seed: number, faulty: FaultyCluster): Nemesis {
  const here = OF_A_NODE.filter((nemesis) => nemesis.missing(faulty) === null);
  const ofNode = here[seed % here.length];
  const ofNetwork = NETWORK_NEMESES[Math.floor(seed / here.length) % NETWORK_NEMESES.length];
  if (ofNode === undefined || ofNetwork === undefined) throw new Error("there are faults");
  return {
    name: `${ofNode.name}, and ${ofNetwork.name}`,
    missing: () => null,
    inject: async (cluster, roles) => {
      // The network comes last: who is to be met in some act must be able to act.
      const ends = [await ofNode.inject(cluster, roles), await ofNetwork.inject(cluster, roles)];
      return async () => {
        for (const end of ends.reverse()) await end();
      };
    },
  };
}
