import {
  type ControlPlaneConfig,
  ControlPlaneNode,
  type Environment,
  type Machine,
  type NodeIdentity,
  type StopReason,
  type WitnessTransport,
  trustedRequests,
} from "@event-anchoring/control-plane";
import type { LocalRequest, LocalResponse } from "@event-anchoring/control-contract";
import { type RuleTable, decodeEntry } from "@event-anchoring/ledger";
import { equalBytes, tag } from "@event-anchoring/protocol";
import type { RaftEngine, RawNode } from "raft-ts";
import type { Bugs } from "../planted/planted-bugs.ts";
import { NEXT_RULES } from "@event-anchoring/testkit/records";
import { watchedEngine } from "../planted/planted-engine.ts";
import type { Lie } from "../lies/lie.ts";
import { lyingNetwork } from "../lies/lying-network.ts";
import { keepGroupIdsFor, plantInNode } from "../planted/planted-in-node.ts";
import { Seeded } from "../world/seeded.ts";
import { simulatedCrypto } from "../trust/simulated-crypto.ts";
import type { DatabaseImage } from "../disks/database-image.ts";
import { SimulatedDatabase } from "../disks/simulated-database.ts";
import type { SimulatedNetwork } from "../network/simulated-network.ts";
import { SimulatedProcess } from "../world/simulated-process.ts";
import type { SimulatedSnapshots, StateGiver } from "../disks/simulated-snapshots.ts";
import { SimulatedVolume, type VolumeImage } from "../disks/simulated-volume.ts";
import type { LifeTrace } from "../world/life-trace.ts";
import type { Invariants } from "./invariants.ts";
import { StateTakeovers } from "./state-takeovers.ts";
import type { World } from "../world/world.ts";

export interface LifeParts {
  readonly world: World;
  /** All nodes in the settings of a machine, members or not. */
  readonly nodeIds: readonly string[];
  readonly trace: LifeTrace;
  readonly invariants: Invariants;
  readonly network: SimulatedNetwork;
  readonly snapshots: SimulatedSnapshots;
  readonly engine: RaftEngine;
  readonly bugs: Bugs;
  readonly seed: number;
  readonly logEntriesKept: number;
  readonly logBytesKept: number;
  readonly groupIdEntriesKept: number;
  /** The lie that a machine tells; null: it is honest. */
  readonly lieOf?: (machine: string) => Lie | null;
  /** The way from a process to the witnesses; absent: there are none. */
  readonly witnessTransportOf?: (process: SimulatedProcess) => WitnessTransport;
  /** The verdicts of a job take this long at most; 0: no time. */
  readonly verdictsMs: number;
  /** The state of a peer is written within this time at most; 0: it takes no time. */
  readonly installsMs: number;
}

/** Both disks of a machine at one moment. */
export interface DiskImages {
  readonly database: DatabaseImage;
  readonly volume: VolumeImage;
}

interface Running {
  readonly process: SimulatedProcess;
  readonly node: ControlPlaneNode;
  readonly rawNodes: RawNode[];
  readonly handle: ReturnType<typeof trustedRequests>;
}

/** One machine: two disks that survive, and a process that does not. */
export class SimulatedMachine {
  readonly name: string;
  readonly identity: NodeIdentity;
  readonly database: SimulatedDatabase;
  readonly volume: SimulatedVolume;
  readonly #parts: LifeParts;
  readonly #position: number;
  readonly #takeovers: StateTakeovers;
  #running: Running | null = null;
  #starts = 0;
  #stopped: StopReason | null = null;
  /** Files of evidence on its promise volume. */
  evidence: ReadonlyMap<string, string> = new Map();
  wallOffsetMs = 0;
  /** Gives the verdicts of a job; null: they are true. */
  verify: Environment["verify"] | null = null;
  /** The rules that the next start's program can decide by. */
  ruleTable: RuleTable = NEXT_RULES;
  /** The fault that may spend its identity, or halt it; null: none. */
  excuse: string | null = null;
  #isBurnt = false;

