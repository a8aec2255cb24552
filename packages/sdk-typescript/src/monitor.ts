import { bytesToHex } from "@event-anchoring/protocol";
import type { Checkpoint, TrustRootChain } from "@event-anchoring/protocol";
import type { ConsistencyWithPin, LatestAnchor } from "./answers.ts";
import {
  AnchoringError,
  ApiProblem,
  ConnectionFailed,
  InvalidInput,
  RateLimited,
  Rollback,
  SplitView,
  TimedOut,
  Unavailable,
  UnexpectedAnswer,
  VerificationError,
} from "./errors.ts";
import { bytes32 } from "./inputs.ts";
import type { Bytes32 } from "./inputs.ts";
import { checkpointAlarm, rollbackAlarm, splitViewAlarm, trustRootAlarm } from "./monitor-alarm.ts";
import type { Alarm, Shown } from "./monitor-alarm.ts";
import type { MonitorState, MonitorStore } from "./monitor-store.ts";
import { checkpointIn } from "./signed-note.ts";
import { verifyCheckpoint, verifyConsistency } from "./verify-checkpoint.ts";
import type { VerifiedCheckpoint } from "./verify-checkpoint.ts";
import { extendTrustRoot, checkNotOlder, verifyTrustRoot } from "./verify-trust-root.ts";
import type { TrustRootDocument } from "./verify-trust-root.ts";

/** What a monitor watches of an EEA. */
export type WatchedLatest = Pick<LatestAnchor, "originFingerprint" | "checkpoint" | "consistency">;

/** What a Monitor asks. A Client is one. */
export interface MonitoredService {
  trustRoot(): Promise<{ readonly chain: readonly TrustRootDocument[] }>;
  /** @throws ApiProblem `no_anchor_yet`, `from_size_ahead` */
  latest(question: {
    readonly originFingerprint: string;
    readonly fromSize?: number | undefined;
  }): Promise<WatchedLatest>;
  consistency(question: {
    readonly originFingerprint: string;
    readonly fromSize: number;
    readonly toSize: number;
  }): Promise<Pick<ConsistencyWithPin, "proof">>;
  /** A signed note. */
  getCheckpoint(originFingerprint: string): Promise<string>;
}

/** How a monitor is made. One of `pinnedRootThk` and `trustRoot`. */
export interface MonitorOptions {
  /** One client for any node; or one for each node: then the nodes are also compared with one another. */
  readonly client: MonitoredService | readonly MonitoredService[];
  readonly store: MonitorStore;
  /** RootTHK of any version, learnt by other means than from the service. */
  readonly pinnedRootThk?: Bytes32 | undefined;
  /** From `verifyTrustRoot`: what the service shows has to continue it. */
  readonly trustRoot?: TrustRootChain | undefined;
  /** Whether to watch origins that the trust root marks `lost`, too. Default: false. */
  readonly watchesLost?: boolean | undefined;
}

/** What a run has seen of one origin. */
export interface ObservedOrigin {
  readonly originFingerprint: string;
  /** The newest checkpoint, verified, and consistent with the one before. */
  readonly checkpoint: VerifiedCheckpoint;
  /** Tree size of the one before; null: this is the first. */
  readonly previousTreeSize: number | null;
}

/** What is known of one origin after a look. */
export interface KnownOrigin extends Pick<ObservedOrigin, "originFingerprint" | "previousTreeSize"> {
  /** Leaves in the largest tree that was seen. */
  readonly treeSize: number;
  /** null: no node has shown one that goes together with what was seen. */
  readonly checkpoint: VerifiedCheckpoint | null;
}

/** What one look at all nodes has shown. */
export interface MonitorLook {
  /** Empty: every tree continues the one that was seen before. */
  readonly alarms: readonly Alarm[];
  /** Nodes that could not be asked: their places among the clients, and why. */
  readonly unanswered: readonly { readonly node: number; readonly error: AnchoringError }[];
  readonly origins: readonly KnownOrigin[];
  /** The highest that was seen; null: none yet. */
  readonly trustRootVersion: number | null;
}

