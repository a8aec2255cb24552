/** A cluster of simulated machines, without faults but those that a test scripts; the clock is the test's. */
import type { HelloRefusal, PeerFrame } from "@event-anchoring/control-contract";
import type { NodeIdentity, WitnessTransport } from "@event-anchoring/control-plane";
import { type Command, type EntryDecision, LIMITS } from "@event-anchoring/ledger";
import type { TestActs } from "@event-anchoring/testkit/records";
import { type ConfState, RaftEngine, decodeMessage } from "raft-ts";
import type { DatabaseImage } from "../disks/database-image.ts";
import { SimulatedSnapshots } from "../disks/simulated-snapshots.ts";
import type { Lie } from "../lies/lie.ts";
import { Invariants, type InvariantsOptions } from "../machine/invariants.ts";
import type { LifeParts } from "../machine/simulated-machine.ts";
import { SimulatedNetwork } from "../network/simulated-network.ts";
import { NO_BUGS } from "../planted/planted-bugs.ts";
import { LifeTrace } from "../world/life-trace.ts";
import { Seeded } from "../world/seeded.ts";
import { WORLD_START_MS } from "../world/simulated-process.ts";
import { QuietMachine, type NodeSession } from "./quiet-machine.ts";
import { QuietTime } from "./quiet-time.ts";

type Submission = Parameters<NodeSession["submit"]>[0];
type SubmissionResult = Parameters<Submission["respond"]>[0];
type ReadRequest = Parameters<NodeSession["read"]>[0];
type ReadAnswer = Parameters<ReadRequest["respond"]>[0];

export interface SentFrame {
  readonly from: string;
  readonly to: string;
  readonly frame: PeerFrame;
}

export interface RefusedHello {
  readonly from: string;
  readonly to: string;
  readonly refusal: HelloRefusal;
}

export interface QuietClusterOptions {
  /** Nodes of trust-root version 1. They are started at once. */
  readonly founders: readonly NodeIdentity[];
  /** Names of nodes that may be added later: the settings of every machine name them. */
  readonly expected: readonly string[];
  /** What the operator of the cluster signs. */
  readonly acts: TestActs;
}

const SEED = 1;

export class QuietCluster {
  readonly time = new QuietTime(() => this.#assertUnbroken());
  readonly acts: TestActs;
  nodes: readonly QuietMachine[] = [];
  readonly sent: SentFrame[] = [];
  readonly refusals: RefusedHello[] = [];
  /** After how many ms each copy of a frame arrives; null: as in a network to which nothing happens. */
  link: ((sent: SentFrame) => readonly number[] | null) | null = null;
  /** The way to the witnesses that a trust root lists; null: none answers. */
  witnesses: WitnessTransport | null = null;
  /** A member that lies; null: nobody does. */
  liar: { readonly nodeId: string; readonly lie: Lie } | null = null;
  /** Whether what the simulator says is always true must hold: not where a test makes a node lie, or forget. */
  watches = true;
  readonly #trace: LifeTrace;
  readonly #network: SimulatedNetwork;
  readonly #parts: LifeParts;
  readonly #cut = new Set<string>();

  private constructor({ founders, expected, acts }: QuietClusterOptions, engine: RaftEngine) {
    const { world } = this.time;
    this.acts = acts;
    this.#trace = new LifeTrace(() => world.nowMs, null);
    this.#network = this.#makeNetwork();
    this.#parts = {
      world,
      nodeIds: [...new Set([...founders.map(({ nodeId }) => nodeId), ...expected])],
      trace: this.#trace,
      invariants: this.#makeInvariants(founders),
      network: this.#network,
      snapshots: new SimulatedSnapshots(new Seeded(SEED, 3), NO_BUGS),
      engine,
      bugs: NO_BUGS,
      seed: SEED,
      logEntriesKept: 1_000_000,
      logBytesKept: 2 ** 40,
      groupIdEntriesKept: LIMITS.groupIdEntriesKept,
      lieOf: (machine) => (machine === this.liar?.nodeId ? this.liar.lie : null),
      witnessTransportOf: () => (request) =>
        this.witnesses === null ? Promise.reject(new Error("no answer")) : this.witnesses(request),
      verdictsMs: 0,
      installsMs: 0,
    };
    for (const identity of founders) this.#install(identity).start();
  }

  /** With the same identities every cluster lives the same life, as long as the same is asked of it. */
  static async of(options: QuietClusterOptions): Promise<QuietCluster> {
    return new QuietCluster(options, await RaftEngine.load({ nowMs: () => WORLD_START_MS }));
  }

  /** One more machine, which knows the others, and has begun. @param image what its database begins with */
  async add(identity: NodeIdentity, image: DatabaseImage | null = null): Promise<QuietMachine> {
    const machine = this.#install(identity);
    if (image !== null) machine.database.restore(image);
    await this.start(machine);
    return machine;
  }

  node(nodeId: string): QuietMachine {
    const found = this.nodes.find((node) => node.nodeId === nodeId);
    if (found === undefined) throw new Error(`no node ${nodeId}`);
    return found;
  }

