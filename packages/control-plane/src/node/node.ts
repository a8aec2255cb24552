import type { HelloRefusal, NodeStatus } from "@event-anchoring/control-contract";
import { type RuleTable, restoreLedgerState, trustRootsOf } from "@event-anchoring/ledger";
import { type TrustRoot, bytesToHex } from "@event-anchoring/protocol";
import { isBefore } from "@event-anchoring/control-contract";
import { StoreError } from "@event-anchoring/store";
import { EngineDeadError, type ConfState, type HardState, type InitialState } from "raft-ts";
import { type ControlPlaneConfig, peersOf } from "./config.ts";
import { NodeCounts } from "../session/node-counts.ts";
import type { Environment } from "../ports/environment.ts";
import {
  type LifeEnd,
  LifeJudge,
  type SessionEnd,
  type StopReason,
  WrongRootError,
  causeOf,
  endOfError,
} from "../session/how-a-life-ends.ts";
import { committedBySignature, judgeRoots } from "../promises/fencing.ts";
import type { NodeIdentity } from "../ports/identity.ts";
import { bootstrapConfState } from "../membership/members.ts";
import type { Machine } from "./machine.ts";
import { KnownTrustRoot, contradictionOf } from "../membership/known-trust-root.ts";
import { openNetwork } from "./node-network.ts";
import { NodeTimings } from "../observing/node-timings.ts";
import { SessionObserver } from "../observing/session-observer.ts";
import { timedPromises } from "../observing/timed-promises.ts";
import { LogSizes } from "../raft/log-sizes.ts";
import { PayloadCache } from "../raft/payload-cache.ts";
import { PromiseKeeper } from "../promises/promises.ts";
import { PeerOffences } from "../session/peer-offences.ts";
import type { SessionOptions } from "../session/session-options.ts";
import { Session } from "../session/session.ts";
import { Scrub } from "../scrub/scrub.ts";
import { isBusyFor } from "../scrub/is-busy.ts";
import { SignatureVerifier } from "../signatures/signature-verifier.ts";
import { SnapshotExporter } from "../snapshots/snapshot-exporter.ts";
import { installFromPeers } from "../snapshots/snapshot-transfer.ts";
import { FencedError, openPromises } from "../promises/start-judgement.ts";
import { nodeStatus } from "./status.ts";
import type { OpenStorage } from "../ports/storage.ts";
import { createRootSync } from "../root-sync/root-sync.ts";
import type { PeerAddress, PeerNetwork } from "../transport/network-types.ts";

/** Each heartbeat wakes every node: at one in 100 ms they were a third of what wakes an idle cluster. */
const HEARTBEAT_TICKS = 2;
const RELOAD_DELAY_MIN_MS = 100;
const RELOAD_DELAY_MAX_MS = 2000;

export interface NodeOptions {
  readonly environment: Environment;
  readonly config: ControlPlaneConfig;
  readonly identity: NodeIdentity;
  readonly machine: Machine;
  /** The rules that this program can decide by. */
  readonly ruleTable: RuleTable;
  /** This node must not go on, and must not be restarted automatically. */
  readonly onStopped: (stop: StopReason) => void;
}

/**
 * A node's control plane from start to stop. It lives in *lives*: load everything from disk, run a session until it
 * ends, load again.
 *
 * States (`serving.state`): starting → running ⇄ unavailable; fenced and halted are final.
 */
export class ControlPlaneNode {
  readonly #options: NodeOptions;
  readonly signatures: SignatureVerifier;
  readonly #judge: LifeJudge;
  readonly counts = new NodeCounts();
  readonly offences: PeerOffences;
  readonly timings = new NodeTimings();
  readonly rootSync: ReturnType<typeof createRootSync>;
  readonly snapshots: SnapshotExporter;
  readonly known: KnownTrustRoot;
  /** null: the machine has no tables to walk. */
  readonly scrub: Scrub | null;
  #peers: readonly PeerAddress[];
  #serving: NodeStatus["serving"] = { state: "starting", failing: [{ check: "storage", detail: "loading" }] };
  #session: Session | null = null;
  /** Observes the session that is being made, or lives. */
  #observer: SessionObserver | null = null;
  #network: PeerNetwork | null = null;
  #engine: Awaited<ReturnType<Machine["loadEngine"]>> | null = null;
  #endLife: ((end: LifeEnd) => void) | null = null;
  #incarnation = 0;
  #isStopping = false;
  /** Halts the node as soon as it is running. */
  #haltReason: Extract<LifeEnd, { kind: "halted" }> | null = null;

