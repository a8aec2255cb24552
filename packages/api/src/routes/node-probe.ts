import type { NodeStatus } from "@event-anchoring/control-contract";
import { StoreError } from "@event-anchoring/store";
import type { Clock } from "@event-anchoring/telemetry";
import { RefusedError } from "../control-plane/control-plane.ts";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import type { StoppedReason } from "../control-plane/stopped-node.ts";
import type { OpenableReads } from "../reading/node-reads.ts";
import { within } from "../request/deadline.ts";

/** /healthz and /readyz are public: they cost the node at most one query of each kind in this time. */
const AGE_MS_MAX = 250;
/** /readyz fails within a second of its node being gone: cache and timeout together stay below it. */
const TIMEOUT_MS = 500;

export type StatusAnswer =
  | { readonly isReachable: true; readonly status: NodeStatus }
  /** `stopped`: why it will not come back by itself; null: it may. */
  | { readonly isReachable: false; readonly detail: string; readonly stopped: StoppedReason | null };

export type StorageAnswer =
  | { readonly isReachable: true; readonly appliedIndex: number }
  | { readonly isReachable: false; readonly detail: string };

/** Public: names of hosts, roles and tables stay in the log. */
function storageDetail(error: StoreError): string {
  if (error.code === "schema") return "the tables are not there yet, or not those this program was built for";
  if (error.code === "other_build") return "the tables were made by another build";
  return "the database does not answer this process";
}

/** The shared result of a query: one query at a time, and its result is valid for a while. */
class CachedValue<T> {
  readonly #ask: () => Promise<T>;
  readonly #ageMsMax: number;
  readonly #clock: Clock;
  #held: { readonly value: T; readonly atMs: number } | null = null;
  #asking: Promise<T> | null = null;

  /** @param ask its failures go to every waiter, and are not cached */
  constructor(ask: () => Promise<T>, ageMsMax: number, clock: Clock) {
    this.#ask = ask;
    this.#ageMsMax = ageMsMax;
    this.#clock = clock;
  }

  get(): Promise<T> {
    const held = this.#held;
    if (held !== null && this.#clock.monotonicMs() - held.atMs <= this.#ageMsMax) {
      return Promise.resolve(held.value);
    }
    this.#asking ??= this.#askOnce().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #askOnce(): Promise<T> {
    // The age counts from the query's start: later changes may not be in the result.
    const atMs = this.#clock.monotonicMs();
    const value = await this.#ask();
    this.#held = { value, atMs };
    return value;
  }
}

export interface NodeProbeOptions {
  readonly controlPlane: ControlPlane;
  /** Asked whether the database answers. */
  readonly reads: OpenableReads;
  /** Those of the requests: each finds the tables by itself, and a node is ready when all have. */
  readonly served: readonly OpenableReads[];
  readonly clock: Clock;
  /** Why the control plane has stopped for good; null: it has not, as far as is known. */
  readonly stoppedReason: () => StoppedReason | null;
}

/** What this process can see of its node: the control plane and the database. Never throws for one that is missing. */
export class NodeProbe {
  readonly #controlPlane: ControlPlane;
  readonly #reads: OpenableReads;
  readonly #served: readonly OpenableReads[];
  readonly #stoppedReason: () => StoppedReason | null;
  readonly #status: CachedValue<StatusAnswer>;
  readonly #storage: CachedValue<StorageAnswer>;

  constructor({ controlPlane, reads, served, clock, stoppedReason }: NodeProbeOptions) {
    this.#controlPlane = controlPlane;
    this.#reads = reads;
    this.#served = served;
    this.#stoppedReason = stoppedReason;
    this.#status = new CachedValue(() => this.#askStatus(), AGE_MS_MAX, clock);
    const late: StorageAnswer = { isReachable: false, detail: `no answer within ${TIMEOUT_MS} ms` };
    this.#storage = new CachedValue(() => within(this.#askStorage(), TIMEOUT_MS, late), AGE_MS_MAX, clock);
  }

  /** At most 250 ms old. */
  status(): Promise<StatusAnswer> {
    return this.#status.get();
  }

  /** At most 250 ms old. */
  storage(): Promise<StorageAnswer> {
    return this.#storage.get();
  }

  async #askStatus(): Promise<StatusAnswer> {
    try {
      return { isReachable: true, status: await this.#controlPlane.status(TIMEOUT_MS) };
    } catch (error) {
      if (error instanceof RefusedError) {
        return { isReachable: false, detail: error.message, stopped: this.#stoppedReason() };
      }
      throw error;
    }
  }

  async #askStorage(): Promise<StorageAnswer> {
    try {
      for (const reads of this.#served) await reads.opened();
      const { appliedIndex } = await (await this.#reads.opened()).origins();
      return { isReachable: true, appliedIndex };
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      return { isReachable: false, detail: storageDetail(error) };
    }
  }
}
