import { decodeMessage, RaftEngine } from "raft-ts";
import { LIMITS, RELEASE_RULES } from "@event-anchoring/ledger";
import { type TrustRoot, parseSignedTrustRoot } from "@event-anchoring/protocol";
import { type ClientCounts, Clients, operationOf } from "../clients/clients.ts";
import {
  type ClusterPlan,
  GROWTHS,
  GROWTH_NAMES,
  type GrowthName,
  isGrowing,
  lastVersionOf,
} from "../trust/cluster-plan.ts";
import { FAULTS, type Fault, SPENDING } from "../faults/faults.ts";
import { Growth } from "../clients/growth.ts";
import { FaultInjector, RETIRED } from "../faults/fault-injector.ts";
import { NEXT_RULES } from "@event-anchoring/testkit/records";
import { type Bugs, NO_BUGS } from "../planted/planted-bugs.ts";
import { CREATE_FIRST_KEY } from "../trust/key-ring.ts";
import { Seeded } from "../world/seeded.ts";
import { RETIRING_VERSION, simulatedIdentities, simulatedTrustRoot } from "../trust/simulated-ceremony.ts";
import { simulatedCrypto } from "../trust/simulated-crypto.ts";
import { type DiskImages, SimulatedMachine } from "../machine/simulated-machine.ts";
import { SimulatedNetwork } from "../network/simulated-network.ts";
import { WORLD_START_MS } from "../world/simulated-process.ts";
import { SimulatedSnapshots } from "../disks/simulated-snapshots.ts";
import { LifeTrace, type TraceLine } from "../world/life-trace.ts";
import { type Broken, Invariants } from "../machine/invariants.ts";
import { World } from "../world/world.ts";
import { type WitnessesOfALife, witnessesOfALife } from "../witnesses/witnesses-of-a-life.ts";
import { areTablesWritten, hasConverged, isLeaderAbandoned, lagOf } from "./convergence.ts";
import { lastHolder } from "./last-holder.ts";

export interface LifeOptions {
  readonly seed: number;
  readonly bugs?: Bugs;
  /** How long faults are injected, in simulated ms. Default 20,000. */
  readonly harmMs?: number;
  /** Drawn from the seed unless given. */
  readonly nodes?: 3 | 5;
  /** How the cluster grows. Drawn from the seed, mostly not at all, unless this or faults are given. */
  readonly grows?: GrowthName;
  /** How many witnesses the trust root lists, if the cluster does not grow. Default: three in every fourth life. */
  readonly witnesses?: number;
  /** How much each log keeps; drawn from the seed unless given. */
  readonly logKept?: { readonly entries: number; readonly bytes: number };
  /** Which faults may strike; drawn from the seed unless given. */
  readonly faults?: readonly Fault[];
  /** Called with every line of the trace. */
  readonly onLine?: (line: TraceLine) => void;
}

export interface LifeResult {
  readonly seed: number;
  /** null: every invariant held. */
  readonly broken: Broken | null;
  readonly traceHash: string;
  readonly newestLines: readonly string[];
  readonly simulatedMs: number;
  readonly happenings: number;
  readonly entries: number;
  readonly acknowledged: number;
  readonly nodes: number;
  readonly witnesses: number;
  /** How many heads witnesses have cosigned, each counted for each of them. */
  readonly witnessLines: number;
  readonly faults: readonly Fault[];
  readonly counts: ClientCounts;
  readonly rejections: ReadonlyMap<string, number>;
  /** The node from whose database the cluster has to be restored; null: the cluster has converged by itself. */
  readonly lastHolder: string | null;
}

/** A group of one or two has no majority to refute a wrong clock, and cannot do without any node. */
const NOT_WHILE_GROWING: ReadonlySet<Fault> = new Set([...SPENDING, "clock"]);
const HARM_MS = 20_000;
/** Time to initialise the cluster and make a client's key. */
const BIRTH_MAX_MS = 10_000;
/** Ten election timeouts. */
const CONVERGE_MAX_MS = 20_000;
/**
 * A follower that has abandoned a leader a second time does not follow it for 20 s; a third time, for 40 s. So much of
 * this is no part of the time to converge, whenever it begins.
 */
const ABANDONED_MAX_MS = 60_000;
/** A leader waits 30 s for members that lack what it cuts, and two minutes for one that takes over a state. */
const FORGET_MAX_MS = 160_000;
/** What is waited for is looked at so often. */
const STEP_MS = 50;
/** Three heartbeats and a way there and back. */
const HEARD_MAX_MS = 650;
/** Tables hold within this time what their node has applied. */
const TABLES_MAX_MS = 1000;