  constructor(options: NodeOptions) {
    this.#options = options;
    const { environment, identity, machine, config } = options;
    const { clock, logger, verify } = environment;
    this.#judge = new LifeJudge(environment);
    this.#peers = peersOf(config);
    this.known = new KnownTrustRoot(identity, (root) => this.#onKnown(root));
    this.signatures = new SignatureVerifier({ clock, logger, verify, crypto: machine.crypto });
    this.offences = new PeerOffences(environment);
    this.snapshots = new SnapshotExporter({
      machine,
      session: () => this.#session,
      entriesKept: config.log_entries_kept,
      clock,
      logger,
    });
    const { openScrub } = machine;
    this.scrub =
      openScrub === undefined
        ? null
        : new Scrub({
            clock,
            logger,
            openWalk: () => openScrub({ ruleTable: options.ruleTable, heldChain: () => this.known.chain }),
            rowsPerSecond: config.scrub_rows_per_second,
            isBusy: () => isBusyFor(this.#session),
            onDifference: (detail) => this.#halt("scrub_difference", detail),
          });
    this.rootSync = createRootSync({
      environment,
      identity,
      configured: this.known.configured,
      session: () => this.#session,
      network: () => this.#network,
      peers: () => this.#peers,
      learn: (documents) => this.known.learn(documents),
    });
  }

  get ruleTable(): RuleTable {
    return this.#options.ruleTable;
  }

  get nodeId(): string {
    return this.#options.identity.nodeId;
  }

  get session(): Session | null {
    return this.#session;
  }

  get network(): PeerNetwork | null {
    return this.#network;
  }

  status(): NodeStatus {
    return nodeStatus({
      identity: this.#options.identity,
      session: this.#session?.view() ?? null,
      serving: this.#serving,
      primeRootThk: this.rootSync.summary(),
      incarnation: this.#incarnation,
      peersCutOff: this.offences.view(),
      scrub: this.scrub?.counts ?? null,
    });
  }

  /** A node with a damaged row does not go on as if nothing were wrong. */
  #halt(code: string, detail: string): void {
    this.#haltReason = { kind: "halted", code, detail };
    this.#endLife?.(this.#haltReason);
  }

  /** Replaces the list of peers to dial. */
  setPeers(peers: readonly PeerAddress[]): void {
    this.#peers = peers;
    this.#network?.setPeers(peers);
    this.#options.environment.logger.info("peers_set", { peers: peers.map(({ nodeId }) => nodeId) });
  }

  /** A newer trust root is known: its nodes are accepted as peers, and its authorities may differ. */
  #onKnown(root: TrustRoot): void {
    this.#options.environment.logger.info("trust_root_known", { version: root.version });
    this.#session?.onKnown(root);
    void this.reloadTls();
  }

  /** Takes up new TLS files now. If they cannot be used, the old ones stay in use and the log says why. */
  async reloadTls(): Promise<void> {
    try {
      await this.#network?.reloadTls();
    } catch (error) {
      this.#options.environment.logger.error("tls_reload_failed", { error });
    }
  }