  /** Starts, or starts again: what was not durable is gone. Resolves when it has begun, or has stopped for good. */
  async start(node: QuietMachine): Promise<void> {
    node.start();
    await this.until(() => node.session !== null || node.stopped !== null, `${node.name} begins`);
  }

  /** kill -9: memory is gone, disks stay. */
  crash(node: QuietMachine): void {
    node.kill();
  }

  /** Nothing passes between these nodes and any other. */
  cut(...nodeIds: readonly string[]): void {
    for (const nodeId of nodeIds) {
      this.#cut.add(nodeId);
      for (const other of this.#parts.nodeIds) {
        if (other === nodeId) continue;
        this.#network.link(nodeId, other).isCut = true;
        this.#network.link(other, nodeId).isCut = true;
      }
    }
  }

  heal(): void {
    this.#cut.clear();
    this.#network.heal();
  }

  async until(condition: () => boolean, what: string, limitMs = 30_000): Promise<void> {
    for (let waitedMs = 0; waitedMs < limitMs; waitedMs += 10) {
      if (condition()) return;
      await this.time.advance(10);
    }
    throw new Error([`not within ${limitMs} ms: ${what}`, ...this.#trace.newest(30)].join("\n"));
  }

  /** Who leads, and is not cut off. */
  leader(): QuietMachine | null {
    const leaders = this.nodes.filter(({ session }) => session?.isLeader() === true);
    return leaders.find(({ nodeId }) => !this.#cut.has(nodeId)) ?? null;
  }

  submit(node: QuietMachine, command: Command, timeoutMs = 5000): Promise<SubmissionResult> {
    const deadlineMs = this.time.clock.monotonicMs() + timeoutMs;
    return new Promise((respond) => {
      node.live().submit({ command, answer: "certified", deadlineMs, respond });
    });
  }

  read(node: QuietMachine, origins: ReadRequest["origins"], timeoutMs = 5000): Promise<ReadAnswer> {
    const deadlineMs = this.time.clock.monotonicMs() + timeoutMs;
    return new Promise((respond) => {
      node.live().read({ origins, deadlineMs, respond });
    });
  }

  #install(identity: NodeIdentity): QuietMachine {
    const machine = new QuietMachine(identity, this.nodes.length, this.#parts);
    this.nodes = [...this.nodes, machine];
    return machine;
  }

  #makeNetwork(): SimulatedNetwork {
    return new SimulatedNetwork({
      world: this.time.world,
      random: new Seeded(SEED, 2),
      bugs: NO_BUGS,
      watcher: {
        onSent: (from, machine, to, frame) => {
          this.sent.push({ from, to, frame });
          const { invariants } = this.#parts;
          if (frame.type === "raft") invariants.onMessage(from, machine, decodeMessage(frame.message));
          else if (frame.type === "cosignatures") {
            for (const item of frame.items) invariants.onCosignature(from, machine, item);
          }
        },
        onDelivered: () => {},
        onHelloRefused: (from, to, refusal) => {
          this.refusals.push({ from, to, refusal });
          this.#trace.note("hello refused", from, to, refusal.code, refusal.detail);
        },
      },
      delaysOf: (from, to, frame) => this.link?.({ from, to, frame }) ?? null,
    });
  }

  #makeInvariants(founders: readonly NodeIdentity[]): Invariants {
    const bitOfVoter = (raftId: bigint): number => {
      const known = founders.concat(this.nodes.slice(founders.length).map(({ identity }) => identity));
      const position = known.findIndex((identity) => identity.raftId === raftId);
      return position < 0 ? 0 : 1 << position;
    };
    return new QuietInvariants(
      {
        nowMs: () => this.time.world.nowMs,
        rootOf: () => {
          throw new Error("no head is shown to a client here");
        },
        disksOf: (machine) => this.node(machine),
        bitOf: (machine) => bitOfVoter(this.node(machine).identity.raftId),
        bitOfVoter,
        voters: founders.map(({ raftId }) => raftId).toSorted((left, right) => (left < right ? -1 : 1)),
      },
      (machine, decision) => this.node(machine).onDecided?.(decision),
    );
  }

  #assertUnbroken(): void {
    const { broken } = this.#parts.invariants;
    if (broken === null || !this.watches) return;
    throw new Error([`${broken.sentence}: ${broken.detail}`, ...this.#trace.newest(30)].join("\n"));
  }
}

/** What is always true, but that tests may anchor one content in several origins; and who waits for a decision. */
class QuietInvariants extends Invariants {
  readonly #hear: (machine: string, decision: EntryDecision) => void;

  constructor(options: InvariantsOptions, hear: (machine: string, decision: EntryDecision) => void) {
    super(options);
    this.#hear = hear;
  }

  override onDecided(machine: string, decision: EntryDecision, confState: ConfState | null): void {
    this.#hear(machine, decision);
    super.onDecided(machine, decision, confState);
  }

  override nothingIsAnchoredTwice(): void {}
}
