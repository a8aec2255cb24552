import type { PeerFrame } from "@event-anchoring/control-contract";
import { type Command, LIMITS } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  ContradictionError,
  EMPTY_SEMANTIC_ANCHOR,
  type OriginFingerprint,
  bytesToHex,
  decodeLeaf,
  parseSignedTrustRoot,
  utf8ToBytes,
  verifyContradiction,
} from "@event-anchoring/protocol";
import { RaftEngine } from "raft-ts";
import { GIVING_UP_SENTENCES, GivingUp } from "./giving-up.ts";
import { CREATE_FIRST_KEY, KeyRing } from "./key-ring.ts";
import { AnotherTree, ForgedLines, LateSecondTree, OtherEffects, SilentLeader, TwoTrees } from "./lies/other-lies.ts";
import { type LiarSelf, type Lie } from "./lies/lie.ts";
import { OtherBytes } from "./lies/other-bytes.ts";
import { type Bugs, NO_BUGS } from "./planted-bugs.ts";
import { Seeded } from "./seeded.ts";
import { SimulatedActs } from "./simulated-operator.ts";
import { simulatedIdentities, simulatedTrustRoot, trustRootThatLoses } from "./simulated-ceremony.ts";
import { simulatedCrypto } from "./simulated-crypto.ts";
import { SimulatedMachine } from "./simulated-machine.ts";
import { SimulatedNetwork } from "./simulated-network.ts";
import { WORLD_START_MS } from "./simulated-process.ts";
import { SimulatedSnapshots } from "./simulated-snapshots.ts";
import { Trace, type TraceLine } from "./trace.ts";
import { type Broken, Witness } from "./witness.ts";
import { World } from "./world.ts";

/** What the liar does; it leads when it begins. */
export const LIES = {
  other_bytes: (self: LiarSelf, victim: string): Lie => new OtherBytes(self, victim),
  two_trees: (self: LiarSelf, victim: string): Lie => new TwoTrees(self, victim),
  late_second_tree: (self: LiarSelf, victim: string): Lie => new LateSecondTree(self, victim),
  another_tree: (self: LiarSelf): Lie => new AnotherTree(self),
  other_effects: (): Lie => new OtherEffects(),
  forged_lines: (self: LiarSelf): Lie => new ForgedLines(self),
  silent_leader: (): Lie => new SilentLeader(),
} as const satisfies Readonly<Record<string, (self: LiarSelf, victim: string) => Lie>>;

export type LieName = keyof typeof LIES;

/** By which a lie is judged that gives one node another log than the others. */
const DECEIVES: ReadonlySet<LieName> = new Set(["other_bytes"]);

export interface LiarLifeOptions {
  readonly seed: number;
  readonly nodes: number;
  readonly quorum: number;
  readonly lie: LieName;
  readonly bugs?: Bugs;
  /** How long it lies, in simulated ms. Default 15,000. */
  readonly lieMs?: number;
  /** After that the liar is gone for good, and the holders of the root keys give a forked origin up. */
  readonly givesUp?: true;
  readonly onLine?: (line: TraceLine) => void;
}

export interface LiarLifeResult {
  readonly seed: number;
  readonly broken: Broken | null;
  readonly traceHash: string;
  readonly newestLines: readonly string[];
  readonly acknowledged: number;
  /** Sizes over which two roots were signed. */
  readonly contradicted: number;
}

const BIRTH_MAX_MS = 10_000;
const LIE_MS = 15_000;
const EVIDENCE_MAX_MS = 5000;
const WRITE_EVERY_MS = 150;
const WRITE_PATIENCE_MS = 3000;
/** Five seconds without a commit, elections, and room. */
const SILENCE_MAX_MS = 10_000;

/** One life of a cluster of which one member lies: a function of its options. */
export async function liveBesideALiar(options: LiarLifeOptions): Promise<LiarLifeResult> {
  const engine = await RaftEngine.load({ nowMs: () => WORLD_START_MS });
  const life = new LiarLife(options, engine);
  try {
    await life.run();
  } catch (error) {
    life.witness.fail("noNodeDiesOfAnError", error instanceof Error ? (error.stack ?? error.message) : String(error));
  } finally {
    life.close();
  }
  return life.result();
}

