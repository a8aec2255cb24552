import {
  MixedLoad,
  PROCESS_NEMESES,
  STORAGE_NEMESES,
  audit,
  injectFaults,
  startFaultyCluster,
} from "@event-anchoring/testkit/faults";
import type { FaultyCluster, Nemesis } from "@event-anchoring/testkit/faults";
import type { Batch, Gate } from "./gate.ts";
import { SERVICE_SOURCES } from "./sources.ts";

const LOAD = { writers: 6, batchEvents: 8 };
/** Acknowledged before each kill: with fewer the audit proves little. */
const RECORDS_BEFORE = 200;
const RECORDS_TIMEOUT_MS = 300_000;
const HOLD_MS = 1000;
/** An audit reads all that the cluster holds: a new cluster keeps it short. */
const KILLS_OF_A_CLUSTER = 20;

type Roles = Parameters<Nemesis["inject"]>[1];

/** What is killed at the same moment. */
interface Kill {
  readonly name: string;
  readonly nemeses: readonly Nemesis[];
  /** Processes that the supervisor sees end by it, as its notices name them. */
  readonly ends: (roles: Roles) => readonly string[];
}

const ALL = ["postgres", "control_plane", "api"];
const OF_LEADER = nemesisOf("all processes of the leader are killed");
const OF_FOLLOWER = nemesisOf("all processes of a follower are killed");
const OF_OTHER_FOLLOWER: Nemesis = {
  ...OF_FOLLOWER,
  inject: (faulty, { leader, followers: [first, second] }) =>
    OF_FOLLOWER.inject(faulty, { leader, followers: [second, first] }),
};

/** Processes, a Postgres alone, nodes, majorities of nodes, and the whole cluster. */
export const KILLS: readonly Kill[] = [
  kill("the leader's control plane is killed", ({ leader }) => each(leader, "control_plane")),
  kill("a follower's control plane is killed", ({ followers: [one] }) => each(one, "control_plane")),
  kill("the leader's api process is killed", ({ leader }) => each(leader, "api")),
  kill(OF_LEADER.name, ({ leader }) => each(leader, ...ALL)),
  kill(OF_FOLLOWER.name, ({ followers: [one] }) => each(one, ...ALL)),
  // The supervisor is told to end them: it says nothing.
  kill("every process of every node is killed", () => []),
  kill("the leader's Postgres is killed", ({ leader }) => each(leader, "postgres")),
  kill("a follower's Postgres is killed", ({ followers: [one] }) => each(one, "postgres")),
  {
    name: "all processes of the leader and of a follower are killed",
    nemeses: [OF_LEADER, OF_FOLLOWER],
    ends: ({ leader, followers: [one] }) => [...each(leader, ...ALL), ...each(one, ...ALL)],
  },
  {
    name: "all processes of both followers are killed",
    nemeses: [OF_FOLLOWER, OF_OTHER_FOLLOWER],
    ends: ({ followers }) => followers.flatMap((one) => each(one, ...ALL)),
  },
];

function kill(name: string, ends: Kill["ends"]): Kill {
  return { name, nemeses: [nemesisOf(name)], ends };
}

function nemesisOf(wanted: string): Nemesis {
  const found = [...PROCESS_NEMESES, ...STORAGE_NEMESES].find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`there is no fault of this name: ${wanted}`);
  return found;
}

function each(nodeId: string, ...processes: readonly string[]): readonly string[] {
  return processes.map((name) => `${nodeId} ${name}`);
}

/**
 * @param notices what the supervisor has said since the kill
 * @param ends the processes that the kill ends, each once
 * @returns those about any other end: of a process that was not killed, or of one that was started again
 */
export function unplannedEnds(notices: readonly string[], ends: readonly string[]): readonly string[] {
  const open = new Set(ends);
  return notices.filter((said) => {
    const planned = [...open].find((name) => said.startsWith(`${name}: ended with SIGKILL; next start in `));
    return planned === undefined || !open.delete(planned);
  });
}

/** `kill -9` on real clusters under load. */
export const KILL_GATE: Gate = {
  name: "kills",
  counts:
    "`kill -9` of processes, a Postgres alone, one node, two and all under load, each with an audit of all that was " +
    "acknowledged",
  fails: "a record that is lost, doubled or contradicted; a process that ends and was not killed",
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
  const { recorder, notices } = faulty;
  const chosen = KILLS[seed % KILLS.length];
  if (chosen === undefined) throw new Error("there are kills");
  const before = recorder.anchored.length;
  const saidBefore = notices.length;
  const ends: string[] = [];
  // The first of them is asked before any process has ended.
  const noting: Nemesis = {
    name: "note",
    missing: () => null,
    inject: async (_faulty, roles) => {
      ends.push(...chosen.ends(roles));
      return async () => undefined;
    },
  };
  const load = MixedLoad.start(faulty, recorder, `load ${seed}`, LOAD);
  try {
    await load.more(RECORDS_BEFORE, RECORDS_TIMEOUT_MS);
    await injectFaults(faulty, load, [noting, ...chosen.nemeses], HOLD_MS);
    await load.stop();
  } catch (error) {
    await load.abandon();
    throw error;
  }
  const { broken } = await audit(faulty, recorder);
  return {
    killed: chosen.name,
    anchored: recorder.anchored.length - before,
    broken: [
      ...broken,
      ...recorder.refusals.map(({ status, text }) => `answered ${status}: ${text}`),
      ...recorder.contradictions,
      ...unplannedEnds(notices.slice(saidBefore), ends),
    ],
  };
}
