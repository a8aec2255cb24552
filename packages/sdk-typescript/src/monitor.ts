import { bytesToHex } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import type { ConsistencyAnswer, LatestAnchor } from "./answers.ts";
import type { Client } from "./client.ts";
import { ApiProblem, NotFound, Rollback, SplitView, VerificationError } from "./errors.ts";
import { bytes32 } from "./inputs.ts";
import type { Bytes32 } from "./inputs.ts";
import type { MonitorState, MonitorStore } from "./monitor-store.ts";
import { checkpointIn } from "./signed-note.ts";
import { verifyCheckpoint, verifyConsistency } from "./verify-checkpoint.ts";
import type { VerifiedCheckpoint } from "./verify-checkpoint.ts";
import { verifyTrustRoot } from "./verify-trust-root.ts";

/** What a Monitor asks. A Client is one. */
export type MonitoredService = Pick<Client, "trustRoot" | "latest" | "consistency">;

export interface MonitorOptions {
  readonly client: MonitoredService;
  readonly store: MonitorStore;
  /** RootTHK of any version, learnt by other means than from the service. */
  readonly pinnedRootThk: Bytes32;
}

/** What a run has seen of one origin. */
export interface ObservedOrigin {
  readonly originFingerprint: string;
  /** The newest checkpoint, verified, and consistent with the one before. */
  readonly checkpoint: VerifiedCheckpoint;
  /** Tree size of the one before; null: this is the first. */
  readonly previousTreeSize: number | null;
}

/**
 * Watches the logs of a cluster from outside: keeps the newest checkpoint of each origin and the highest trust root,
 * and throws when a later one does not go together with it. Call `update` from time to time.
 *
 * A single client can be shown a history of its own as long as nobody compares: run monitors in several places, or
 * compare what they keep.
 */
export class Monitor {
  readonly #client: MonitoredService;
  readonly #store: MonitorStore;
  readonly #pin: Uint8Array;

  /** @throws InvalidInput */
  constructor(options: MonitorOptions) {
    this.#client = options.client;
    this.#store = options.store;
    this.#pin = bytes32("pinnedRootThk", options.pinnedRootThk);
  }

  /**
   * Asks for the trust root and for the newest checkpoint of every origin that is not lost.
   * @throws Rollback a log or the trust root is older than what was seen; SplitView two states that exclude each other,
   *   with both as evidence in `result`; VerificationError; whatever the client throws. What was seen before stays kept
   */
  async update(): Promise<readonly ObservedOrigin[]> {
    const state = await this.#store.load();
    const trustRoot = await this.#trustRoot(state);
    const observed: ObservedOrigin[] = [];
    const checkpoints: Record<string, string> = { ...state?.checkpoints };
    for (const origin of trustRoot.newest.trustRoot.origins) {
      if (origin.status === "lost") continue;
      const seen = await this.#observe(bytesToHex(origin.originFingerprint), trustRoot, checkpoints);
      if (seen !== null) observed.push(seen);
    }
    await this.#store.save({ trustRoot: highestOf(trustRoot), checkpoints });
    return observed;
  }

  /** Holds an EEA that came some other way against what was seen, and keeps it if it is newer. @throws as `update` */
  async observe(latest: LatestAnchor): Promise<ObservedOrigin> {
    const state = await this.#store.load();
    const trustRoot = await this.#trustRoot(state);
    const checkpoints: Record<string, string> = { ...state?.checkpoints };
    const observed = await this.#judge(latest, trustRoot, checkpoints);
    await this.#store.save({ trustRoot: highestOf(trustRoot), checkpoints });
    return observed;
  }