const SENTENCES: ReadonlySet<string> = new Set([
  "noNodeDiesOfAnError",
  "theClusterIsBorn",
  "theLiarGoesOnLying",
  "noHonestNodeIsFenced",
  "noHonestNodeHalts",
  "nothingAcknowledgedContradicts",
  "nothingAcknowledgedIsLost",
  "aContradictionIsInEvidence",
  "evidenceNamesTheLiarAlone",
  "aSilentLeaderIsAbandoned",
  ...GIVING_UP_SENTENCES,
]);

/** What is true of honest nodes alone is not asked where one lies to another. */
class LiarWitness extends Witness {
  override fail(sentence: string, detail: string): void {
    if (SENTENCES.has(sentence)) super.fail(sentence, detail);
  }
}

class LiarLife {
  readonly #options: LiarLifeOptions;
  readonly #world = new World();
  readonly #trace: Trace;
  readonly #random: Seeded;
  readonly #network: SimulatedNetwork;
  readonly #machines: readonly SimulatedMachine[];
  readonly witness: Witness;
  readonly #signed = new SignedRoots();
  /** By origin and depth. */
  readonly #acknowledged = new Map<string, string>();
  #liar: SimulatedMachine | null = null;
  #victim: SimulatedMachine | null = null;
  #lie: Lie | null = null;
  #lastAcknowledgedMs = 0;
  #requestId = 0;
  #isOver = false;

