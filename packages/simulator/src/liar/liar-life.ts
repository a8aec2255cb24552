import type { PeerFrame } from "@event-anchoring/control-contract";
import { type Command, LIMITS, encodeCommand } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  EMPTY_SEMANTIC_ANCHOR,
  type OriginFingerprint,
  bytesToHex,
  parseSignedTrustRoot,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import { RaftEngine } from "raft-ts";
import { GivingUp } from "./giving-up.ts";
import { CREATE_FIRST_KEY, KeyRing } from "../trust/key-ring.ts";
import { LiarJudge, LiarInvariants } from "./liar-judge.ts";
import { LIES, type LieName, NEEDS_A_STATE } from "../lies/all-lies.ts";
import type { LiarSelf, Lie } from "../lies/lie.ts";
import { type Bugs, NO_BUGS } from "../planted/planted-bugs.ts";
import { Seeded } from "../world/seeded.ts";
import { SimulatedActs } from "../trust/simulated-operator.ts";
import { simulatedIdentities, simulatedTrustRoot, trustRootThatLoses } from "../trust/simulated-ceremony.ts";
import { simulatedCrypto } from "../trust/simulated-crypto.ts";
import { SimulatedMachine } from "../machine/simulated-machine.ts";
import { SimulatedNetwork } from "../network/simulated-network.ts";
import { WORLD_START_MS } from "../world/simulated-process.ts";
import { SimulatedSnapshots } from "../disks/simulated-snapshots.ts";
import { LifeTrace, type TraceLine } from "../world/life-trace.ts";
import type { Broken, Invariants } from "../machine/invariants.ts";
import { World } from "../world/world.ts";

export interface LiarLifeOptions {
  readonly seed: number;
  readonly nodes: number;
  readonly quorum: number;
  readonly lie: LieName;
  readonly bugs?: Bugs;
  /** How long it lies, in simulated ms. Default 15,000. */
  readonly lieMs?: number;
  /**
   * After that the liar is gone for good, and the holders of the root keys give a forked origin up, if a majority still
   * runs: a node that was lied to may have halted.
   */
  readonly givesUp?: true;
  /** Clients go on writing for so long after the liar has gone, in simulated ms. Default 0. */
  readonly afterMs?: number;
  readonly onLine?: (line: TraceLine) => void;
}

export interface LiarLifeResult {
  readonly seed: number;
  readonly broken: Broken | null;
  readonly traceHash: string;
  readonly newestLines: readonly string[];
  readonly simulatedMs: number;
  readonly acknowledged: number;
  /** Writes acknowledged after the liar had gone. */
  readonly acknowledgedAfter: number;
  /** Sizes over which two roots were signed. */
  readonly contradicted: number;
  /** Whether a majority was left to give the forked origin up. */
  readonly wasGivenUp: boolean;
}

const BIRTH_MAX_MS = 10_000;
const LIE_MS = 15_000;
const TICK_MS = 100;
const END_MAX_MS = 20_000;
const WRITE_EVERY_MS = 150;
const WRITE_PATIENCE_MS = 3000;
/** A node that needs a state was down for this long, beside logs that keep so few entries. */
const SLEEP_MS = 3000;
const LOG_ENTRIES_KEPT = 20;

