/**
 * A control plane in memory that decides with the real ledger and certifies with real signatures, over tables that can
 * lag behind it. Each of both can be told to fail.
 */
import {
  advance,
  decideEntry,
  emptyLedgerState,
  factsNeeded,
  judgingTrustRoot,
  stateHeadOf,
} from "@event-anchoring/ledger";
import type { ApiKey, Command, CommandOutcome, Entry, EntryDecision, LedgerState } from "@event-anchoring/ledger";
import type {
  CallContext,
  CallerKey,
  Finality,
  LatestAnchor,
  ShownCertificate,
  NodeStatus,
  SubmittedOutcome,
  SubmittedRecord,
} from "@event-anchoring/control-contract";
import { LEAF_KIND, bytesToHex, equalBytes } from "@event-anchoring/protocol";
import type { AnchorId, OriginFingerprint, OriginStatus } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import type { StoreError } from "@event-anchoring/store";
import { RefusedError } from "@event-anchoring/api";
import type { ControlPlane, ReadyToRead, StoppedReason } from "@event-anchoring/api";
import { FakeCluster } from "./fake-cluster.ts";
import { FakeTables } from "./fake-tables.ts";

const { sha256 } = nodeCrypto;

export const START_MS = 1_780_000_000_000;

export class FakeNode implements ControlPlane {
  readonly cluster = new FakeCluster();
  readonly tables = new FakeTables();
  readonly state: LedgerState = emptyLedgerState(sha256);
  /** What was applied, for a test that keeps real tables beside this one's. */
  readonly decisions: EntryDecision[] = [];
  readonly submitted: { command: Command; remainingMs: number; answer: Finality; call?: CallContext }[] = [];
  /** Thrown by the next calls, until it is null again. */
  refusal: RefusedError | null = null;
  /** What its control plane has left, having ended for good. */
  stopped: StoppedReason | null = null;
  isCertifying = true;
  /** Reads that still see the log, and its certificates, as they were before the newest entry. */
  earlyReads = 0;
  /** Sizes beyond which an origin, by the hex of its fingerprint, is certified no more. */
  readonly certifiedUpTo = new Map<string, number>();
  acceptedMs = START_MS;
  /** Between two looks for a head that is awaited. */
  headPauseMs = 5;
  /** Asking for the table of keys fails with it. */
  keysFailure: RefusedError | null = null;
  onKeysRead: () => void = () => undefined;

  /** Whether it has the last leaves in memory, as a node that has decided them since it started. */
  remembersLatest = true;

  readonly #sizesBefore = new Map<string, number>();
  readonly #shown = new Map<string, ShownCertificate>();
  readonly #latest = new Map<string, LatestAnchor>();

  constructor() {
    this.apply([{ kind: "genesis", document: this.cluster.trustRoot.note }]);
  }

  get reads(): FakeTables["reads"] {
    return this.tables.reads;
  }

  get leaves(): FakeTables["leaves"] {
    return this.tables.leaves;
  }

  get storeFailure(): StoreError | null {
    return this.tables.failure;
  }

  set storeFailure(failure: StoreError | null) {
    this.tables.failure = failure;
  }

  get staleSelects(): number {
    return this.tables.staleSelects;
  }

  set staleSelects(count: number) {
    this.tables.staleSelects = count;
  }

  get origin(): OriginFingerprint {
    const [origin] = this.cluster.origins;
    if (origin === undefined) throw new Error("no origin");
    return origin;
  }

  createApiKey(key: Pick<ApiKey, "keyHash" | "apiClientId" | "label" | "scopes" | "expiresMs" | "requestsPerSecond">) {
    this.#applyOne({ kind: "create_api_key", key });
  }

  revokeApiKey(keyId: Uint8Array): void {
    this.#applyOne({ kind: "revoke_api_key", keyId });
  }

  /** Applies the next version of the trust root, in which one origin has another status. */
  setOriginStatus(origin: OriginFingerprint, status: OriginStatus): void {
    this.#applyOne({ kind: "trust_root", document: this.cluster.succeed(origin, status).note });
  }