  constructor(options: LiarLifeOptions, engine: RaftEngine) {
    const { seed, nodes, quorum, bugs = NO_BUGS } = options;
    this.#options = options;
    this.#random = new Seeded(seed);
    const world = this.#world;
    this.#trace = new Trace(() => world.nowMs, options.onLine ?? null);
    const plan = { founders: nodes, nodes, isGivenUp: false, quorum };
    const identities = simulatedIdentities(plan);
    const { trustRoot } = parseSignedTrustRoot(simulatedTrustRoot(plan, 1), simulatedCrypto.sha256);
    const bits = new Map(identities.map(({ raftId }, at) => [raftId, 1 << at]));
    this.witness = new LiarWitness({
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
        if (this.#liar !== null && to !== this.#liar.name) this.#signed.note(from, frame, world.nowMs);
      },
      onHelloRefused: () => {},
    };
    this.#network = new SimulatedNetwork({ world, random: new Seeded(seed, 2), bugs, watcher });
    this.#machines = identities.map(
      (identity, at) =>
        new SimulatedMachine(identity.nodeId, identity, at, {
          world,
          nodeIds: identities.map(({ nodeId }) => nodeId),
          trace: this.#trace,
          witness: this.witness,
          network: this.#network,
          snapshots: new SimulatedSnapshots(new Seeded(seed, 3), bugs),
          engine,
          bugs,
          seed,
          logEntriesKept: 10_000,
          logBytesKept: 1024 * 1024 * 1024,
          groupIdEntriesKept: LIMITS.groupIdEntriesKept,
          verdictsMs: 0,
          lieOf: (name) => (name === this.#liar?.name ? this.#lie : null),
        }),
    );
  }

  async run(): Promise<void> {
    for (const machine of this.#machines) machine.start();
    await this.#until(() => this.#leader() !== null && this.#isBorn());
    const [first] = this.#machines;
    if (first === undefined) throw new Error("a cluster has nodes");
    this.#submit(first, new SimulatedActs(first.identity.clusterId).signed(CREATE_FIRST_KEY));
    await this.#until(() => this.#machines.every(({ node }) => node?.session?.state.apiKeys.size === 1));
    if (this.witness.broken !== null) return;
    this.#beginToLie();
    this.#lastAcknowledgedMs = this.#world.nowMs;
    this.#writeOn(0);
    const untilMs = this.#world.nowMs + (this.#options.lieMs ?? LIE_MS);
    while (this.#world.nowMs < untilMs && this.witness.broken === null) {
      await this.#runFor(100);
      this.#judge();
    }
    this.#isOver = true;
    await this.#runFor(WRITE_PATIENCE_MS);
    this.#nothingAcknowledgedIsLost();
    if (this.#options.givesUp === true && this.witness.broken === null) await this.#giveUp();
  }

  async #giveUp(): Promise<void> {
    const machine = this.#honest.find((honest) => honest !== this.#victim);
    if (machine === undefined) throw new Error("somebody was told the truth");
    this.#liar?.kill();
    const { nodes, quorum } = this.#options;
    const givingUp = new GivingUp({
      witness: this.witness,
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
      broken: this.witness.broken,
      traceHash: this.#trace.hash,
      newestLines: this.#trace.newest(60),
      acknowledged: this.#acknowledged.size,
      contradicted: this.#signed.contradicted.length,
    };
  }

  #beginToLie(): void {
    const liar = this.#leader();
    if (liar === null) return;
    const others = this.#machines.filter((machine) => machine !== liar);
    const victim = this.#random.pick(others);
    this.#liar = liar;
    this.#victim = DECEIVES.has(this.#options.lie) ? victim : null;
    const { nodeId, cosigner, trustRoot } = liar.identity;
    const self = { nodeId, cosigner, trustRoot, others: others.map(({ name }) => name) };
    this.#trace.note("lies", liar.name, this.#options.lie, victim.name);
    this.#lie = LIES[this.#options.lie](self, victim.name);
  }

  get #honest(): readonly SimulatedMachine[] {
    return this.#machines.filter((machine) => machine !== this.#liar);
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
    await this.#world.runUntil(this.#world.nowMs + ms, () => this.witness.broken !== null);
  }

  async #until(condition: () => boolean): Promise<void> {
    if (await this.#isMet(condition, BIRTH_MAX_MS)) return;
    this.witness.fail("theClusterIsBorn", `not within ${BIRTH_MAX_MS} simulated ms`);
  }

  async #isMet(condition: () => boolean, limitMs: number): Promise<boolean> {
    const untilMs = this.#world.nowMs + limitMs;
    while (!condition() && this.#world.nowMs < untilMs && this.witness.broken === null) await this.#runFor(50);
    return condition();
  }

  /** Clients of honest nodes, one event after the other. */
  #writeOn(at: number): void {
    if (this.#isOver) return;
    const machine = this.#random.pick(this.#honest);
    const { originFingerprint } = this.#random.pick(this.#machines).identity;
    this.#submit(machine, eventOf(originFingerprint, `${this.#options.seed} ${at}`, new KeyRing(this.#random).first));
    this.#world.after(WRITE_EVERY_MS, () => this.#writeOn(at + 1));
  }

  #submit(machine: SimulatedMachine | undefined, command: Command): void {
    this.#requestId += 1;
    const request = { requestId: this.#requestId, remainingMs: WRITE_PATIENCE_MS, command, call: null };
    machine?.ask({ type: "submit", answer: "certified", ...request }, (response) => {
      if (response.type !== "submitted" || response.finality !== "certified") return;
      if (response.outcome.kind !== "records") return;
      for (const record of response.outcome.records) {
        if (record.status === "accepted") this.#onAcknowledged(machine.name, record.leaf, record.anchorId);
      }
    });
  }

  #onAcknowledged(machine: string, leaf: Uint8Array, anchorId: Uint8Array): void {
    const { originFingerprint, depth } = decodeLeaf(leaf);
    const place = `${bytesToHex(originFingerprint)} ${depth}`;
    const known = this.#acknowledged.get(place);
    const id = bytesToHex(anchorId);
    this.#trace.note("certified", machine, place.slice(0, 4), depth, id.slice(0, 8));
    this.#lastAcknowledgedMs = this.#world.nowMs;
    if (known !== undefined && known !== id && this.#excludesOne()) {
      this.witness.fail(
        "nothingAcknowledgedContradicts",
        `depth ${depth} is ${known.slice(0, 8)} and ${id.slice(0, 8)}`,
      );
    }
    this.#acknowledged.set(place, id);
  }

