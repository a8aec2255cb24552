/** A cluster in one process, on a clock of its own, of which everything that is costly is counted. */
import type { PeerFrame } from "@event-anchoring/control-contract";
import type { QuietCluster, QuietMachine } from "@event-anchoring/simulator";
import { decodeMessage } from "raft-ts";
import { eventCommand } from "../../packages/control-plane/test/commands.ts";
import { answered, readyCluster } from "../../packages/control-plane/test/cluster-steps.ts";
import { StorageCalls } from "./storage-calls.ts";
import { WasmCalls } from "./wasm-calls.ts";

/** All nodes together, for each entry. */
export interface EntryCounts {
  readonly leaves: number;
  /** But heartbeats and clock readings, which no entry sends. */
  readonly frames: number;
  readonly wasmCalls: number;
  readonly appends: number;
  readonly applies: number;
  readonly factQueries: number;
  readonly promiseWrites: number;
}

/** Long enough that what happens every few seconds has its share. */
const IDLE_MS = 10_000;

type Totals = EntryCounts & { readonly entries: number };

const HEARTBEATS: ReadonlySet<string> = new Set(["MsgHeartbeat", "MsgHeartbeatResp"]);

export class CountedCluster {
  readonly #cluster: QuietCluster;
  readonly #wasm: WasmCalls;
  readonly #storage: StorageCalls;
  #seed = 0;

  private constructor(cluster: QuietCluster, wasm: WasmCalls, storage: StorageCalls) {
    this.#cluster = cluster;
    this.#wasm = wasm;
    this.#storage = storage;
  }

  static async start(): Promise<CountedCluster> {
    const [wasm, storage] = [new WasmCalls(), new StorageCalls()];
    try {
      return new CountedCluster(await readyCluster(), wasm, storage);
    } finally {
      wasm.end();
      storage.end();
    }
  }

  get leader(): QuietMachine {
    const leader = this.#cluster.leader();
    if (leader === null) throw new Error("nobody leads");
    return leader;
  }

  get nodes(): readonly QuietMachine[] {
    return this.#cluster.nodes;
  }

  /**
   * As many clients as there are nodes named, each with one write under way, so many times.
   * @param hasIds each event has an id of its client, which is looked up before it is decided
   */
  async write(clients: readonly QuietMachine[], times: number, hasIds = false): Promise<void> {
    for (let time = 0; time < times; time++) {
      const asked = clients.map((node) => {
        const seed = this.#seed++;
        const command = eventCommand(node.identity.originFingerprint, seed, hasIds ? `id ${seed}` : null);
        return this.#cluster.submit(node, command);
      });
      const answers = await Promise.all(asked.map((each) => answered(this.#cluster, each)));
      if (answers.some(({ kind }) => kind !== "decided")) throw new Error("a write was refused");
    }
  }

  /** What an entry costs during `run`, without what the same time costs an idle cluster. */
  async countsOf(run: () => Promise<void>): Promise<EntryCounts> {
    const { world } = this.#cluster.time;
    const idleFrom = this.#totals();
    const idleFromMs = world.nowMs;
    await this.#cluster.time.advance(IDLE_MS);
    const [from, fromMs] = [this.#totals(), world.nowMs];
    await run();
    const to = this.#totals();
    const idleShare = (world.nowMs - fromMs) / (fromMs - idleFromMs);
    const entries = to.entries - from.entries;
    const each = (what: keyof Totals): number =>
      (to[what] - from[what] - (from[what] - idleFrom[what]) * idleShare) / entries;
    return {
      leaves: each("leaves"),
      frames: each("frames"),
      wasmCalls: each("wasmCalls"),
      appends: each("appends"),
      applies: each("applies"),
      factQueries: each("factQueries"),
      promiseWrites: each("promiseWrites"),
    };
  }

  #totals(): Totals {
    const { state } = this.leader.live();
    const { appends, applies, factQueries } = this.#storage;
    return {
      entries: state.appliedIndex,
      leaves: [...state.origins.values()].reduce((sum, { tree }) => sum + tree.size, 0),
      frames: this.#cluster.sent.filter(({ frame }) => isOfEntries(frame)).length,
      wasmCalls: this.#wasm.count,
      appends,
      applies,
      factQueries,
      promiseWrites: this.nodes.reduce((sum, { saved }) => sum + saved.length, 0),
    };
  }
}

function isOfEntries(frame: PeerFrame): boolean {
  if (frame.type === "raft") return !HEARTBEATS.has(decodeMessage(frame.message).type);
  return frame.type !== "clock";
}
