/**
 * The two things behind the handlers, in memory: a control plane that decides with the real ledger and certifies with
 * real signatures, and tables that can lag behind it. Each can be told to fail.
 */
import { clientEventKey, decideEntry, advance, emptyLedgerState, factsNeeded } from "@event-anchoring/ledger";
import type {
  AnchorFact,
  ApiKey,
  ClientEventFact,
  Command,
  CommandOutcome,
  Entry,
  EntryDecision,
  LeafWrite,
  LedgerState,
} from "@event-anchoring/ledger";
import type {
  Finality,
  HeldCertificate,
  NodeStatus,
  SubmittedRecord,
  SubmittedOutcome,
} from "@event-anchoring/control-contract";
import { bytesToHex, interiorHash } from "@event-anchoring/protocol";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { StoreError } from "@event-anchoring/store";
import type { StoredAnchor } from "@event-anchoring/store";
import type { AnchorReads, ControlPlane, ReadyToRead, RefusedError, Submitted } from "@event-anchoring/api";
import { fakeCluster } from "./fake-cluster.ts";
import type { FakeCluster } from "./fake-cluster.ts";

const { sha256 } = nodeCrypto;

export const START_MS = 1_780_000_000_000;

export class FakeNode implements ControlPlane {
  readonly cluster: FakeCluster = fakeCluster();
  readonly state: LedgerState = emptyLedgerState(sha256);
  readonly leaves: LeafWrite[] = [];
  readonly apiKeys: ApiKey[] = [];
  /** What was applied, for a test that keeps real tables beside this one's. */
  readonly decisions: EntryDecision[] = [];
  readonly submitted: { command: Command; remainingMs: number; answer: Finality }[] = [];
  /** Thrown by the next calls, until it is null again. */
  refusal: RefusedError | null = null;
  storeFailure: StoreError | null = null;
  isCertifying = true;
  /** Selects that still answer as of an earlier applied index: what a lagging table does. */
  staleSelects = 0;
  acceptedMs = START_MS;
  readonly #clientEvents = new Map<string, ClientEventFact>();
  readonly #writtenClientEvents = new Map<string, StoredAnchor["clientEvent"]>();

  constructor() {
    this.#apply([{ kind: "genesis", document: this.cluster.trustRoot.note }]);
  }

  get origin(): OriginFingerprint {
    const [origin] = this.cluster.origins;
    if (origin === undefined) throw new Error("no origin");
    return origin;
  }

  createApiKey(key: ApiKey): void {
    const { keyHash, apiClientId, label, scopes, expiresMs } = key;
    const command: Command = {
      kind: "create_api_key",
      operator: "test",
      key: { keyHash, apiClientId, label, scopes, expiresMs },
    };
    const [outcome] = this.#apply([command]);
    if (outcome?.kind !== "applied") throw new Error(`key: ${JSON.stringify(outcome)}`);
  }

  #apply(commands: readonly Command[]): readonly CommandOutcome[] {
    const index = this.state.appliedIndex + 1;
    this.acceptedMs += 1;
    const entry: Entry = {
      version: 1,
      certify: true,
      acceptedMs: this.acceptedMs,
      certificates: [],
      groups: [{ id: { node: 1n, incarnation: 1, counter: index }, notAfter: index + 50_000, commands }],
    };
    const decision = decideEntry(this.state, { index, term: 1, entry }, this.#facts(entry), nodeCrypto);
    advance(this.state, decision);
    this.#write(decision);
    const [outcome] = decision.outcomes;
    if (outcome?.status !== "decided") throw new Error("the group was not decided");
    return outcome.commands;
  }