  /** 2k − n ≥ f + 1, with one liar. */
  #excludesOne(): boolean {
    return 2 * this.#options.quorum - this.#options.nodes >= 2;
  }

  #judge(): void {
    const { name = "", stopped = null } = this.#liar ?? {};
    if (stopped !== null) this.witness.fail("theLiarGoesOnLying", `${name}: ${stopped.code}: ${stopped.detail}`);
    for (const { name, stopped } of this.#honest) {
      if (stopped?.reason === "fenced") this.witness.fail("noHonestNodeIsFenced", `${name}: ${stopped.detail}`);
      if (stopped?.reason === "halted" && name !== this.#victim?.name) {
        this.witness.fail("noHonestNodeHalts", `${name}: ${stopped.code}: ${stopped.detail}`);
      }
    }
    this.#evidenceIsEverywhere();
    const silentMs = this.#world.nowMs - this.#lastAcknowledgedMs;
    if (this.#options.lie === "silent_leader" && silentMs > SILENCE_MAX_MS) {
      this.witness.fail("aSilentLeaderIsAbandoned", `nothing was certified for ${silentMs} ms`);
    }
  }

  #evidenceIsEverywhere(): void {
    const dueMs = this.#world.nowMs - EVIDENCE_MAX_MS;
    const isDue = this.#signed.contradicted.some(({ sinceMs }) => sinceMs < dueMs);
    const isNamedDue = this.#signed.contradicted.some(({ sinceMs, byOne }) => byOne && sinceMs < dueMs);
    for (const machine of this.#honest) {
      if (machine.node?.session === null || machine.node === null) continue;
      const named = this.#namedBy(machine);
      if (isDue && machine.evidence.size === 0) {
        this.witness.fail("aContradictionIsInEvidence", `${machine.name} keeps nothing`);
      }
      if (isNamedDue && !named.includes(this.#liar?.name ?? "")) {
        this.witness.fail("aContradictionIsInEvidence", `${machine.name} does not name the liar`);
      }
      const wrong = named.find((name) => name !== this.#liar?.name);
      if (wrong !== undefined) this.witness.fail("evidenceNamesTheLiarAlone", `${machine.name} names ${wrong}`);
    }
  }

  /** By its files alone, as somebody reads them who knows the keys. */
  #namedBy({ evidence, identity, name }: SimulatedMachine): readonly string[] {
    return [...evidence.values()].flatMap((text) => {
      try {
        const { named } = verifyContradiction(text, [identity.trustRoot], simulatedCrypto);
        return named.map((vkey) => vkey.name.split("/").at(-1) ?? "");
      } catch (error) {
        if (!(error instanceof ContradictionError)) throw error;
        this.witness.fail("evidenceNamesTheLiarAlone", `${name} keeps what proves nothing: ${error.code}`);
        return [];
      }
    });
  }

  /** Where one liar is excluded: every honest node that was not lied to about the log has it. */
  #nothingAcknowledgedIsLost(): void {
    if (!this.#excludesOne()) return;
    for (const machine of this.#honest) {
      if (machine === this.#victim) continue;
      const held = new Set(
        machine.database.applied.flatMap(({ decision }) =>
          decision.writes.leaves.map(({ anchorId }) => bytesToHex(anchorId)),
        ),
      );
      for (const [place, anchorId] of this.#acknowledged) {
        if (!held.has(anchorId)) this.witness.fail("nothingAcknowledgedIsLost", `${machine.name} lacks ${place}`);
      }
    }
  }
}

/** Which roots were signed over each size, by whom, as far as honest nodes were told. */
class SignedRoots {
  readonly #roots = new Map<string, Map<string, Set<string>>>();
  readonly contradicted: { readonly sinceMs: number; readonly byOne: boolean }[] = [];

  note(from: string, frame: PeerFrame, nowMs: number): void {
    if (frame.type !== "cosignatures") return;
    for (const { originFingerprint, treeSize, rootHash } of frame.items) {
      const key = `${bytesToHex(originFingerprint)} ${treeSize}`;
      const roots = this.#roots.get(key) ?? new Map<string, Set<string>>();
      this.#roots.set(key, roots);
      const root = bytesToHex(rootHash);
      const signers = roots.get(root) ?? new Set<string>();
      if (signers.has(from)) continue;
      roots.set(root, signers.add(from));
      if (roots.size < 2) continue;
      const byOne = [...roots.values()].filter((each) => each.has(from)).length > 1;
      this.contradicted.push({ sinceMs: nowMs, byOne });
    }
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