/** One life of a cluster, from its birth over its faults to its recovery: a function of the seed. */
export async function liveOneLife(options: LifeOptions): Promise<LifeResult> {
  const engine = await RaftEngine.load({ nowMs: () => WORLD_START_MS });
  const life = new Life(options, engine);
  try {
    await life.run();
  } catch (error) {
    life.invariants.fail(
      "noNodeDiesOfAnError",
      error instanceof Error ? (error.stack ?? error.message) : String(error),
    );
  } finally {
    life.close();
  }
  return life.result();
}

/** @param drawn nodes, if it does not grow */
function planOf({ seed, nodes, grows, faults, witnesses }: LifeOptions, drawn: number): ClusterPlan {
  if (grows !== undefined) return GROWTHS[grows];
  const random = new Seeded(seed, 9);
  if (nodes === undefined && faults === undefined && random.chance(0.15)) return GROWTHS[random.pick(GROWTH_NAMES)];
  const founders = nodes ?? drawn;
  return { founders, nodes: founders, isGivenUp: false, witnesses: witnesses ?? (seed % 4 === 0 ? 3 : 0) };
}

function trustRoots(plan: ClusterPlan): (version: number) => TrustRoot {
  const known = new Map<number, TrustRoot>();
  return (version) => {
    const root =
      known.get(version) ?? parseSignedTrustRoot(simulatedTrustRoot(plan, version), simulatedCrypto.sha256).trustRoot;
    known.set(version, root);
    return root;
  };
}

class Life {
  readonly #options: LifeOptions;
  readonly #bugs: Bugs;
  readonly #world = new World();
  readonly #trace: LifeTrace;
  readonly #random: Seeded;
  readonly invariants: Invariants;
  readonly #network: SimulatedNetwork;
  readonly #machines: SimulatedMachine[];
  readonly #clones: SimulatedMachine[] = [];
  readonly #parts: ConstructorParameters<typeof SimulatedMachine>[3];
  readonly #witnesses: WitnessesOfALife;
  readonly #faults: readonly Fault[];
  readonly #clients: Clients;
  readonly #faultInjector: FaultInjector;
  readonly #plan: ClusterPlan;
  /** null: all machines are founders. */
  readonly #growth: Growth | null;
  /** Every founder begins with the program of this release, and gets the next one in its time. */
  readonly #beginsOld: boolean;
  /** null: the cluster converges by itself. */
  #lastHolder: SimulatedMachine | null = null;