/** A look that goes on: what is known, from any node. */
interface Sight {
  trustRoot: MonitorState["trustRoot"] | null;
  clusterId: string | null;
  readonly checkpoints: Map<string, string>;
  readonly observed: Map<string, VerifiedCheckpoint>;
  readonly alarms: Alarm[];
}

/**
 * Watches the logs of a cluster from outside: keeps the newest checkpoint of each origin and the highest trust root,
 * and raises an alarm when a later one does not go together with it. Call `update` or `look` from time to time.
 *
 * A single client can be shown a separate history as long as no one compares: run monitors in several places, or
 * compare what they keep.
 */
export class Monitor {
  readonly #nodes: readonly [MonitoredService, ...MonitoredService[]];
  readonly #store: MonitorStore;
  readonly #verify: (documents: readonly TrustRootDocument[]) => TrustRootChain;
  readonly #watchesLost: boolean;

  /** @throws InvalidInput */
  constructor({ client, store, pinnedRootThk, trustRoot, watchesLost = false }: MonitorOptions) {
    const [first, ...others] = [client].flat();
    if (first === undefined) throw new InvalidInput("client", "expected at least one");
    this.#nodes = [first, ...others];
    this.#store = store;
    this.#watchesLost = watchesLost;
    if ((pinnedRootThk === undefined) === (trustRoot === undefined)) {
      throw new InvalidInput("pinnedRootThk", "give it or trustRoot");
    }
    const pin = pinnedRootThk === undefined ? null : bytes32("pinnedRootThk", pinnedRootThk);
    this.#verify = (documents) => {
      if (trustRoot !== undefined) return extendTrustRoot(trustRoot, documents);
      return verifyTrustRoot({ documents, pinnedRootThk: pin ?? "" });
    };
  }

  /**
   * Asks for the trust root and for the newest checkpoint of every origin, and throws at the first alarm.
   * @throws Rollback a log or the trust root is older than what was seen; SplitView two states that exclude each other,
   *   with both as evidence in `result`; VerificationError; whatever a client throws if no node could be asked. What
   *   was seen before stays kept
   */
  async update(): Promise<readonly ObservedOrigin[]> {
    const { alarms, unanswered, origins } = await this.look();
    const isAnswered = unanswered.length < this.#nodes.length;
    const failure = alarms[0] ?? (isAnswered ? undefined : unanswered[0]);
    if (failure !== undefined) throw failure.error;
    return origins.flatMap(({ checkpoint, ...origin }) => (checkpoint === null ? [] : [{ ...origin, checkpoint }]));
  }

  /**
   * The same, with everything that there is to say: goes on after an alarm and after a node that cannot be asked. With
   * an alarm, what was seen before stays as it was, and the store is given the evidence.
   * @throws VerificationError for trust roots that are not of this cluster, or a memory that is not; whatever a client
   *   throws if it was refused
   */
  async look(): Promise<MonitorLook> {
    const before = await this.#store.load();
    const sight = sightOf(before);
    const unanswered: { readonly node: number; readonly error: AnchoringError }[] = [];
    for (const [node, service] of this.#nodes.entries()) {
      try {
        await this.#lookThrough(service, node, sight);
      } catch (error) {
        if (!isSilence(error)) throw error;
        unanswered.push({ node, error });
      }
    }
    const { alarms, checkpoints, observed, trustRoot } = sight;
    if (alarms.length === 0) await this.#save(sight);
    const evidence = alarms.flatMap((alarm) => alarm.evidence);
    if (evidence.length > 0) await this.#store.saveEvidence?.(evidence);
    const origins = [...checkpoints].map(([originFingerprint, note]) => ({
      originFingerprint,
      treeSize: headOf(note).treeSize,
      checkpoint: observed.get(originFingerprint) ?? null,
      previousTreeSize: sizeIn(before, originFingerprint),
    }));
    return { alarms, unanswered, origins, trustRootVersion: trustRoot?.version ?? null };
  }

  /** Holds an EEA that came some other way against what was seen, and keeps it if it is newer. @throws as `update` */
  async accept(latest: WatchedLatest): Promise<ObservedOrigin> {
    const before = await this.#store.load();
    const sight = sightOf(before);
    const { originFingerprint } = latest;
    const [service] = this.#nodes;
    const chain = await this.#trustRoot(service, 0, sight);
    if (chain !== null) await this.#judge({ service, node: 0, originFingerprint, chain, sight }, latest);
    const [alarm] = sight.alarms;
    if (alarm !== undefined) throw alarm.error;
    await this.#save(sight);
    const checkpoint = sight.observed.get(originFingerprint);
    if (checkpoint === undefined) throw new RangeError("what raised no alarm was observed");
    return { originFingerprint, checkpoint, previousTreeSize: sizeIn(before, originFingerprint) };
  }

  async #save({ clusterId, trustRoot, checkpoints }: Sight): Promise<void> {
    if (clusterId === null || trustRoot === null) return;
    await this.#store.save({ clusterId, trustRoot, checkpoints: Object.fromEntries(checkpoints) });
  }

  async #lookThrough(service: MonitoredService, node: number, sight: Sight): Promise<void> {
    const chain = await this.#trustRoot(service, node, sight);
    for (const origin of chain?.newest.trustRoot.origins ?? []) {
      if (chain === null || (origin.status === "lost" && !this.#watchesLost)) continue;
      const originFingerprint = bytesToHex(origin.originFingerprint);
      await this.#lookAt({ service, node, originFingerprint, chain, sight });
    }
  }

  /** null: it raises an alarm. @throws VerificationError */
  async #trustRoot(service: MonitoredService, node: number, sight: Sight): Promise<TrustRootChain | null> {
    const chain = this.#verify((await service.trustRoot()).chain);
    const { trustRoot, rootThk } = chain.newest;
    const clusterId = bytesToHex(trustRoot.clusterId);
    if (sight.clusterId !== null && sight.clusterId !== clusterId) {
      const message = `what was seen is of cluster ${sight.clusterId}, and the trust root is that of ${clusterId}`;
      throw new VerificationError("monitor_state_of_another_cluster", message);
    }
    try {
      if (sight.trustRoot !== null) checkNotOlder(chain, sight.trustRoot);
    } catch (error) {
      if (!(error instanceof Rollback || error instanceof SplitView)) throw error;
      sight.alarms.push(trustRootAlarm(node, trustRoot.version, error));
      return null;
    }
    sight.clusterId = clusterId;
    sight.trustRoot = { version: trustRoot.version, rootThk: bytesToHex(rootThk) };
    return chain;
  }

  async #lookAt(place: Place): Promise<void> {
    const { service, originFingerprint, sight } = place;
    const from = headIn(sight.checkpoints, originFingerprint);
    try {
      await this.#judge(place, await service.latest({ originFingerprint, fromSize: from?.treeSize }));
    } catch (error) {
      const alarm = await this.#alarmOf(error, place, from);
      if (alarm !== null) sight.alarms.push(alarm);
    }
  }

  /** Answers a question about the newest tree. null: there is none yet, and none was seen. @throws what is no alarm */
  async #alarmOf(error: unknown, place: Place, from: Checkpoint | null): Promise<Alarm | null> {
    if (error instanceof VerificationError) return checkpointAlarm(shownAt(place, null), error);
    if (!(error instanceof ApiProblem) || !SMALLER.has(error.code)) throw error;
    if (from === null && error.code === "no_anchor_yet") return null;
    if (from === null) throw error;
    const note = await checkpointOf(place.service, place.originFingerprint);
    const now = note === null ? null : (checkpointIn(note)?.treeSize ?? null);
    return rollbackAlarm(shownAt(place, note), from.treeSize, now);
  }

  /** Keeps what is shown, or raises an alarm. */
  async #judge(place: Place, latest: WatchedLatest): Promise<void> {
    const { originFingerprint, chain, sight } = place;
    const shown = shownAt(place, latest.checkpoint);
    const from = headIn(sight.checkpoints, originFingerprint);
    try {
      const to = verifyCheckpoint(latest.checkpoint, chain);
      if (to.originFingerprint !== originFingerprint) {
        const context = { result: latest };
        throw new VerificationError("origin_differs", "the checkpoint is of another origin", context);
      }
      const alarm = from === null ? null : await this.#compare(place.service, shown, from, to, latest);
      if (alarm !== null) {
        sight.alarms.push(alarm);
        return;
      }
      sight.checkpoints.set(originFingerprint, latest.checkpoint);
      sight.observed.set(originFingerprint, to);
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error;
      sight.alarms.push(checkpointAlarm(shown, error));
    }
  }

  /** What is kept was verified when it was new, so only the two trees are compared. null: they go together. */
  async #compare(
    service: MonitoredService,
    shown: Shown,
    from: Checkpoint,
    to: VerifiedCheckpoint,
    { consistency }: WatchedLatest,
  ): Promise<Alarm | null> {
    const [fromSize, toSize] = [from.treeSize, to.treeSize];
    if (toSize < fromSize) return rollbackAlarm(shown, fromSize, toSize);
    try {
      const { originFingerprint } = shown;
      let proof: readonly Uint8Array[] = [];
      if (consistency?.fromSize === fromSize) ({ proof } = consistency);
      else if (fromSize < toSize) ({ proof } = await service.consistency({ originFingerprint, fromSize, toSize }));
      verifyConsistency(from, to, proof);
      return null;
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error;
      return splitViewAlarm(shown, from, to, error);
    }
  }
}