  #applyOne(command: Command): void {
    const [outcome] = this.apply([command]);
    if (outcome?.kind !== "applied") throw new Error(`${command.kind}: ${JSON.stringify(outcome)}`);
  }

  /** One entry, a millisecond after the one before. */
  apply(commands: readonly Command[]): readonly CommandOutcome[] {
    const index = this.state.appliedIndex + 1;
    for (const [name, { tree }] of this.state.origins) this.#sizesBefore.set(name, tree.size);
    this.acceptedMs += 1;
    const signed = commands.map((command) => this.cluster.acts.signed(command));
    const entry: Entry = {
      version: 1,
      certify: true,
      acceptedMs: this.acceptedMs,
      certificates: [],
      groups: [{ id: { node: 1n, incarnation: 1, counter: index }, notAfter: index + 50_000, commands: signed }],
    };
    const facts = this.tables.facts(factsNeeded(entry, this.state));
    const decision = decideEntry(this.state, { index, term: 1, entry }, facts, nodeCrypto);
    advance(this.state, decision);
    this.decisions.push(decision);
    this.tables.write(decision);
    const [outcome] = decision.outcomes;
    if (outcome?.status !== "decided") throw new Error("the group was not decided");
    return outcome.commands;
  }

  /** The state after the newest entry, as a quorum signs it. @param stateRoot of the tables that hold it */
  signedState(stateRoot: Uint8Array): string {
    const members = { voters: [1n, 2n, 3n], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
    const head = stateHeadOf(this.state, { members, stateRoot });
    if (head === null) throw new Error("there is no state yet");
    return this.cluster.stateNote(head);
  }

  /** The same object as long as it is the same certificate: so it comes over the local link. */
  certificateOf(origin: OriginFingerprint, size?: number): ShownCertificate {
    const treeSize = size ?? this.state.origins.get(bytesToHex(origin))?.tree.size ?? 0;
    const name = `${bytesToHex(origin)}/${treeSize}/${Math.floor(this.acceptedMs / 1000)}`;
    const shown = this.#shown.get(name) ?? this.#certify(origin, treeSize);
    this.#shown.set(name, shown);
    return shown;
  }

  /** What it shows from now on are other objects: as after the local link was lost. */
  forgetShown(): void {
    this.#shown.clear();
    this.#latest.clear();
  }

  #certify(origin: OriginFingerprint, treeSize: number): ShownCertificate {
    const state = this.state.origins.get(bytesToHex(origin));
    if (state === undefined) throw new Error("no such origin");
    const rootHash = state.tree.rootAt(treeSize);
    const certifiedAtS = Math.floor(this.acceptedMs / 1000);
    return {
      originFingerprint: origin,
      treeSize,
      rootHash,
      certifiedAtS,
      checkpoint: this.cluster.checkpoint(origin, treeSize, rootHash, certifiedAtS),
      trustRootVersion: judgingTrustRoot(this.state, state, treeSize)?.trustRoot.version ?? 0,
    };
  }

  async submit(
    command: Command,
    options: { remainingMs: number; answer: Finality; call: CallContext },
  ): Promise<SubmittedOutcome> {
    this.submitted.push({ command, ...options });
    if (this.refusal !== null) throw this.refusal;
    const [outcome] = this.apply([command]);
    if (outcome === undefined) throw new Error("no outcome");
    const isCertified = this.isCertifying && options.answer === "certified";
    return this.#outcome(outcome, isCertified);
  }

  #outcome(outcome: CommandOutcome, isCertified: boolean): SubmittedOutcome {
    if (outcome.kind !== "records") return outcome;
    const certificates = new Map<string, ShownCertificate>();
    const records = outcome.records.map((record): SubmittedRecord => {
      if (record.status !== "accepted") return record;
      const { originFingerprint, depth, bytes, anchorId } = record.leaf;
      const name = bytesToHex(originFingerprint);
      const { clientEventSalt } = record;
      const tree = this.state.origins.get(name)?.tree;
      if (!isCertified || tree === undefined) {
        return { status: "accepted", leaf: bytes, anchorId, inclusion: null, clientEventSalt };
      }
      const certificate = certificates.get(name) ?? this.certificateOf(originFingerprint);
      certificates.set(name, certificate);
      const inclusion = { certificate, path: tree.prove(depth, certificate.treeSize) };
      return { status: "accepted", leaf: bytes, anchorId, inclusion, clientEventSalt };
    });
    return { kind: "records", refused: outcome.refused, records };
  }

  /** While nothing is certified, a read that shows certificates ends as at a node whose peers are gone. */
  async read(origins: readonly OriginFingerprint[] | "all" | "none"): Promise<ReadyToRead> {
    if (this.refusal !== null) throw this.refusal;
    if (!this.isCertifying && origins !== "none") throw new RefusedError("certification_stalled", "peers are gone");
    const wanted = origins === "all" ? this.cluster.origins : origins === "none" ? [] : origins;
    const known = wanted.filter((origin) => this.state.origins.has(bytesToHex(origin)));
    const isEarly = this.earlyReads > 0;
    if (isEarly) this.earlyReads -= 1;
    const sizeOf = (origin: OriginFingerprint): number | undefined =>
      isEarly ? this.#sizesBefore.get(bytesToHex(origin)) : this.certifiedUpTo.get(bytesToHex(origin));
    const certificates = known.map((origin) => this.certificateOf(origin, sizeOf(origin)));
    const trustRootVersion = this.state.trustRootChain?.newest.trustRoot.version ?? 0;
    const readIndex = this.state.appliedIndex - (isEarly ? 1 : 0);
    return { readIndex, certificates, trustRootVersion, latest: null };
  }

  async readLatest(origin: OriginFingerprint): Promise<ReadyToRead> {
    const ready = await this.read([origin]);
    const [certificate] = ready.certificates;
    const latest = this.remembersLatest && certificate !== undefined ? this.#latestUnder(certificate) : null;
    return { ...ready, latest };
  }

  /** How often somebody asked for a head, and how many wait for one. */
  headsAsked = 0;
  headsAwaited = 0;
  /** Size of the newest witnessed head, by the hex of its origin. */
  readonly witnessedUpTo = new Map<string, number>();

  /** Looks every few milliseconds, as a session does four times a second. */
  async awaitHead(origin: OriginFingerprint, afterSize: number, remainingMs: number): Promise<ReadyToRead> {
    this.headsAsked += 1;
    this.headsAwaited += 1;
    try {
      return await this.#nextHead(origin, afterSize, remainingMs);
    } finally {
      this.headsAwaited -= 1;
    }
  }

  /** How long somebody was ready to wait for witnesses, the newest time; and what they are told instead. */
  witnessesAwaitedMs = 0;
  witnessesRefused: RefusedError | null = null;

  /** At once: the tree of that size, if the test says that it is witnessed. */
  async awaitWitnessed(origin: OriginFingerprint, afterSize: number, remainingMs = 0): Promise<ReadyToRead> {
    this.witnessesAwaitedMs = remainingMs;
    if (this.witnessesRefused !== null) throw this.witnessesRefused;
    const size = this.witnessedUpTo.get(bytesToHex(origin)) ?? 0;
    const certificates = size > afterSize ? [this.certificateOf(origin, size)] : [];
    const trustRootVersion = this.state.trustRootChain?.newest.trustRoot.version ?? 0;
    return { readIndex: this.state.appliedIndex, certificates, trustRootVersion, latest: null };
  }

  async #nextHead(origin: OriginFingerprint, afterSize: number, remainingMs: number): Promise<ReadyToRead> {
    const endMs = performance.now() + remainingMs;
    for (;;) {
      // The fake has no news of its own accord: it looks again after a pause, as slow as the test wants its news.
      await new Promise((resolve) => setTimeout(resolve, this.headPauseMs));
      if (this.refusal !== null) throw this.refusal;
      const size = this.certifiedUpTo.get(bytesToHex(origin)) ?? this.state.origins.get(bytesToHex(origin))?.tree.size;
      const isNews = this.isCertifying && size !== undefined && size > afterSize;
      if (!isNews && performance.now() < endMs) continue;
      const trustRootVersion = this.state.trustRootChain?.newest.trustRoot.version ?? 0;
      const certificates = isNews ? [this.certificateOf(origin, size)] : [];
      return { readIndex: this.state.appliedIndex, certificates, trustRootVersion, latest: null };
    }
  }

  /** The same object as long as it is true. Of a claim or a grant there is none. */
  #latestUnder(certificate: ShownCertificate): LatestAnchor | null {
    const { originFingerprint, treeSize } = certificate;
    const leaf = this.leaves.find(
      (each) => each.depth === treeSize - 1 && equalBytes(each.originFingerprint, originFingerprint),
    );
    const tree = this.state.origins.get(bytesToHex(originFingerprint))?.tree;
    if (leaf === undefined || tree === undefined || leaf.kind === LEAF_KIND.claim || leaf.kind === LEAF_KIND.grant) {
      return null;
    }
    const { anchorId, bytes } = leaf;
    const isOfLeaf = (write: { readonly anchorId: AnchorId }): boolean => equalBytes(write.anchorId, anchorId);
    const event = this.decisions.flatMap(({ writes }) => writes.clientEvents).find(isOfLeaf);
    const isErased = this.decisions.flatMap(({ writes }) => writes.erasures).some(isOfLeaf);
    const { apiClientId, clientEventId, salt } = event ?? {};
    const kept = isErased
      ? { clientEventId: null, salt: null }
      : { clientEventId: clientEventId ?? null, salt: salt ?? null };
    const clientEvent = apiClientId === undefined ? null : { apiClientId, ...kept };
    const name = `${bytesToHex(anchorId)}/${certificate.certifiedAtS}/${isErased}`;
    const path = tree.prove(treeSize - 1, treeSize);
    const latest = this.#latest.get(name) ?? { certificate, leaf: bytes, anchorId, path, clientEvent };
    this.#latest.set(name, latest);
    return latest;
  }

  async apiKeys(): Promise<readonly CallerKey[]> {
    this.onKeysRead();
    if (this.keysFailure !== null) throw this.keysFailure;
    return [...this.state.apiKeys.values()];
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
      contradictions: { named: [], origins: [], withheld: [], differing: [], evidence: [], evidenceFiles: 0 },
      peersCutOff: [],
      incarnation: 1,
      versions: { rules: "1", rules_known: "2", rules_held_back_by: "node-b (1)", entry_version: "1" },
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
}