  #facts(entry: Entry): { clientEvents: Map<string, ClientEventFact>; anchors: Map<string, AnchorFact> } {
    const query = factsNeeded(entry);
    const clientEvents = new Map<string, ClientEventFact>();
    for (const { apiClientId, clientEventId } of query.clientEvents) {
      const key = clientEventKey(apiClientId, clientEventId);
      const fact = this.#clientEvents.get(key);
      if (fact !== undefined) clientEvents.set(key, fact);
    }
    const anchors = new Map<string, AnchorFact>();
    for (const anchorId of query.anchors) {
      const leaf = this.leaves.find((each) => Buffer.compare(each.anchorId, anchorId) === 0);
      if (leaf !== undefined) anchors.set(bytesToHex(anchorId), leaf);
    }
    return { clientEvents, anchors };
  }

  #write(decision: EntryDecision): void {
    this.decisions.push(decision);
    this.leaves.push(...decision.writes.leaves);
    this.apiKeys.push(...decision.writes.apiKeys);
    for (const write of decision.writes.clientEvents) {
      const { apiClientId, clientEventId, salt } = write;
      this.#clientEvents.set(clientEventKey(apiClientId, clientEventId), write);
      this.#writtenClientEvents.set(bytesToHex(write.anchorId), { apiClientId, clientEventId, salt });
    }
  }

  leavesOf(origin: OriginFingerprint): LeafWrite[] {
    return this.leaves.filter((leaf) => Buffer.compare(leaf.originFingerprint, origin) === 0);
  }

  hashAt(origin: OriginFingerprint, level: number, index: number): Uint8Array {
    if (level === 0) {
      const leaf = this.leavesOf(origin)[index];
      if (leaf === undefined) throw new StoreError("out_of_order", `no leaf ${index}`);
      return leaf.anchorId;
    }
    const left = this.hashAt(origin, level - 1, index * 2);
    return interiorHash(left, this.hashAt(origin, level - 1, index * 2 + 1), sha256);
  }

  certificateOf(origin: OriginFingerprint): HeldCertificate {
    const state = this.state.origins.get(bytesToHex(origin));
    if (state === undefined) throw new Error("no such origin");
    const treeSize = state.tree.size;
    const rootHash = state.tree.rootAt(treeSize);
    const certifiedAtS = Math.floor(this.acceptedMs / 1000);
    const checkpoint = this.cluster.checkpoint(origin, treeSize, rootHash, certifiedAtS);
    return {
      originFingerprint: origin,
      treeSize,
      rootHash,
      certifiedAtS,
      checkpoint,
      trustRootVersion: 1,
      recorded: false,
    };
  }

  async submit(command: Command, options: { remainingMs: number; answer: Finality }): Promise<Submitted> {
    this.submitted.push({ command, ...options });
    if (this.refusal !== null) throw this.refusal;
    const [outcome] = this.#apply([command]);
    if (outcome === undefined) throw new Error("no outcome");
    const isCertified = this.isCertifying && options.answer === "certified";
    return { finality: isCertified ? "certified" : "committed", outcome: this.#outcome(outcome, isCertified) };
  }

  #outcome(outcome: CommandOutcome, isCertified: boolean): SubmittedOutcome {
    if (outcome.kind !== "records") return outcome;
    const checkpoints = new Map<string, HeldCertificate>();
    const records = outcome.records.map((event): SubmittedRecord => {
      if (event.status !== "accepted") return event;
      const { originFingerprint, depth, bytes, anchorId } = event.leaf;
      const name = bytesToHex(originFingerprint);
      if (!checkpoints.has(name)) checkpoints.set(name, this.certificateOf(originFingerprint));
      const tree = this.state.origins.get(name)?.tree;
      const path = isCertified ? (tree?.prove(depth, tree.size) ?? null) : null;
      const { clientEventSalt } = event;
      return { status: "accepted", leaf: bytes, anchorId, path, clientEventSalt, certified: isCertified };
    });
    const held = isCertified ? [...checkpoints.values()] : [];
    return { kind: "records", refused: outcome.refused, records, checkpoints: held };
  }

  async read(origins: readonly OriginFingerprint[] | "all" | "none"): Promise<ReadyToRead> {
    if (this.refusal !== null) throw this.refusal;
    const wanted = origins === "all" ? this.cluster.origins : origins === "none" ? [] : origins;
    const known = wanted.filter((origin) => this.state.origins.has(bytesToHex(origin)));
    const certificates = known.map((origin) => this.certificateOf(origin));
    return { readIndex: this.state.appliedIndex, certificates, trustRootVersion: 1 };
  }

  nodeStatus(): NodeStatus {
    return {
      nodeId: "node-a",
      clusterId: bytesToHex(this.cluster.clusterId),
      originFingerprint: bytesToHex(this.origin),
      raft: { role: "leader", term: 3, leader: "node-a", commitIndex: 9, appliedIndex: 9, lastIndex: 9 },
      serving: { state: "running", failing: [] },
      primeRootThk: {
        role: "prime",
        version: 1,
        rootThk: bytesToHex(this.cluster.trustRoot.rootThk),
        primeVersion: 1,
        inSync: true,
        lastSuccessAtMs: START_MS,
        ageSeconds: 1.5,
        expiresAtS: 2_000_000_000,
        lastError: null,
      },
      origins: [],
      incarnation: 1,
      versions: {},
    };
  }

  async status(): Promise<NodeStatus> {
    if (this.refusal !== null) throw this.refusal;
    return this.nodeStatus();
  }

  async metrics(): Promise<string> {
    if (this.refusal !== null) throw this.refusal;
    return "# TYPE anchoring_prime_root_thk_sync_error gauge\nanchoring_prime_root_thk_sync_error 0\n";
  }

  #at<T extends object>(found: T): T & { appliedIndex: number } {
    if (this.storeFailure !== null) throw this.storeFailure;
    const isStale = this.staleSelects > 0;
    if (isStale) this.staleSelects -= 1;
    return { ...found, appliedIndex: this.state.appliedIndex - (isStale ? 1 : 0) };
  }

  #stored(leaf: LeafWrite): StoredAnchor {
    return { ...leaf, clientEvent: this.#writtenClientEvents.get(bytesToHex(leaf.anchorId)) ?? null };
  }

  readonly reads: AnchorReads = {
    anchors: async (ids) =>
      this.#at({
        anchors: ids.map((id) => {
          const leaf = this.leaves.find((each) => Buffer.compare(each.anchorId, id) === 0);
          return leaf === undefined ? null : this.#stored(leaf);
        }),
      }),
    anchorsOfOrigin: async (origin, fromDepth, limit, direction) => {
      const leaves = this.leavesOf(origin);
      const page =
        direction === "ascending"
          ? leaves.slice(fromDepth, fromDepth + limit)
          : leaves
              .slice(0, fromDepth + 1)
              .toReversed()
              .slice(0, limit);
      return this.#at({ anchors: page.map((leaf) => this.#stored(leaf)) });
    },
    proofHashes: async () =>
      this.#at({
        hashAt: (origin: OriginFingerprint) => (level: number, index: number) => this.hashAt(origin, level, index),
      }),
    position: async () => {
      const last = this.leaves.at(-1);
      return this.#at({ sequence: last?.sequence ?? -1, acceptedMs: last?.acceptedMs ?? 0 });
    },
    sequenceAtOrBefore: async (timeMs) => {
      const before = this.leaves.filter((leaf) => leaf.acceptedMs <= timeMs);
      return this.#at({ sequence: before.at(-1)?.sequence ?? null });
    },
    acceptedMsOf: async (sequence) => this.#at({ acceptedMs: this.leaves[sequence]?.acceptedMs ?? null }),
    trustRoots: async () => {
      const { trustRoot, rootThk, note } = this.cluster.trustRoot;
      return this.#at({ trustRoots: [{ version: trustRoot.version, rootThk, sequence: 0, document: note }] });
    },
    origins: async () =>
      this.#at({
        origins: this.cluster.origins.map((originFingerprint) => {
          const leaves = this.leavesOf(originFingerprint);
          const lastAnchorId = leaves.at(-1)?.anchorId ?? null;
          return { originFingerprint, status: "active" as const, treeSize: leaves.length, lastAnchorId };
        }),
      }),
    apiKeys: async () => this.#at({ apiKeys: [...this.apiKeys] }),
  };
}