  /** Lives until it is stopped, fenced or halted. */
  async run(): Promise<void> {
    const { logger } = this.#options.environment;
    this.rootSync.start();
    this.scrub?.start();
    let delayMs = RELOAD_DELAY_MIN_MS;
    while (!this.#isStopping) {
      const startedMs = this.#options.environment.clock.monotonicMs();
      const end = this.#haltReason ?? (await this.#live().catch(endOfError));
      if (end.kind === "unavailable" && end.cause instanceof EngineDeadError) this.#engine = null;
      const stop = this.#judge.stopReasonOf(end);
      if (stop !== null) {
        this.#serving = { state: stop.reason, failing: [{ check: stop.code, detail: stop.detail.slice(0, 1000) }] };
        logger.error("stopped", { ...stop });
        this.#options.onStopped(stop);
        break;
      }
      if (end.kind === "stopped") break;
      this.#showEnd(end);
      const hasLived = this.#options.environment.clock.monotonicMs() - startedMs > RELOAD_DELAY_MAX_MS;
      delayMs = hasLived ? RELOAD_DELAY_MIN_MS : Math.min(delayMs * 2, RELOAD_DELAY_MAX_MS);
      if (!this.#isStopping) await this.#pause(delayMs);
    }
    this.rootSync.stop();
    await this.scrub?.stop();
    await this.snapshots.close();
  }

  /**
   * Hands leadership on, answers all waiters, and lets writes under way end.
   * @param served resolves when this node's clients have moved elsewhere; until then it serves as a follower
   */
  async stop(served: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    this.#isStopping = true;
    this.#serving = { state: "unavailable", failing: [{ check: "stopping", detail: "the node is shutting down" }] };
    await Promise.all([this.#handOver(), served()]);
    // It may have been elected again meanwhile.
    await this.#handOver();
    this.#endLife?.({ kind: "stopped" });
  }

  /** Waits briefly until another node leads, so that its clients notice nothing. */
  async #handOver(): Promise<void> {
    const { clock } = this.#options.environment;
    const untilMs = clock.monotonicMs() + 1000;
    const leads = (): boolean => this.#session?.isLeader() ?? false;
    if (!leads()) return;
    this.#session?.transferLeadership();
    while (leads() && clock.monotonicMs() < untilMs) await this.#pause(10);
  }

  async #live(): Promise<LifeEnd> {
    const { environment, identity, machine } = this.#options;
    let storage: OpenStorage | null = null;
    let file: Awaited<ReturnType<typeof openPromises>>["file"] | null = null;
    let network: PeerNetwork | null = null;
    let session: Session | null = null;
    try {
      const ended = new Promise<LifeEnd>((resolve) => (this.#endLife = resolve));
      const end = (reason: LifeEnd): void => this.#endLife?.(reason);
      storage = await machine.openStorage((cause) => end(endOfError(cause)));
      const { identityStore, loadedLog } = storage;
      const promises = await openPromises({
        identity,
        volume: machine.promiseVolume,
        random: environment.random,
        identityStore,
        log: loadedLog,
        restoration: storage.restoration ?? null,
      });
      file = promises.file;
      if (promises.hasDamagedSlot) this.#options.environment.logger.warn("promise_slot_damaged");
      this.#incarnation = file.current.incarnation;
      const keeper = new PromiseKeeper(timedPromises(file, environment.clock, this.timings.promise));
      network = this.#openNetwork(end, keeper.current.incarnation);
      session = await this.#openSession(storage, keeper, network, end);
      if (this.#isStopping) return { kind: "stopped" };
      this.#session = session;
      this.#network = network;
      session.start();
      await network.start();
      this.#serving = { state: "running", failing: [] };
      const reason = await ended;
      // From here on no request may be answered from a session that has ended.
      this.#session = null;
      this.#closeObserver();
      if (reason.kind === "behind") return await this.#catchUp(reason, network, storage, session, keeper);
      return reason;
    } finally {
      this.#endLife = null;
      await this.#closeLife(session, network, storage, file);
    }
  }

  async #closeLife(
    session: Session | null,
    network: PeerNetwork | null,
    storage: OpenStorage | null,
    file: { close(): Promise<void> } | null,
  ): Promise<void> {
    if (!this.#isStopping) {
      this.#serving = { state: "unavailable", failing: [{ check: "storage", detail: "loading again" }] };
    }
    session?.stop();
    this.#closeObserver();
    this.#session = null;
    this.#network = null;
    await network?.close();
    await session?.drained();
    await storage?.close();
    await file?.close();
  }

  #closeObserver(): void {
    this.#observer?.close();
    this.#observer = null;
  }

  #openNetwork(end: (reason: LifeEnd) => void, incarnation: number): PeerNetwork {
    const { environment, config, identity, machine } = this.#options;
    return openNetwork({
      createNetwork: (network) => machine.createNetwork(network),
      environment,
      config,
      identity,
      known: this.known,
      peers: this.#peers,
      incarnation,
      session: () => this.#session,
      status: () => this.status(),
      snapshots: this.snapshots,
      onRefused: (peer, refusal) => this.#onHelloRefused(peer, refusal, end),
      onFrame: (from, frame) => this.#observer?.onFrame(from, frame),
    });
  }

  #onHelloRefused(peer: string, refusal: HelloRefusal, end: (reason: LifeEnd) => void): void {
    const { environment, identity } = this.#options;
    environment.logger.error("hello_refused", { peer, code: refusal.code, detail: refusal.detail });
    if (refusal.trustRootChain !== undefined) this.known.learn(refusal.trustRootChain);
    this.#session?.onHelloRefused(peer, refusal);
    // A node that is asked to leave serves until it is removed; refusals for other reasons do not matter here.
    if (refusal.code !== "retired" && refusal.code !== "unknown_node") return;
    // A peer's word is not enough: the chain it sent must say so.
    const { newest } = this.known;
    const status = newest.nodes.find(({ nodeId }) => nodeId === identity.nodeId)?.status;
    if (status !== "retired" && status !== "distrusted") return;
    const detail = `trust-root version ${newest.version} says that ${identity.nodeId} is ${status}`;
    end({ kind: "fenced", code: "retired", detail });
  }