  constructor(name: string, identity: NodeIdentity, position: number, parts: LifeParts) {
    this.name = name;
    this.identity = identity;
    this.#position = position;
    this.#parts = parts;
    const { world, bugs, seed, invariants } = parts;
    const random = new Seeded(seed, 1000 + position);
    this.database = new SimulatedDatabase({
      world,
      random,
      bugs,
      systemIdentifier: `system of ${name.slice(0, 1)}`,
      isFirst: position === 0,
      watcher: {
        onDurable: (entries, hardState) => invariants.onDurable(name, entries, hardState),
      },
    });
    this.volume = new SimulatedVolume({ world, random, bugs });
    this.#takeovers = new StateTakeovers({
      ...parts,
      name,
      database: this.database,
      random: new Seeded(seed, 2000 + position),
    });
  }

  get node(): ControlPlaneNode | null {
    return this.#running?.node ?? null;
  }

  get process(): SimulatedProcess | null {
    return this.#running?.process ?? null;
  }

  /** The engine's node of its newest session; null: it is not running. */
  get rawNode(): RawNode | null {
    return this.#running?.rawNodes.at(-1) ?? null;
  }

  /** How many sessions its process has had. */
  get sessions(): number {
    return this.#running?.rawNodes.length ?? 0;
  }

  get isRunning(): boolean {
    return this.#running !== null;
  }

  /** Fenced or halted: it is not started again by itself. */
  get stopped(): StopReason | null {
    return this.#stopped;
  }

  start(): void {
    if (this.#running !== null || this.#isBurnt) return;
    const { world, trace, seed, verdictsMs } = this.#parts;
    this.#starts += 1;
    this.#stopped = null;
    trace.note("start", this.name);
    const random = new Seeded(seed, 10_000 + this.#position * 100 + this.#starts);
    const process = new SimulatedProcess(world, () => this.wallOffsetMs);
    const crypto = wrongCrypto(this.#parts.bugs) ?? simulatedCrypto;
    const environment: Environment = {
      clock: process.clock,
      random,
      logger: this.#logger(),
      verify: (job) => {
        if (this.verify !== null) return this.verify(job);
        const verdicts = job.map((signed) => crypto.ed25519Verify(signed.publicKey, signed.message, signed.signature));
        if (verdictsMs === 0) return Promise.resolve(verdicts);
        return new Promise((resolve) => process.later(random.between(0, verdictsMs), () => resolve(verdicts)));
      },
    };
    const rawNodes: RawNode[] = [];
    const node: ControlPlaneNode = new ControlPlaneNode({
      environment,
      config: this.#config(),
      identity: this.identity,
      machine: this.#machine(process, rawNodes, () => node),
      ruleTable: this.ruleTable,
      onStopped: (stop) => this.#onStopped(stop),
    });
    const handle = trustedRequests({ clock: process.clock, node, metrics: async () => "" });
    const running: Running = { process, node, rawNodes, handle };
    this.#running = running;
    node.run().then(
      () => this.#onEnded(running),
      (error: unknown) => this.#parts.invariants.fail("noNodeDiesOfAnError", `${this.name}: ${String(error)}`),
    );
  }

  /** kill -9: the process is gone, the machine goes on. */
  kill(): void {
    this.#end("kill", (process) => {
      this.database.forgetProcess(process);
      this.volume.forgetProcess();
    });
  }

  /** The plug is pulled. */
  losePower(): void {
    this.#end("power_lost", () => {});
    this.database.losePower();
    this.volume.losePower();
  }

  /** It dies and never comes back, and nor do its disks. */
  burnDown(): void {
    this.#isBurnt = true;
    this.#end("burnt_down", () => {});
  }

  get isBurnt(): boolean {
    return this.#isBurnt;
  }

  /** SIGTERM. */
  stop(): void {
    const running = this.#running;
    if (running === null) return;
    this.#parts.trace.note("stop", this.name);
    running.process.turn(() => void running.node.stop());
  }

  /** Another program, from the next start on; what runs is restarted. */
  upgrade(ruleTable: RuleTable): void {
    this.ruleTable = ruleTable;
    if (this.#running === null) return;
    this.kill();
    this.start();
  }

  /** What the api process of this machine asks; no answer comes from a process that has gone. */
  ask(request: LocalRequest, respond: (response: LocalResponse) => void): void {
    const running = this.#running;
    if (running === null) return;
    running.process.turn(() => running.handle(request, respond, new AbortController().signal));
  }

  images(): DiskImages {
    return { database: this.database.image(), volume: this.volume.image() };
  }

  #end(kind: string, forget: (process: SimulatedProcess) => void): void {
    const running = this.#running;
    if (running === null) return;
    this.#running = null;
    this.#parts.trace.note(kind, this.name);
    running.process.kill();
    this.#parts.network.processGone(this.name);
    forget(running.process);
    for (const rawNode of running.rawNodes) rawNode.free();
  }

  #onStopped(stop: StopReason): void {
    const { trace, invariants } = this.#parts;
    this.#stopped = stop;
    trace.note("stopped", this.name, stop.reason, stop.code, stop.detail);
    if (this.excuse === null) {
      if (stop.code === "rules_unknown")
        invariants.fail("everyNodeKnowsTheRulesInForce", `${this.name}: ${stop.detail}`);
      invariants.fail("nobodyStopsWithoutACause", `${this.name} is ${stop.reason}: ${stop.code}: ${stop.detail}`);
    }
  }

  #onEnded(running: Running): void {
    if (this.#running !== running) return;
    this.#running = null;
    this.#parts.trace.note("ended", this.name);
    running.process.kill();
    this.#parts.network.processGone(this.name);
    for (const rawNode of running.rawNodes) rawNode.free();
  }

  #machine(process: SimulatedProcess, rawNodes: RawNode[], node: () => ControlPlaneNode): Machine {
    const { network, snapshots, engine, bugs, world, invariants } = this.#parts;
    let ticks: number[] = [];
    const watched = watchedEngine(engine, bugs, {
      onCreated: (rawNode) => {
        ticks = [];
        rawNodes.push(rawNode);
      },
      onTick: () => {
        ticks.push(world.nowMs);
        if (ticks.length <= 12) return;
        const before = ticks.shift() ?? 0;
        if (world.nowMs - before < 900)
          invariants.fail("missedTicksAreDropped", `${this.name} ticked 12 times in a second`);
      },
      nowMs: () => world.nowMs,
      onProposed: (payload) =>
        invariants.everyStampIsNearTheTruth(this.name, decodeEntry(payload, NEXT_RULES).acceptedMs),
      onChangeProposed: (entry, context) => invariants.onChangeProposed(entry, context),
      rowsCommitHint: () => this.database.rowsCommitHint,
      dropRowsAfter: (index) => this.database.dropRowsAfter(index),
    });
    const lieOf = (): Lie | null => this.#parts.lieOf?.(this.name) ?? null;
    return {
      crypto: wrongCrypto(bugs) ?? simulatedCrypto,
      promiseVolume: this.volume.openedBy(process),
      evidence: {
        load: async () => this.evidence,
        keep: async (name, text) => {
          this.evidence = new Map([...this.evidence, [name, text]]);
        },
      },
      openStorage: (onLost) => this.database.open(process, onLost),
      witnessTransport: this.#parts.witnessTransportOf?.(process) ?? noWitnesses,
      createNetwork: (options) => {
        const endpoint = lyingNetwork(options, lieOf, (heard) => network.endpoint(this.name, process, heard));
        const start = endpoint.start.bind(endpoint);
        endpoint.start = async () => {
          this.#watchDecisions(node());
          plantInNode(node(), bugs);
          keepGroupIdsFor(this.#parts.groupIdEntriesKept, node(), bugs);
          this.#takeovers.onSession();
          await start();
        };
        return endpoint;
      },
      loadEngine: async () => watched,
      openStateHold: async () => snapshots.hold(this.database),
      exportSnapshot: (point) => snapshots.export(this.#asGiver(), point, (state) => lieOf()?.onExport(state) ?? state),
      installSnapshot: (options) => this.#takeovers.install(process, options),
    };
  }

  #asGiver(): StateGiver {
    const [running, sessions] = [this.#running, this.sessions];
    return {
      name: this.name,
      lives: () => this.#running === running && this.sessions === sessions,
      compactedTo: () => this.database.compacted.index,
    };
  }

  /** Before an entry's waiters are answered: its rows reach the tables later. */
  #watchDecisions({ session }: ControlPlaneNode): void {
    if (session === null) return;
    const { tables } = session.consensus;
    const apply = tables.apply.bind(tables);
    tables.apply = (request) => {
      this.#parts.invariants.onDecided(this.name, request.decision, request.confState);
      return apply(request);
    };
  }

  #config(): ControlPlaneConfig {
    return {
      node_id: this.identity.nodeId,
      cluster_id: "",
      identity_dir: "",
      promise_file: "",
      run_dir: "",
      database_url: "",
      listen: { host: this.name, port: 1 },
      peers: this.#parts.nodeIds
        .filter((nodeId) => nodeId !== this.identity.nodeId)
        .map((nodeId) => ({ node_id: nodeId, host: nodeId, port: 1 })),
      api_socket: "",
      api_socket_mode: "0600",
      metrics: null,
      log_level: "warn",
      log_entries_kept: this.#parts.logEntriesKept,
      log_bytes_kept: this.#parts.logBytesKept,
      certificates_kept: 1000,
      rules_max: null,
      witness: null,
      scrub_rows_per_second: 0,
    };
  }

  #logger(): Environment["logger"] {
    const { trace } = this.#parts;
    const tell =
      (level: string) =>
      (event: string, fields: Record<string, unknown> = {}): void => {
        const told = Object.entries(fields).map(([name, value]) => `${name}=${String(value)}`);
        trace.note(level, this.name, event, ...told);
      };
    const quiet = (): void => {};
    const warns = tell("warns");
    const warn = (event: string, fields?: Record<string, unknown>): void => {
      if (event !== "root_sync_failed") warns(event, fields);
    };
    const errs = tell("errs");
    const error = (event: string, fields: Record<string, unknown> = {}): void => {
      errs(event, fields);
      if (event !== "peer_cut_off" || fields["offence"] !== "unreadable_entry") return;
      this.#parts.invariants.fail("whatALeaderAddsCanBeDecided", `${this.name}: ${String(fields["detail"])}`);
    };
    const leaderChanges = (event: string, fields?: Record<string, unknown>): void => {
      if (event === "leader_changed" || event.startsWith("snapshot")) tell("says")(event, fields);
    };
    return { debug: quiet, info: leaderChanges, warn, error };
  }
}

const noWitnesses: WitnessTransport = () => Promise.reject(new Error("no trust root here lists a witness"));

function wrongCrypto(bugs: Bugs): typeof simulatedCrypto | null {
  if (bugs.has("lines_not_verified")) return { ...simulatedCrypto, ed25519Verify: () => true };
  if (bugs.has("operator_signature_not_verified")) return trustingCrypto();
  return bugs.has("signer_not_checked") ? keyBlindCrypto() : null;
}

/** A planted bug: operators' signatures are not verified. */
function trustingCrypto(): typeof simulatedCrypto {
  const begin = tag("operator-act");
  return {
    sha256: simulatedCrypto.sha256,
    ed25519Verify: (publicKey, message, signature) =>
      equalBytes(message.subarray(0, begin.length), begin) ||
      simulatedCrypto.ed25519Verify(publicKey, message, signature),
  };
}

/** A planted bug: any key's signature is accepted. */
function keyBlindCrypto(): typeof simulatedCrypto {
  return {
    sha256: simulatedCrypto.sha256,
    ed25519Verify: (publicKey, message, signature) =>
      simulatedCrypto.ed25519Verify(publicKey, message, signature) ||
      simulatedCrypto.ed25519Verify(signature.subarray(0, 32), message, signature),
  };
}