/** One origin as one node shows it. */
interface Place {
  readonly service: MonitoredService;
  readonly node: number;
  readonly originFingerprint: string;
  readonly chain: TrustRootChain;
  readonly sight: Sight;
}

/** Answers of a service that has less than was seen, or nothing yet. */
const SMALLER: ReadonlySet<string> = new Set(["from_size_ahead", "no_anchor_yet"]);

/** Who cannot be asked says nothing for or against its logs. */
function isSilence(error: unknown): error is AnchoringError {
  return [ConnectionFailed, TimedOut, RateLimited, Unavailable, UnexpectedAnswer].some((kind) => error instanceof kind);
}

function sightOf(before: MonitorState | null): Sight {
  const checkpoints = new Map(Object.entries(before?.checkpoints ?? {}));
  const { trustRoot = null, clusterId = null } = before ?? {};
  return { trustRoot, clusterId, checkpoints, observed: new Map(), alarms: [] };
}

function shownAt({ node, originFingerprint, sight }: Place, latest: string | null): Shown {
  return { node, originFingerprint, held: sight.checkpoints.get(originFingerprint), latest };
}

/** What the node says is the newest tree, as evidence; null if it says nothing. */
async function checkpointOf(service: MonitoredService, originFingerprint: string): Promise<string | null> {
  try {
    return await service.getCheckpoint(originFingerprint);
  } catch (error) {
    if (error instanceof AnchoringError) return null;
    throw error;
  }
}

function headIn(checkpoints: ReadonlyMap<string, string>, originFingerprint: string): Checkpoint | null {
  const note = checkpoints.get(originFingerprint);
  return note === undefined ? null : headOf(note);
}

function sizeIn(state: MonitorState | null, originFingerprint: string): number | null {
  return headIn(new Map(Object.entries(state?.checkpoints ?? {})), originFingerprint)?.treeSize ?? null;
}

/** @throws VerificationError `monitor_state_malformed`: a damaged memory is never taken for an empty one */
function headOf(note: string): Checkpoint {
  const checkpoint = checkpointIn(note);
  if (checkpoint !== null) return checkpoint;
  throw new VerificationError("monitor_state_malformed", "a checkpoint that was kept is none");
}