  constructor(options: LifeOptions, engine: RaftEngine) {
    const { seed } = options;
    this.#options = options;
    this.#bugs = options.bugs ?? NO_BUGS;
    this.#random = new Seeded(seed);
    const random = this.#random;
    const world = this.#world;
    this.#trace = new LifeTrace(() => world.nowMs, options.onLine ?? null);
    const trace = this.#trace;
    const drawn = random.chance(0.15) ? 5 : 3;
    this.#plan = planOf(options, drawn);
    const plan = this.#plan;
    const identities = simulatedIdentities(plan);
    const bits = new Map(identities.map(({ raftId }, at) => [raftId, 1 << at]));
    this.invariants = new Invariants({
      nowMs: () => world.nowMs,
      rootOf: trustRoots(plan),
      disksOf: (machine) => this.#machineNamed(machine),
      bitOf: (machine) => 1 << identities.findIndex(({ nodeId }) => nodeId === machine.slice(0, 1)),
      bitOfVoter: (raftId) => bits.get(raftId) ?? 0,
      voters: identities
        .slice(0, plan.founders)
        .map(({ raftId }) => raftId)
        .toSorted((left, right) => (left < right ? -1 : 1)),
    });
    const { invariants } = this;
    this.#network = new SimulatedNetwork({
      world,
      random: new Seeded(seed, 2),
      bugs: this.#bugs,
      watcher: this.#networkWatcher(),
    });
    const faults = options.faults ?? FAULTS.filter(() => random.chance(0.35));
    this.#faults = isGrowing(plan) ? faults.filter((fault) => !NOT_WHILE_GROWING.has(fault)) : faults;
    const drawnEntries = random.pick([20, 60, 10_000]);
    const drawnBytes = new Seeded(seed, 8).pick([8 * 1024, 64 * 1024, 1024 * 1024 * 1024]);
    const trustRoot = trustRoots(plan)(1);
    this.#witnesses = witnessesOfALife({ world, seed, invariants, trustRoot, machines: () => this.#machines });
    this.#parts = {
      world,
      nodeIds: identities.map(({ nodeId }) => nodeId),
      trace,
      invariants,
      network: this.#network,
      snapshots: new SimulatedSnapshots(new Seeded(seed, 3), this.#bugs),
      engine,
      bugs: this.#bugs,
      seed,
      logEntriesKept: options.logKept?.entries ?? drawnEntries,
      logBytesKept: options.logKept?.bytes ?? drawnBytes,
      groupIdEntriesKept: random.pick([40, LIMITS.groupIdEntriesKept]),
      verdictsMs: random.pick([0, 0, 3]),
      installsMs: new Seeded(seed, 12).pick([0, 0, 1000, 5000]),
      ...this.#witnesses.parts,
    };
    const parts = this.#parts;
    this.#machines = identities.map((identity, at) => new SimulatedMachine(identity.nodeId, identity, at, parts));
    this.#clients = this.#newClients(new Seeded(seed, 4));
    this.#faultInjector = this.#newFaultInjector(new Seeded(seed, 5));
    this.#growth = isGrowing(plan) ? this.#newGrowth(new Seeded(seed, 10)) : null;
    this.#beginsOld = new Seeded(seed, 6).chance(0.6);
  }

  #newClients(random: Seeded): Clients {
    const drawn = this.#random;
    return new Clients({
      ...this.#parts,
      random,
      machines: this.#machines,
      trustRootOf: (version) => simulatedTrustRoot(this.#plan, version),
      mayPropose: (version) => this.#mayPropose(version),
      // Without erasures no log has anything to take out.
      erases: drawn.chance(0.3) || this.#faults.includes("debtor_dies"),
      clients: drawn.pick([1, 2, 4]),
      pauseMs: drawn.pick([60, 200, 600]),
    });
  }

  /** Upgrades one machine after the other, while faults go on. */
  #upgradeMachines(harmMs: number): void {
    if (!this.#beginsOld) return;
    const random = new Seeded(this.#options.seed, 7);
    for (const machine of this.#machines) {
      this.#world.after(random.between(0, harmMs), () => {
        this.#trace.note("upgrade", machine.name);
        const { identity } = machine;
        for (const each of [machine, ...this.#clones]) if (each.identity === identity) each.upgrade(NEXT_RULES);
      });
    }
  }

  #newGrowth(random: Seeded): Growth {
    const plan = this.#plan;
    return new Growth({
      ...this.#parts,
      random,
      plan,
      machines: this.#machines,
      clients: this.#clients,
      trustRootOf: (version) => simulatedTrustRoot(plan, version),
    });
  }

  #newFaultInjector(random: Seeded): FaultInjector {
    const { world, trace, invariants, network } = this.#parts;
    return new FaultInjector(
      {
        world,
        random,
        trace,
        invariants,
        network,
        machines: this.#machines,
        writeThrough: (machine) => this.#clients.writeOnce(machine),
        writePlainEvent: (machine) => this.#clients.writePlainEvent(machine),
        writeTrustRoot: (machine) => this.#clients.writeTrustRoot(machine),
        readThrough: (machine) => this.#clients.read(machine, () => {}),
        makeClone: (original, images) => this.#makeClone(original, images),
        pauseMs: this.#random.pick([300, 1000, 2500]),
      },
      this.#faults.length > 0 ? this.#faults : ["kill"],
    );
  }

  async run(): Promise<void> {
    const { harmMs = HARM_MS } = this.#options;
    // Later machines come with the program that the founders may have by then.
    const founders = this.#machines.slice(0, this.#plan.founders);
    if (this.#beginsOld) for (const machine of founders) machine.ruleTable = RELEASE_RULES;
    for (const machine of this.#machines) machine.start();
    await this.#until(() => this.#isBorn(), "theClusterIsBorn", BIRTH_MAX_MS);
    await this.#keyIsKnown();
    if (this.invariants.broken !== null) return;
    this.#clients.start();
    this.#faultInjector.start();
    this.#growth?.start();
    this.#upgradeMachines(harmMs);
    // The last writes fall into the last faults.
    const quietMs = this.#random.pick([0, 0, 700]);
    await this.#runFor(harmMs - quietMs);
    this.#clients.stop();
    await this.#runFor(quietMs);
    this.#trace.note("calm", "faults end");
    this.#growth?.endStrikes();
    this.#faultInjector.end();
    await this.#runFor(4000);
    await this.#converges();
    if (this.#lastHolder === null) await this.#servesAgain();
    const whole = this.#lastHolder === null ? this.#serving() : [this.#lastHolder];
    await this.#until(() => areTablesWritten(whole), "theClusterConvergesWhenFaultsEnd", TABLES_MAX_MS);
    for (const machine of whole) this.invariants.acknowledgedAnchorsSurvive(machine.name);
    this.invariants.whatWasRefusedIsNotAnchored(this.#clients.refused());
  }

  close(): void {
    for (const machine of [...this.#machines, ...this.#clones]) machine.kill();
  }

  result(): LifeResult {
    const { invariants } = this;
    return {
      seed: this.#options.seed,
      broken: invariants.broken,
      traceHash: this.#trace.hash,
      newestLines: this.#trace.newest(60),
      simulatedMs: this.#world.nowMs,
      happenings: this.#world.happened,
      entries: invariants.entriesCommitted,
      acknowledged: invariants.anchorsAcknowledged,
      nodes: this.#machines.length,
      witnesses: this.#plan.witnesses ?? 0,
      witnessLines: this.#witnesses.lines(),
      faults: this.#faults,
      counts: this.#clients.counts,
      rejections: this.#clients.rejections,
      lastHolder: this.#lastHolder?.name ?? null,
    };
  }

  #machineNamed(name: string): SimulatedMachine {
    const found = [...this.#machines, ...this.#clones].find((machine) => machine.name === name);
    if (found === undefined) throw new Error(`no machine ${name}`);
    return found;
  }

  #makeClone(original: SimulatedMachine, images: DiskImages): SimulatedMachine {
    const position = this.#machines.length + this.#clones.length;
    const name = `${original.identity.nodeId}-clone`;
    const clone = new SimulatedMachine(name, original.identity, position, this.#parts);
    clone.ruleTable = original.ruleTable;
    clone.database.restore(images.database);
    clone.volume.restore(images.volume);
    clone.excuse = "clone";
    this.#clones.push(clone);
    return clone;
  }

  #networkWatcher(): ConstructorParameters<typeof SimulatedNetwork>[0]["watcher"] {
    const trace = this.#trace;
    return {
      onSent: (from, machine, _to, frame) => {
        if (frame.type === "raft") this.invariants.onMessage(from, machine, decodeMessage(frame.message));
        else if (frame.type === "cosignatures") {
          for (const item of frame.items) this.invariants.onCosignature(from, machine, item);
        }
      },
      onDelivered: (from, to, frame, bytes) => {
        trace.mix(`${from}${to}${frame.type}`);
        trace.mixBytes(bytes);
      },
      onHelloRefused: (from, to, { code, detail }) => trace.note("hello_refused", from, to, code, detail),
    };
  }

  async #runFor(ms: number): Promise<void> {
    await this.#world.runUntil(this.#world.nowMs + ms, () => this.invariants.broken !== null);
  }

  async #until(condition: () => boolean, sentence: string, limitMs: number, why?: () => string): Promise<void> {
    const untilMs = this.#world.nowMs + limitMs;
    while (this.#world.nowMs < untilMs && this.invariants.broken === null) {
      if (condition()) return;
      await this.#runFor(STEP_MS);
    }
    if (!condition()) this.invariants.fail(sentence, `not within ${limitMs} simulated ms: ${why?.() ?? ""}`);
  }

  #isBorn(): boolean {
    const founders = this.#machines.slice(0, this.#plan.founders);
    return founders.every(({ node }) => (node?.session?.state.trustRootChain ?? null) !== null);
  }

  async #keyIsKnown(): Promise<void> {
    const [machine] = this.#machines;
    if (machine === undefined || this.invariants.broken !== null) return;
    const made = { command: CREATE_FIRST_KEY, isIdempotent: true, forbidden: null, contents: [] };
    let isDone = false;
    this.#clients.write(operationOf("key", made), machine, 0, (done) => (isDone = done));
    await this.#until(() => isDone, "theClusterIsBorn", BIRTH_MAX_MS);
  }

  /** Machines that may be expected to take part. */
  #serving(): readonly SimulatedMachine[] {
    return this.#machines.filter(
      ({ stopped, name, excuse, isBurnt }) =>
        stopped === null && excuse !== RETIRED && !isBurnt && !this.#isReplacedByClone(name),
    );
  }

  /** Machines that do not come back, nor does a copy of them. */
  #lost(): readonly SimulatedMachine[] {
    const serving = new Set(this.#serving());
    return this.#machines.filter((machine) => !serving.has(machine) && !this.#isReplacedByClone(machine.name));
  }

  /** Whether the group can do without the node that this version takes from it, if it takes one. */
  #mayPropose(version: number): boolean {
    if (this.#growth !== null) return this.#growth.isDone && version > lastVersionOf(this.#plan);
    const [, , , , last] = this.#machines;
    return version !== RETIRING_VERSION || last === undefined || this.#faultInjector.retire(last);
  }

  /** Either a node or its clone may be the one that goes on. */
  #isReplacedByClone(name: string): boolean {
    return this.#clones.some((clone) => clone.identity.nodeId === name);
  }

  /** Within its time after the last pause in which a follower does not follow a leader that decided no write of it. */
  async #converges(): Promise<void> {
    const hasAll = (): boolean => this.#growth?.isDone !== false && hasConverged(this.#serving());
    let [leftMs, abandonedLeftMs] = [CONVERGE_MAX_MS, ABANDONED_MAX_MS];
    while (!hasAll() && this.invariants.broken === null) {
      if (leftMs <= 0) {
        this.#lastHolder = lastHolder(this.#serving(), this.#lost());
        if (this.#lastHolder !== null) return;
        const detail = `not within ${CONVERGE_MAX_MS} simulated ms: ${lagOf(this.#serving())}`;
        this.invariants.fail("theClusterConvergesWhenFaultsEnd", detail);
        return;
      }
      // What a leader refused while faults struck, a follower that knows less may hold against it a little later.
      if (abandonedLeftMs > 0 && isLeaderAbandoned(this.#serving())) abandonedLeftMs -= STEP_MS;
      else leftMs -= STEP_MS;
      await this.#runFor(STEP_MS);
    }
  }

  async #servesAgain(): Promise<void> {
    await this.#everyNodeServesAgain();
    await this.#aReconnectedFollowerIsHeard();
    await this.#whatIsErasedLeavesTheLogs();
    await this.#converges();
  }

  /** A write through each node, and a read of it through each. */
  async #everyNodeServesAgain(): Promise<void> {
    for (const machine of this.#serving()) {
      if (this.invariants.broken !== null) return;
      const operation = this.#clients.lastWord(machine.name);
      let isDone = false;
      this.#clients.write(operation, machine, 0, (done) => (isDone = done));
      await this.#until(
        () => isDone,
        "everyNodeServesAgain",
        CONVERGE_MAX_MS,
        () => lagOf(this.#serving()),
      );
    }
    for (const machine of this.#serving()) {
      let isDone = false;
      this.#clients.read(machine, () => (isDone = true));
      await this.#until(() => isDone, "everyNodeServesAgain", CONVERGE_MAX_MS);
    }
  }

  /** A connection breaks off while nothing is written: by heartbeats alone the leader knows again what was received. */
  async #aReconnectedFollowerIsHeard(): Promise<void> {
    const leader = this.#serving().find(({ node }) => node?.session?.isLeader() === true);
    const follower = this.#serving().find(({ name }) => name !== leader?.name);
    if (leader === undefined || follower === undefined || this.invariants.broken !== null) return;
    this.#network.reset(leader.name, follower.name);
    await this.#runFor(1);
    const ends = [leader, follower].map(({ node, name }) => ({
      node,
      other: name === leader.name ? follower : leader,
    }));
    const isWhole = (): boolean => ends.every(({ node, other }) => node?.network?.isConnected(other.name) === true);
    await this.#until(isWhole, "everyNodeServesAgain", CONVERGE_MAX_MS);
    await this.#runFor(HEARD_MAX_MS);
    const progress = leader.rawNode?.status().progress.get(follower.identity.raftId);
    if (leader.node?.session?.isLeader() !== true || progress === undefined || progress.state !== "probe") return;
    this.invariants.fail("aReconnectedFollowerIsHeard", `${leader.name} still probes ${follower.name}`);
  }

  async #whatIsErasedLeavesTheLogs(): Promise<void> {
    const left = (): string =>
      this.#serving()
        .flatMap(({ name }) => this.invariants.erasedAnchorsIn(name).map((id) => `${id} on ${name}`))
        .join();
    await this.#until(() => left() === "", "whatIsErasedLeavesTheLogs", FORGET_MAX_MS, left);
  }
}