/** One life of a cluster of which one member lies: a function of its options. */
export async function liveBesideALiar(options: LiarLifeOptions): Promise<LiarLifeResult> {
  const engine = await RaftEngine.load({ nowMs: () => WORLD_START_MS });
  const life = new LiarLife(options, engine);
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

class LiarLife {
  readonly #options: LiarLifeOptions;
  readonly #world = new World();
  readonly #trace: LifeTrace;
  readonly #random: Seeded;
  readonly #network: SimulatedNetwork;
  readonly #machines: readonly SimulatedMachine[];
  readonly invariants: Invariants;
  readonly #judge: LiarJudge;
  #liar: SimulatedMachine | null = null;
  #lie: Lie | null = null;
  #requestId = 0;
  #isOver = false;
  #wasGivenUp = false;
  /** Acknowledged when the liar went; null: nothing was written after that. */
  #acknowledgedBeside: number | null = null;

  constructor(options: LiarLifeOptions, engine: RaftEngine) {
    const { seed, nodes, quorum, bugs = NO_BUGS } = options;
    this.#options = options;
    this.#random = new Seeded(seed);
    const world = this.#world;
    this.#trace = new LifeTrace(() => world.nowMs, options.onLine ?? null);
    const plan = { founders: nodes, nodes, isGivenUp: false, quorum };
    const identities = simulatedIdentities(plan);
    const { trustRoot } = parseSignedTrustRoot(simulatedTrustRoot(plan, 1), simulatedCrypto.sha256);
    const bits = new Map(identities.map(({ raftId }, at) => [raftId, 1 << at]));
    this.invariants = new LiarInvariants({
      nowMs: () => world.nowMs,
      rootOf: () => trustRoot,
      disksOf: (name) => this.#machineNamed(name),
      bitOf: (name) => 1 << identities.findIndex(({ nodeId }) => nodeId === name),
      bitOfVoter: (raftId) => bits.get(raftId) ?? 0,
      voters: identities.map(({ raftId }) => raftId).toSorted((left, right) => (left < right ? -1 : 1)),
    });
    const watcher = {
      onSent: () => {},
      onDelivered: (from: string, to: string, frame: PeerFrame, bytes: Uint8Array) => {
        this.#trace.mix(`${from}${to}${frame.type}`);
        this.#trace.mixBytes(bytes);
        this.#judge.onDelivered(from, to, frame);
      },
      onHelloRefused: () => {},
    };
    const needsState = NEEDS_A_STATE.has(options.lie);
    this.#network = new SimulatedNetwork({ world, random: new Seeded(seed, 2), bugs, watcher });
    const snapshots = new SimulatedSnapshots(new Seeded(seed, 3), bugs);
    this.#machines = identities.map(
      (identity, at) =>
        new SimulatedMachine(identity.nodeId, identity, at, {
          world,
          nodeIds: identities.map(({ nodeId }) => nodeId),
          trace: this.#trace,
          invariants: this.invariants,
          network: this.#network,
          snapshots,
          engine,
          bugs,
          seed,
          logEntriesKept: needsState ? LOG_ENTRIES_KEPT : 10_000,
          logBytesKept: 1024 * 1024 * 1024,
          groupIdEntriesKept: LIMITS.groupIdEntriesKept,
          verdictsMs: 0,
          installsMs: 0,
          lieOf: (name) => (name === this.#liar?.name ? this.#lie : null),
        }),
    );
    this.#judge = new LiarJudge({
      nowMs: () => world.nowMs,
      invariants: this.invariants,
      lie: options.lie,
      nodes,
      quorum,
      machines: this.#machines,
    });
  }

  async run(): Promise<void> {
    for (const machine of this.#machines) machine.start();
    await this.#until(() => this.#leader() !== null && this.#isBorn());
    const [first] = this.#machines;
    if (first === undefined) throw new Error("a cluster has nodes");
    this.#submit(first, new SimulatedActs(first.identity.clusterId).signed(CREATE_FIRST_KEY));
    await this.#until(() => this.#machines.every(({ node }) => node?.session?.state.apiKeys.size === 1));
    if (this.invariants.broken !== null) return;
    this.#beginToLie();
    this.#writeOn(0);
    const untilMs = this.#world.nowMs + (this.#options.lieMs ?? LIE_MS);
    while (this.#world.nowMs < untilMs && this.invariants.broken === null) {
      await this.#runFor(TICK_MS);
      this.#liar?.process?.turn(() => this.#lie?.onTick());
      this.#judge.judge();
    }
    this.#isOver = true;
    await this.#runFor(WRITE_PATIENCE_MS);
    // A node that a lying leader kept from the log catches up when another node leads.
    this.#liar?.kill();
    await this.#writeAfter();
    const endMs = this.#world.nowMs + END_MAX_MS;
    while (this.#world.nowMs < endMs && this.invariants.broken === null && !this.#judge.isAllHeld()) {
      await this.#runFor(TICK_MS);
    }
    this.#judge.judgeEnd();
    if (this.#options.givesUp === true && this.invariants.broken === null && this.#hasMajority()) await this.#giveUp();
  }

  async #writeAfter(): Promise<void> {
    const { afterMs = 0 } = this.#options;
    if (afterMs === 0) return;
    this.#acknowledgedBeside = this.#judge.acknowledged;
    this.#isOver = false;
    this.#writeOn(1_000_000);
    await this.#runFor(afterMs);
    this.#isOver = true;
    await this.#runFor(WRITE_PATIENCE_MS);
  }

  #hasMajority(): boolean {
    return this.#machines.filter(({ process }) => process !== null).length * 2 > this.#machines.length;
  }

  async #giveUp(): Promise<void> {
    this.#wasGivenUp = true;
    const [machine] = this.#judge.told;
    if (machine === undefined) throw new Error("somebody was told the truth");
    const { nodes, quorum } = this.#options;
    const givingUp = new GivingUp({
      invariants: this.invariants,
      machine,
      documentOf: (lost) => trustRootThatLoses({ founders: nodes, nodes, isGivenUp: false, quorum }, lost),
      eventFor: (origin, name) => eventOf(origin, name, new KeyRing(this.#random).first),
      until: (condition, limitMs) => this.#isMet(condition, limitMs),
    });
    await givingUp.run();
  }

  close(): void {
    for (const machine of this.#machines) machine.kill();
  }

  result(): LiarLifeResult {
    return {
      seed: this.#options.seed,
      broken: this.invariants.broken,
      traceHash: this.#trace.hash,
      newestLines: this.#trace.newest(60),
      simulatedMs: this.#world.nowMs,
      acknowledged: this.#judge.acknowledged,
      acknowledgedAfter: this.#judge.acknowledged - (this.#acknowledgedBeside ?? this.#judge.acknowledged),
      contradicted: this.#judge.contradicted,
      wasGivenUp: this.#wasGivenUp,
    };
  }

  #beginToLie(): void {
    const liar = this.#leader();
    if (liar === null) return;
    const others = this.#machines.filter((machine) => machine !== liar);
    const victim = this.#random.pick(others);
    this.#liar = liar;
    this.#judge.onLieBegins(liar, victim);
    this.#trace.note("lies", liar.name, this.#options.lie, victim.name);
    this.#lie = LIES[this.#options.lie](this.#selfOf(liar, others), victim.name);
    if (!NEEDS_A_STATE.has(this.#options.lie)) return;
    victim.kill();
    this.#world.after(SLEEP_MS, () => victim.start());
  }

  #selfOf(liar: SimulatedMachine, others: readonly SimulatedMachine[]): LiarSelf {
    return {
      ...liar.identity,
      others: others.map(({ name }) => name),
      raftIdOf: (nodeId) => this.#machineNamed(nodeId).identity.raftId,
      submit: (command) => this.#submit(liar, command),
      reconnect: () => this.#network.reset(liar.name, this.#random.pick(others).name),
    };
  }

  #machineNamed(name: string): SimulatedMachine {
    const found = this.#machines.find((machine) => machine.name === name);
    if (found === undefined) throw new Error(`no machine ${name}`);
    return found;
  }

  #leader(): SimulatedMachine | null {
    return this.#machines.find(({ node }) => node?.session?.isLeader() === true) ?? null;
  }

  #isBorn(): boolean {
    return this.#machines.every(({ node }) => (node?.session?.state.trustRootChain ?? null) !== null);
  }

  async #runFor(ms: number): Promise<void> {
    await this.#world.runUntil(this.#world.nowMs + ms, () => this.invariants.broken !== null);
  }

  async #until(condition: () => boolean): Promise<void> {
    if (await this.#isMet(condition, BIRTH_MAX_MS)) return;
    this.invariants.fail("theClusterIsBorn", `not within ${BIRTH_MAX_MS} simulated ms`);
  }

  async #isMet(condition: () => boolean, limitMs: number): Promise<boolean> {
    const untilMs = this.#world.nowMs + limitMs;
    while (!condition() && this.#world.nowMs < untilMs && this.invariants.broken === null) await this.#runFor(50);
    return condition();
  }

  /** Clients of honest nodes, one event after the other, and now and then two at a time into one origin. */
  #writeOn(at: number): void {
    if (this.#isOver) return;
    const { originFingerprint } = this.#random.pick(this.#machines).identity;
    for (const client of at % 5 === 0 ? ["left", "right"] : ["left"]) {
      const name = `${this.#options.seed} ${at} ${client}`;
      const command = eventOf(originFingerprint, name, new KeyRing(this.#random).first);
      this.#submit(this.#random.pick(this.#judge.honest), command);
    }
    this.#world.after(WRITE_EVERY_MS, () => this.#writeOn(at + 1));
  }

  #submit(machine: SimulatedMachine | undefined, command: Command): void {
    this.#requestId += 1;
    const bytes = encodeCommand(command);
    const request = { requestId: this.#requestId, remainingMs: WRITE_PATIENCE_MS, command: bytes, call: null };
    machine?.ask({ type: "submit", answer: "certified", ...request }, (response) => {
      if (response.type !== "submitted" || response.finality !== "certified") return;
      if (response.outcome.kind !== "records") return;
      for (const record of response.outcome.records) {
        if (record.status === "accepted") this.#onAcknowledged(machine, record.leaf, record.anchorId);
      }
    });
  }

  #onAcknowledged(machine: SimulatedMachine, leaf: Uint8Array, anchorId: Uint8Array): void {
    if (machine === this.#liar) return;
    this.#trace.note("certified", machine.name, bytesToHex(anchorId).slice(0, 8));
    this.#judge.onAcknowledged(machine, leaf, anchorId);
  }
}

function eventOf(originFingerprint: OriginFingerprint, name: string, credential: KeyRing["first"]): Command {
  const eventHash = nodeCrypto.sha256(utf8ToBytes(name));
  const event = {
    originFingerprint,
    eventHash,
    semanticAnchor: EMPTY_SEMANTIC_ANCHOR,
    clientEventId: null,
    clientEventSalt: null,
    actor: null,
  };
  return { kind: "record_events", credential, atomic: false, events: [event] };
}
