/** Three sessions in one process: memory for disks, a queue for the network, a clock that only tests move. */
import type { ActSigner, Lane, PeerFrame } from "@event-anchoring/control-contract";
import type { Command, Credential, OperatorCommand } from "@event-anchoring/ledger";
import { type Signer, createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import {
  EMPTY_SEMANTIC_ANCHOR,
  type OriginFingerprint,
  apiKeyHash,
  bytesToHex,
  logKeySeed,
  parseSignedTrustRoot,
  raftIdOf,
} from "@event-anchoring/protocol";
import { type Ceremony, holdCeremony } from "@event-anchoring/provision";
import { furthest } from "@event-anchoring/control-contract";
import { type Lie, SimulatedProcess, WORLD_START_MS, World } from "@event-anchoring/simulator";
import { TestActs } from "@event-anchoring/testkit";
import { type Entry, type EntryId, type EntryMeta, type HardState, RaftEngine, type RaftIndex } from "raft-ts";
import { NodeCounts } from "../src/session/node-counts.ts";
import type { Environment, VerifyAsync } from "../src/ports/environment.ts";
import type { EvidenceFiles } from "../src/certification/evidence.ts";
import type { NodeIdentity } from "../src/ports/identity.ts";
import { KnownTrustRoot } from "../src/membership/known-trust-root.ts";
import { bootstrapConfState } from "../src/membership/members.ts";
import { LogSizes } from "../src/raft/log-sizes.ts";
import { PayloadCache } from "../src/raft/payload-cache.ts";
import type { Promises } from "../src/promises/promise-file.ts";
import { PromiseKeeper } from "../src/promises/promises.ts";
import type { SubmissionResult } from "../src/proposals/proposals.ts";
import { PeerOffences } from "../src/session/peer-offences.ts";
import type { SessionEnd } from "../src/session/how-a-life-ends.ts";
import { Session } from "../src/session/session.ts";
import { SignatureVerifier } from "../src/signatures/signature-verifier.ts";
import type { ReadAnswer, ReadRequest } from "../src/certification/linearizable-reads.ts";
import { seededRandom, settle } from "./doubles.ts";
import { MemoryTables } from "./memory-tables.ts";
import { type Beginning, certificatesOf, pointOf, stateOf } from "./memory-beginning.ts";

export const START_MS = WORLD_START_MS;
const LINK_DELAY_MS = 1;

/** The time of a simulated world, in which nothing is slow and nothing goes wrong but what the test asks for. */
export class ManualClock {
  readonly #world = new World();
  readonly clock = new SimulatedProcess(this.#world, () => 0).clock;

  /** Runs whatever is due within the next `ms`, in order, and all promise work in between. */
  async advance(ms: number): Promise<void> {
    await settle();
    await this.#world.runUntil(this.#world.nowMs + ms, () => false);
    await settle();
  }
}

/** A log that can be told to hang: what is appended then is not durable until it is released. */
export class MemoryLog {
  entries: Entry[] = [];
  hardState: HardState | null = null;
  commit = 0;
  appends = 0;
  #held: (() => void)[] | null = null;

  hold(): void {
    this.#held = [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const resume of held) resume();
  }

  async append(batch: { entries: readonly Entry[]; hardState: HardState | null; commit: RaftIndex }): Promise<{
    walPosition: bigint;
  }> {
    if (this.#held !== null) await new Promise<void>((resolve) => this.#held?.push(resolve));
    const first = batch.entries[0];
    if (first !== undefined) this.entries = this.entries.filter(({ index }) => index < first.index);
    this.entries.push(...batch.entries);
    if (batch.hardState !== null) this.hardState = batch.hardState;
    this.commit = Math.max(this.commit, batch.commit);
    this.appends += 1;
    return { walPosition: BigInt(this.appends) };
  }

  async read(from: RaftIndex, to: RaftIndex): Promise<Entry[]> {
    return this.entries.filter(({ index }) => index >= from && index < to);
  }

  metas(): EntryMeta[] {
    return this.entries.map(({ index, term, type, payload }) => ({ index, term, type, payloadBytes: payload.length }));
  }

  /** While true, a compaction that is asked for never ends. */
  compactionHangs = false;

  async compact(upTo: RaftIndex): Promise<{ index: number; term: number }> {
    if (this.compactionHangs) await new Promise(() => {});
    const term = this.entries.find(({ index }) => index === upTo)?.term ?? 0;
    this.entries = this.entries.filter(({ index }) => index > upTo);
    return { index: upTo, term };
  }
}

export class MemoryNode {
  readonly nodeId: string;
  readonly identity: NodeIdentity;
  readonly log = new MemoryLog();
  tables = new MemoryTables();
  cache = new PayloadCache();
  promises: Promises;
  /** Promise writes, in order: what was durable when. */
  readonly saved: Promises[] = [];
  session: Session | null = null;
  /** Off the event loop, for all that the session knows; the same verdict at the same moment in every run. */
  verify: VerifyAsync = async (publicKey, message, signature) =>
    nodeCrypto.ed25519Verify(publicKey, message, signature);
  signatures: SignatureVerifier | null = null;
  counts = new NodeCounts();
  offences: PeerOffences | null = null;
  end: SessionEnd | null = null;
  /** Survives a crash, as files do. */
  evidence: ReadonlyMap<string, string> = new Map();
  readonly evidenceFiles: EvidenceFiles = {
    load: async () => this.evidence,
    keep: async (name, text) => void (this.evidence = new Map([...this.evidence, [name, text]])),
  };
  /** null: it begins empty. */
  readonly beginning: Beginning | null;

  constructor(nodeId: string, identity: NodeIdentity, beginning: Beginning | null = null) {
    this.nodeId = nodeId;
    this.identity = identity;
    this.beginning = beginning;
    this.promises = {
      clusterId: identity.clusterId,
      nodeId,
      pairId: new Uint8Array(16),
      incarnation: 0,
      term: 0,
      vote: 0n,
      signedHeads: new Map(),
      postgres: { systemIdentifier: "1", timeline: 1, walPosition: 0n },
      lastAppend: { index: 0, term: 0 },
      peers: new Map(),
      stateHead: null,
      forgetLogTo: 0,
      mayLackNewest: false,
      reached: { index: 0, term: 0 },
    };
  }

  live(): Session {
    if (this.session === null) throw new Error(`${this.nodeId} is not running`);
    return this.session;
  }
}

export interface SentFrame {
  readonly from: string;
  readonly to: string;
  readonly lane: Lane;
  readonly frame: PeerFrame;
}

/** As a start leaves the promise file behind. */
function restartedWith(promises: Promises, { index, term }: EntryId): Promises {
  const last = { index, term };
  const incarnation = promises.incarnation + 1;
  return { ...promises, incarnation, lastAppend: last, reached: furthest(promises.reached, last) };
}

/** What the node has promised, as it would stand in its file. */
function keeperOf(node: MemoryNode): PromiseKeeper {
  const save = async (promises: MemoryNode["promises"]): Promise<void> => {
    node.promises = promises;
    node.saved.push(promises);
  };
  return new PromiseKeeper({ current: node.promises, save });
}

export class MemoryCluster {
  readonly time = new ManualClock();
  nodes: readonly MemoryNode[];
  readonly sent: SentFrame[] = [];
  /** After how many ms a frame arrives: no number is a loss, two numbers are a duplicate, unequal ones reorder. */
  link: (sent: SentFrame) => readonly number[] = () => [LINK_DELAY_MS];
  /** A member that lies; null: nobody does. */
  liar: { readonly nodeId: string; readonly lie: Lie } | null = null;
  /** What the operator of its ceremony signs. */
  readonly acts: TestActs;
  readonly #engine: RaftEngine;
  readonly #cut = new Set<string>();
  #seed = 1;

  private constructor(engine: RaftEngine, ceremony: Ceremony) {
    this.#engine = engine;
    this.acts = actsOf(ceremony);
    this.nodes = ceremony.nodes.map(({ nodeId }) => new MemoryNode(nodeId, identityOf(ceremony, nodeId)));
  }

  static async create(nodeIds: readonly string[] = ["a", "b", "c"]): Promise<MemoryCluster> {
    return MemoryCluster.of(ceremonyOf(nodeIds));
  }

  /** Of one ceremony every cluster lives the same life, as long as the same is asked of it. */
  static async of(ceremony: Ceremony): Promise<MemoryCluster> {
    const cluster = new MemoryCluster(await RaftEngine.load(), ceremony);
    for (const node of cluster.nodes) cluster.start(node);
    return cluster;
  }

  /** One more node, which knows the others and waits until the group adds it. */
  add(identity: NodeIdentity, beginning: Beginning | null = null): MemoryNode {
    const node = new MemoryNode(identity.nodeId, identity, beginning);
    this.nodes = [...this.nodes, node];
    this.start(node);
    return node;
  }

  node(nodeId: string): MemoryNode {
    const found = this.nodes.find((node) => node.nodeId === nodeId);
    if (found === undefined) throw new Error(`no node ${nodeId}`);
    return found;
  }

  /** Starts, or starts again: what was not durable is gone. */
  start(node: MemoryNode): void {
    const { beginning } = node;
    const point = pointOf(beginning);
    node.promises = restartedWith(node.promises, node.log.entries.at(-1) ?? point);
    node.tables = new MemoryTables();
    node.cache = new PayloadCache();
    node.end = null;
    const confState = beginning?.confState ?? bootstrapConfState(node.identity.trustRoot);
    const stored = node.log.hardState ?? { term: point.term, vote: 0n };
    const hardState = { ...stored, commit: Math.max(node.log.commit, point.index) };
    const entries = node.log.metas();
    const snapshot = point.index === 0 ? null : { ...point, confState };
    const random = seededRandom((this.#seed += 1));
    const environment = this.#environment(random, node);
    node.signatures = new SignatureVerifier({ ...environment, crypto: nodeCrypto });
    node.counts = new NodeCounts();
    const raw = this.#engine.createNode({
      id: node.identity.raftId,
      initial: { hardState, confState, snapshot, entries, applied: point.index },
      random,
    });
    node.session = new Session({
      environment,
      identity: node.identity,
      known: new KnownTrustRoot(node.identity, () => {}),
      signatures: node.signatures,
      counts: node.counts,
      aroundQueue: (queue) => queue,
      node: raw,
      hardState,
      confState,
      logSizes: new LogSizes({
        compactedTo: (entries[0]?.index ?? point.index + 1) - 1,
        applied: point.index,
        entries,
      }),
      state: stateOf(beginning, (decision) => node.tables.rows.apply(decision)),
      stateRoot: node.tables.rows.stateRoot,
      recorded: certificatesOf(beginning),
      cache: node.cache,
      log: node.log,
      tables: node.tables,
      promises: keeperOf(node),
      offences: (node.offences ??= new PeerOffences(environment)),
      network: {
        send: (to, lane, frame) => this.#send(node.nodeId, to, lane, frame),
        isConnected: (to) => this.#isUp(node.nodeId, to),
        disconnect: () => {},
      },
      logEntriesKept: 1_000_000,
      logBytesKept: 2 ** 40,
      certificateRows: node.tables,
      trees: node.tables,
      certificatesKept: 1000,
      rulesHeldAt: null,
      pinnedIndex: () => null,
      restoration: beginning?.restoration ?? null,
      evidence: node.evidenceFiles,
      evidenceKept: node.evidence,
      onEnd: (end) => {
        node.end = end;
        node.session = null;
      },
    });
    node.session.start();
    for (const other of this.nodes) if (this.#isUp(node.nodeId, other.nodeId)) this.#connect(node, other);
  }

  /** kill -9: memory is gone, disks stay. */
  crash(node: MemoryNode): void {
    node.session?.stop();
    node.session = null;
  }

  cut(...nodeIds: string[]): void {
    for (const nodeId of nodeIds) this.#cut.add(nodeId);
  }

  heal(): void {
    this.#cut.clear();
    for (const left of this.nodes) {
      for (const right of this.nodes) {
        if (left !== right && left.session !== null && right.session !== null) left.session.onPeerUp(right.nodeId);
      }
    }
  }

  async until(condition: () => boolean, what: string, limitMs = 30_000): Promise<void> {
    for (let waited = 0; waited < limitMs; waited += 10) {
      if (condition()) return;
      await this.time.advance(10);
    }
    throw new Error(`not within ${limitMs} ms: ${what}`);
  }

  leader(): MemoryNode | null {
    const leaders = this.nodes.filter(({ session }) => session?.isLeader() === true);
    return leaders.find(({ nodeId }) => !this.#cut.has(nodeId)) ?? null;
  }

  submit(node: MemoryNode, command: Command, timeoutMs = 5000): Promise<SubmissionResult> {
    return new Promise((respond) => {
      node.live().submit({
        command,
        answer: "certified",
        deadlineMs: this.time.clock.monotonicMs() + timeoutMs,
        respond,
      });
    });
  }

  read(node: MemoryNode, origins: ReadRequest["origins"], timeoutMs = 5000): Promise<ReadAnswer> {
    return new Promise((respond) => {
      node.live().read({ origins, deadlineMs: this.time.clock.monotonicMs() + timeoutMs, respond });
    });
  }

  #environment(fill: (bytes: Uint8Array) => void, node: MemoryNode): Environment {
    const quiet = (): void => {};
    return {
      clock: this.time.clock,
      random: { fill },
      logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
      verify: (publicKey, message, signature) => node.verify(publicKey, message, signature),
    };
  }

  #connect(node: MemoryNode, other: MemoryNode): void {
    const left = node.live();
    const right = other.live();
    const verdicts = [right.judgeHello(left.hello()), left.judgeHello(right.hello())];
    for (const verdict of verdicts) if (!verdict.accepted) throw new Error(`${verdict.code}: ${verdict.detail}`);
    left.onPeerUp(other.nodeId);
    right.onPeerUp(node.nodeId);
  }

  #isUp(from: string, to: string): boolean {
    if (from === to || this.#cut.has(from) || this.#cut.has(to)) return false;
    return (this.nodes.find(({ nodeId }) => nodeId === to)?.session ?? null) !== null;
  }

  #send(from: string, to: string, lane: Lane, frame: PeerFrame): boolean {
    if (!this.#isUp(from, to)) return false;
    const leaving = from === this.liar?.nodeId ? this.liar.lie.onLeaving(to, frame) : [frame];
    for (const each of leaving) this.#carry({ from, to, lane, frame: each });
    return true;
  }

  #carry(sent: SentFrame): void {
    const { from, to } = sent;
    this.sent.push(sent);
    const receiver = this.node(to).session;
    for (const delayMs of this.link(sent)) {
      this.time.clock.startTimer(delayMs, () => {
        // What was on its way to an earlier life went down with its connection.
        if (this.#isUp(from, to) && this.node(to).session === receiver) this.#arrive(sent);
      });
    }
  }

  #arrive({ from, to, lane, frame }: SentFrame): void {
    const heard = to === this.liar?.nodeId ? this.liar.lie.onArriving(from, frame) : { frame, says: [] };
    for (const said of heard.says) this.#carry({ from: to, lane, ...said });
    if (heard.frame !== null) this.node(to).session?.onFrame(from, heard.frame);
  }
}

export function ceremonyOf(nodeIds: readonly string[]): Ceremony {
  return holdCeremony({
    clusterName: "test.example/memory",
    nodeIds,
    quorum: Math.floor(nodeIds.length / 2) + 1,
    rootKeys: 1,
    rootThreshold: 1,
    caSpkiSha256: new Uint8Array(32).fill(7),
    issuedS: WORLD_START_MS / 1000,
    expiresS: WORLD_START_MS / 1000 + 86_400,
  });
}

/** Whom version 1 lists as operator. */
export function operatorOf({ operators: [operator], clusterId }: Ceremony): ActSigner {
  if (operator === undefined) throw new Error("a ceremony makes an operator");
  return { operator: operator.name, clusterId, epoch: 0, sign: createSigner(operator.seed).sign };
}

export function actsOf(ceremony: Ceremony): TestActs {
  const { operator, sign, ...place } = operatorOf(ceremony);
  return new TestActs(place, operator, sign);
}

export function identityOf(ceremony: Ceremony, nodeId: string): NodeIdentity {
  const secrets = ceremony.nodes.find((node) => node.nodeId === nodeId);
  if (secrets === undefined) throw new Error(`no keys for ${nodeId}`);
  const { trustRoot } = parseSignedTrustRoot(ceremony.document, nodeCrypto.sha256);
  const logSigners = new Map<string, Signer>();
  return {
    nodeId,
    clusterId: ceremony.clusterId,
    raftId: raftIdOf(ceremony.clusterId, nodeId, nodeCrypto.sha256),
    originFingerprint: secrets.originFingerprint,
    authSigner: createSigner(secrets.authSeed),
    cosigner: createSigner(secrets.cosignerSeed),
    logSignerOf: (origin) => {
      const name = bytesToHex(origin);
      const known = logSigners.get(name) ?? createSigner(logKeySeed(ceremony.logSeed, origin, nodeCrypto.sha256));
      logSigners.set(name, known);
      return known;
    },
    configured: { document: ceremony.document, version: 1, rootThk: ceremony.rootThk },
    trustRoot,
  };
}

export const API_CLIENT = new Uint8Array(16).fill(0xaa);
const API_SECRET = new Uint8Array(32).fill(0x5e);
export const CREDENTIAL: Credential = {
  apiClientId: API_CLIENT,
  keyId: apiKeyHash(API_SECRET, nodeCrypto.sha256).slice(0, 16),
};

export function createKeyCommand(): OperatorCommand {
  return {
    kind: "create_api_key",
    key: {
      keyHash: apiKeyHash(API_SECRET, nodeCrypto.sha256),
      apiClientId: API_CLIENT,
      label: "test",
      scopes: ["read", "write", "revoke", "admin"],
      expiresMs: 0,
      requestsPerSecond: 0,
    },
  };
}

export function eventCommand(origin: OriginFingerprint, seed: number, clientEventId: string | null = null): Command {
  const eventHash = nodeCrypto.sha256(Uint8Array.of(seed & 0xff, (seed >> 8) & 0xff, (seed >> 16) & 0xff));
  return {
    kind: "record_events",
    credential: CREDENTIAL,
    atomic: false,
    events: [
      {
        originFingerprint: origin,
        eventHash,
        semanticAnchor: EMPTY_SEMANTIC_ANCHOR,
        clientEventId,
        clientEventSalt: clientEventId === null ? null : new Uint8Array(32).fill(seed & 0xff),
        actor: null,
      },
    ],
  };
}

/** The anchor id of the only event of a certified result. */
export function acceptedId(result: SubmissionResult): string {
  if (result.kind !== "decided" || result.outcome.kind !== "records") throw new Error(JSON.stringify(result));
  const event = result.outcome.records[0];
  if (event?.status === "accepted") return bytesToHex(event.leaf.anchorId);
  if (event?.status === "replayed") return bytesToHex(event.anchorId);
  throw new Error(`refused: ${event?.rejection.code ?? "nothing"}`);
}
