import type { NodeStatus } from "@event-anchoring/control-contract";
import { StoreError } from "@event-anchoring/store";
import { CachedValue } from "./cached-value.ts";
import { RefusedError } from "./ports.ts";
import type { Clock, ControlPlane } from "./ports.ts";
import type { AnchorReads } from "./reads-port.ts";
import type { StoppedReason } from "./stopped-node.ts";
import { within } from "./within.ts";

/** /healthz and /readyz are public: they cost the node at most one question of each kind in this time. */
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

export interface NodeProbeOptions {
  readonly controlPlane: ControlPlane;
  readonly reads: AnchorReads;
  readonly clock: Clock;
  /** What a control plane that has ended for good has left. */
  readonly stoppedReason: () => StoppedReason | null;
}

/** What this process can see of its node: the control plane and the database. Never throws for one that is missing. */
export class NodeProbe {
  readonly #controlPlane: ControlPlane;
  readonly #reads: AnchorReads;
  readonly #stoppedReason: () => StoppedReason | null;
  readonly #status: CachedValue<StatusAnswer>;
  readonly #storage: CachedValue<StorageAnswer>;

  constructor({ controlPlane, reads, clock, stoppedReason }: NodeProbeOptions) {
    this.#controlPlane = controlPlane;
    this.#reads = reads;
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
      return { isReachable: true, appliedIndex: (await this.#reads.origins()).appliedIndex };
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      return { isReachable: false, detail: storageDetail(error) };
    }
  }
}
