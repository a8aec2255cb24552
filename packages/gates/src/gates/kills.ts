import { MixedLoad, PROCESS_NEMESES, audit, injectFaults, startFaultyCluster } from "@event-anchoring/testkit/faults";
import type { FaultyCluster } from "@event-anchoring/testkit/faults";
import type { Batch, Gate } from "./gate.ts";
import { SERVICE_SOURCES } from "./sources.ts";

const LOAD = { writers: 6, batchEvents: 8 };
/** Acknowledged before each kill: with fewer the audit proves little. */
const RECORDS_BEFORE = 200;
const RECORDS_TIMEOUT_MS = 300_000;
const HOLD_MS = 1000;
/** An audit reads all that the cluster holds: a new cluster keeps it short. */
const KILLS_OF_A_CLUSTER = 20;

const KILLS = PROCESS_NEMESES.filter(({ name }) => / (is|are) killed$/.test(name));

/** `kill -9` on real clusters under load. */
export const KILL_GATE: Gate = {
  name: "kills",
  counts:
    "`kill -9` of processes, nodes and whole clusters under load, each with an audit of all that was acknowledged",
  fails: "a record that is lost, doubled or contradicted",
  toReach: 5000,
  firstStop: 500,
  sources: SERVICE_SOURCES,
  missing: () => (process.platform === "linux" ? null : "processes are killed by what /proc says"),
  run: async (batch) => {
    for (let seed = batch.from; !batch.isOver(); seed += KILLS_OF_A_CLUSTER) await killOneCluster(seed, batch);
  },
};

async function killOneCluster(from: number, batch: Batch): Promise<void> {
  const faulty = await startFaultyCluster();
  try {
    for (let seed = from; seed < from + KILLS_OF_A_CLUSTER && !batch.isOver(); seed++) {
      const { broken, anchored, killed } = await killOnce(faulty, seed);
      batch.note(1, seed, { [killed]: 1, "acknowledged and audited": anchored });
      if (broken.length > 0) batch.fail({ seed: `${seed}`, what: `${killed}: ${broken.slice(0, 5).join("; ")}` });
      // What is broken once would be told after every later kill.
      if (broken.length > 0) return;
    }
  } finally {
    await faulty.end();
  }
}

interface KillResult {
  readonly killed: string;
  readonly anchored: number;
  readonly broken: readonly string[];
}

async function killOnce(faulty: FaultyCluster, seed: number): Promise<KillResult> {
  const { recorder } = faulty;
  const nemesis = KILLS[seed % KILLS.length];
  if (nemesis === undefined) throw new Error("there are kills");
  const before = recorder.anchored.length;
  const load = MixedLoad.start(faulty, recorder, `load ${seed}`, LOAD);
  try {
    await load.more(RECORDS_BEFORE, RECORDS_TIMEOUT_MS);
    await injectFaults(faulty, load, [nemesis], HOLD_MS);
    await load.stop();
  } catch (error) {
    await load.abandon();
    throw error;
  }
  const { broken } = await audit(faulty, recorder);
  return {
    killed: nemesis.name,
    anchored: recorder.anchored.length - before,
    broken: [
      ...broken,
      ...recorder.refusals.map(({ status, text }) => `answered ${status}: ${text}`),
      ...recorder.contradictions,
      ...faulty.notices.filter((said) => /fenced|halted/.test(said)),
    ],
  };
}