  async #openSession(
    storage: OpenStorage,
    promises: PromiseKeeper,
    network: PeerNetwork,
    end: (reason: LifeEnd) => void,
  ): Promise<Session> {
    const { environment, config, identity, machine } = this.#options;
    const { loadedLog, loadedLedger } = storage;
    const state = restoreLedgerState(loadedLedger.ledger, this.signatures.crypto, this.ruleTable);
    const contradiction = contradictionOf(identity, trustRootsOf(state));
    if (contradiction !== null) throw new WrongRootError(contradiction);
    await this.#assertPromisedRoots(storage, promises);
    const confState = loadedLedger.confState ?? bootstrapConfState(identity.trustRoot);
    const initial = initialStateOf(storage, promises, confState);
    const { compacted, entries } = loadedLog;
    this.#engine ??= await machine.loadEngine();
    const node = this.#engine.createNode({
      id: identity.raftId,
      initial,
      heartbeatTicks: HEARTBEAT_TICKS,
      random: (bytes) => environment.random.fill(bytes),
      logger: (level, text) => environment.logger.debug("raft", { level, text }),
    });
    const observer = this.#observe(network);
    return new Session({
      ...observer.around({ log: storage.log, tables: storage.ledger, network }),
      aroundQueue: (queue) => observer.queue(queue),
      environment,
      identity,
      known: this.known,
      signatures: this.signatures,
      counts: this.counts,
      node,
      hardState: initial.hardState,
      confState,
      logSizes: new LogSizes({ compactedTo: compacted.index, applied: loadedLedger.appliedIndex, entries }),
      state,
      stateRoot: loadedLedger.stateRoot,
      forgetLogTo: loadedLedger.forgetLogTo,
      recorded: storage.recorded,
      cache: new PayloadCache(),
      promises,
      offences: this.offences,
      logEntriesKept: config.log_entries_kept,
      logBytesKept: config.log_bytes_kept,
      certificateRows: storage.ledger,
      trees: storage.ledger,
      witnessedHeads: this.#witnessedHeadsOf(storage),
      witnessTransport: machine.witnessTransport,
      certificatesKept: config.certificates_kept,
      rulesHeldAt: config.rules_max,
      pinnedIndex: () => this.snapshots.pinnedIndex(),
      restoration: storage.restoration ?? null,
      evidence: machine.evidence,
      evidenceKept: await machine.evidence.load(),
      onEnd: end,
    });
  }

  #witnessedHeadsOf({ witnessedHeads: storage, loadedWitnessed }: OpenStorage): SessionOptions["witnessedHeads"] {
    const { heads: loaded, unreadable } = loadedWitnessed;
    if (unreadable > 0) this.#options.environment.logger.warn("witnessed_heads_unreadable", { rows: unreadable });
    return { storage, loaded };
  }

  #observe(network: PeerNetwork): SessionObserver {
    const { clock, tracer = null } = this.#options.environment;
    this.#observer = new SessionObserver({
      clock,
      timings: this.timings,
      tracer,
      session: () => this.#session,
      broadcast: (frame) => {
        for (const { nodeId } of this.#peers) network.send(nodeId, "control", frame);
      },
    });
    return this.#observer;
  }

  /** Heads that this database has already reached; later ones are judged when their certify point comes. */
  async #assertPromisedRoots(storage: OpenStorage, promises: PromiseKeeper): Promise<void> {
    const { ledger, loadedLedger, loadedLog } = storage;
    const isBehind = loadedLedger.appliedIndex < (loadedLog.entries.at(-1)?.index ?? loadedLog.compacted.index);
    const sizes = new Map(
      loadedLedger.ledger.origins.map((origin) => [bytesToHex(origin.originFingerprint), origin.treeSize]),
    );
    const roots = new Map<string, Uint8Array>();
    const reached = new Map(promises.current.signedHeads);
    for (const [key, { originFingerprint, treeSize, raftIndex }] of promises.current.signedHeads) {
      const isLater = raftIndex > loadedLedger.appliedIndex || (isBehind && treeSize > (sizes.get(key) ?? 0));
      if (isLater) reached.delete(key);
      else roots.set(key, await ledger.rootAt(originFingerprint, treeSize));
    }
    const reason = judgeRoots(
      { ...promises.current, signedHeads: reached },
      (originFingerprint) => roots.get(bytesToHex(originFingerprint)) ?? null,
    );
    if (reason !== null) throw new FencedError(reason);
  }

  /** The group's log no longer reaches back to this node's end: takes over a peer's state, then loads again. */
  async #catchUp(
    behind: Extract<SessionEnd, { kind: "behind" }>,
    network: PeerNetwork,
    storage: OpenStorage,
    session: Session,
    promises: PromiseKeeper,
  ): Promise<LifeEnd> {
    const { environment, identity, machine } = this.#options;
    this.#serving = { state: "unavailable", failing: [{ check: "catching_up", detail: "fetching a peer's state" }] };
    await session.drained();
    await storage.close();
    if (isBefore(behind.snapshot, promises.current.lastAppend)) await promises.promiseRetreat(behind.snapshot);
    const { memories } = session.membership.peers;
    await installFromPeers({
      identity,
      promises: promises.current,
      network,
      peers: this.#peers.map(({ nodeId }) => nodeId),
      hasState: (peer) => memories.hasState(peer),
      installSnapshot: (snapshot) => machine.installSnapshot({ ...snapshot, ruleTable: this.ruleTable }),
      atLeast: behind.snapshot,
      announcedBy: behind.leader,
      onFalse: (peer, detail) => this.offences.note(peer, "false_state", detail),
      clock: environment.clock,
      logger: environment.logger,
    });
    return { kind: "unavailable", check: "catching_up", cause: "a snapshot was installed" };
  }

  /** What peers and clients see after a life that another one follows. */
  #showEnd(end: LifeEnd): void {
    if ((end.kind !== "unavailable" && end.kind !== "panicked") || this.#isStopping) return;
    const check = end.kind === "panicked" ? "engine" : end.check;
    this.#serving = { state: "unavailable", failing: [{ check, detail: causeOf(end).slice(0, 1000) }] };
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#options.environment.clock.startTimer(delayMs, resolve);
    });
  }
}

/**
 * What the engine starts from. What this node has signed is committed, whether log and tables know it or not.
 * @throws StoreError `corrupt` if the log lacks what is committed
 */
function initialStateOf(
  { loadedLog, loadedLedger }: Pick<OpenStorage, "loadedLog" | "loadedLedger">,
  promises: PromiseKeeper,
  confState: ConfState,
): InitialState {
  const { compacted, entries, commitHint } = loadedLog;
  const applied = loadedLedger.appliedIndex;
  const lastIndex = entries.at(-1)?.index ?? compacted.index;
  const commit = Math.max(commitHint, applied, compacted.index, committedBySignature(promises.current, lastIndex));
  if (commit > lastIndex) throw new StoreError("corrupt", `the log ends at ${lastIndex}, committed is ${commit}`);
  const stored: HardState = loadedLog.hardState ?? { term: 0, vote: 0n, commit: 0 };
  const snapshot = compacted.index === 0 ? null : { ...compacted, confState };
  return { hardState: { ...stored, commit }, confState, snapshot, entries, applied };
}