  async #trustRoot(state: MonitorState | null): Promise<TrustRootChain> {
    const { chain } = await this.#client.trustRoot();
    return verifyTrustRoot({ documents: chain, pinnedRootThk: this.#pin, highestSeen: state?.trustRoot });
  }

  /** null: the origin has no anchor yet. */
  async #observe(
    originFingerprint: string,
    trustRoot: TrustRootChain,
    checkpoints: Record<string, string>,
  ): Promise<ObservedOrigin | null> {
    const held = checkpoints[originFingerprint];
    const fromSize = held === undefined ? undefined : headOf(held).treeSize;
    const latest = await this.#latest(originFingerprint, fromSize, held);
    if (latest === null) return null;
    return this.#judge(latest, trustRoot, checkpoints, originFingerprint);
  }

  async #latest(
    originFingerprint: string,
    fromSize: number | undefined,
    held: string | undefined,
  ): Promise<LatestAnchor | null> {
    try {
      return await this.#client.latest({ originFingerprint, fromSize });
    } catch (error) {
      const result = { originFingerprint, held };
      if (error instanceof ApiProblem && error.code === "from_size_ahead") {
        throw new Rollback("rollback", `origin ${originFingerprint} has less than the ${fromSize} leaves seen`, {
          result,
        });
      }
      if (!(error instanceof NotFound) || error.code !== "no_anchor_yet") throw error;
      if (held === undefined) return null;
      throw new Rollback("rollback", `origin ${originFingerprint} is empty, ${fromSize} leaves were seen`, { result });
    }
  }

  async #judge(
    latest: LatestAnchor,
    trustRoot: TrustRootChain,
    checkpoints: Record<string, string>,
    wanted: string = latest.originFingerprint,
  ): Promise<ObservedOrigin> {
    const checkpoint = verifyCheckpoint(latest.checkpoint, trustRoot);
    if (checkpoint.originFingerprint !== wanted) {
      throw new VerificationError("origin_differs", `the checkpoint is not of origin ${wanted}`, { result: latest });
    }
    const held = checkpoints[wanted];
    if (held !== undefined) await this.#compare(wanted, held, latest, checkpoint);
    checkpoints[wanted] = latest.checkpoint;
    return {
      originFingerprint: wanted,
      checkpoint,
      previousTreeSize: held === undefined ? null : headOf(held).treeSize,
    };
  }

  /** What is kept was verified when it was new, so only the two trees are compared. */
  async #compare(wanted: string, held: string, latest: LatestAnchor, checkpoint: VerifiedCheckpoint): Promise<void> {
    const from = headOf(held);
    const result = { originFingerprint: wanted, held, latest: latest.checkpoint };
    if (checkpoint.treeSize < from.treeSize) {
      const message = `origin ${wanted} has ${checkpoint.treeSize} leaves, ${from.treeSize} were seen`;
      throw new Rollback("rollback", message, { result });
    }
    try {
      verifyConsistency(from, checkpoint, await this.#proof(from.treeSize, latest, checkpoint));
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error;
      throw new SplitView("split_view", `origin ${wanted}: ${error.message}`, { result, cause: error });
    }
  }

  async #proof(fromSize: number, latest: LatestAnchor, checkpoint: VerifiedCheckpoint): Promise<readonly Uint8Array[]> {
    if (fromSize === checkpoint.treeSize) return [];
    const { consistency, originFingerprint } = latest;
    if (consistency !== null && consistency.fromSize === fromSize) return consistency.proof;
    const answer: ConsistencyAnswer = await this.#client.consistency({
      originFingerprint,
      fromSize,
      toSize: checkpoint.treeSize,
    });
    return answer.proof;
  }
}

/** @throws VerificationError `monitor_state_malformed`: a damaged memory is never taken for an empty one */
function headOf(note: string): { readonly treeSize: number; readonly rootHash: Uint8Array } {
  const checkpoint = checkpointIn(note);
  if (checkpoint !== null) return checkpoint;
  throw new VerificationError("monitor_state_malformed", "a checkpoint that was kept is none");
}

function highestOf({ newest }: TrustRootChain): MonitorState["trustRoot"] {
  return { version: newest.trustRoot.version, rootThk: bytesToHex(newest.rootThk) };
}
