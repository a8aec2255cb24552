/** What an entry has decided so far, laid over the state it starts from. The state itself stays as it is. */
import { EventLeafWriter, LEAF_KIND, anchorIdOf, bytesToHex, encodeLeaf, equalBytes } from "@event-anchoring/protocol";
import type {
  AnchorId,
  Crypto,
  EventBody,
  Leaf,
  LeafHeader,
  LeafKind,
  OriginFingerprint,
  OriginStatus,
  TreeGrowth,
  TrustRootChain,
} from "@event-anchoring/protocol";
import { keyIdHex } from "../state/api-key.ts";
import type { ApiKey } from "../state/api-key.ts";
import type { Certificate, GroupId, OperatorAct } from "../entry/command.ts";
import type {
  CertificateWrite,
  ClientEventWrite,
  ContentWrite,
  EntryWrites,
  ErasureWrite,
  GrownOrigin,
  LeafWrite,
  OriginStatusWrite,
  RevocationWrite,
  TileWrite,
  TrustRootPositionWrite,
  TrustRootWrite,
} from "./decision.ts";
import type { AsOf, AnchorFact, ForceFault, ClaimRecord, GrantRecord } from "@event-anchoring/records";
import type { ClientEventFact, ContentFact, Facts, FoundAnchor } from "./facts.ts";
import { GroupIdMemory } from "../state/group-id-memory.ts";
import { LedgerHaltError } from "../entry/halt.ts";
import { ForceMemo } from "./force-memo.ts";
import { LIMITS } from "../entry/limits.ts";
import { RecordBook } from "@event-anchoring/records";
import { copyOf } from "./leaf-space.ts";
import { emptyOriginState } from "../state/state.ts";
import type { LedgerState, OriginState } from "../state/state.ts";
import type { TileAccumulator } from "../state/tile-accumulator.ts";

/** One origin's tree with the leaves of this entry. */
export interface OriginDraft {
  readonly originFingerprint: OriginFingerprint;
  status: OriginStatus;
  lastAnchorId: AnchorId;
  readonly tree: TreeGrowth;
  readonly tiles: TileAccumulator;
  /** null until the first unsigned event. */
  events: EventLeafWriter | null;
}

function draftOf({ originFingerprint, status, lastAnchorId, tree, tiles }: OriginState): OriginDraft {
  return { originFingerprint, status, lastAnchorId, tree: tree.grow(), tiles: tiles.fork(), events: null };
}

/** A record that has an anchor has a row of its own, and facts hold both. */
function present<Found>(record: Found | null, kind: string, anchorId: Uint8Array): Found {
  if (record !== null) return record;
  throw new LedgerHaltError("stored_state_inconsistent", `${kind} ${bytesToHex(anchorId)} is an anchor and no record`);
}

export interface Appended<Made extends Leaf> {
  readonly leaf: Made;
  readonly write: LeafWrite;
}

export class DecisionDraft {
  readonly state: LedgerState;
  readonly facts: Facts;
  readonly crypto: Crypto;
  readonly index: number;
  /** Accepted time of the entry: every rule compares with it, and every leaf of the entry has it. Never goes back. */
  readonly acceptedMs: number;
  /** Claims and grants, as this entry leaves them so far. */
  readonly records: RecordBook;
  readonly certificates: CertificateWrite[] = [];
  /** Certificates over another root than this node's tree has. */
  readonly contradictions: Certificate[] = [];
  trustRootChain: TrustRootChain | null = null;
  /** The rules of the next entry; this one is decided by the state's. */
  rulesAfter: number;
  readonly #force: ForceMemo;
  readonly #leaves: LeafWrite[] = [];
  readonly #clientEvents: ClientEventWrite[] = [];
  readonly #clientEventFacts = new Map<string, ClientEventFact>();
  readonly #anchors = new Map<string, AnchorFact>();
  readonly #contents: ContentWrite[] = [];
  readonly #contentFacts = new Map<string, ContentFact>();
  readonly #revocations: RevocationWrite[] = [];
  readonly #erasures = new Map<string, ErasureWrite>();
  readonly #tiles: TileWrite[] = [];
  readonly #apiKeys = new Map<string, ApiKey>();
  readonly #operatorCounters = new Map<string, number>();
  readonly #trustRoots: TrustRootWrite[] = [];
  readonly #originStatuses: OriginStatusWrite[] = [];
  readonly #positions: TrustRootPositionWrite[] = [];
  readonly #groupIds: GroupId[] = [];
  readonly #groupIdMemory = new GroupIdMemory();
  readonly #origins = new Map<string, OriginDraft>();
  #lastOrigin: OriginDraft | null = null;
  /** The array by which it was asked for last. */
  #lastAsked: OriginFingerprint | null = null;
  #anchorsIndexed = 0;

  constructor(
    state: LedgerState,
    facts: Facts,
    crypto: Crypto,
    entry: { readonly index: number; readonly acceptedMs: number },
  ) {
    this.state = state;
    this.facts = facts;
    this.crypto = crypto;
    this.records = new RecordBook(crypto.sha256, facts.records);
    this.#force = new ForceMemo(this.records);
    this.index = entry.index;
    this.acceptedMs = Math.max(entry.acceptedMs, state.stampMs);
    this.rulesAfter = state.rules;
  }

  get isInitialised(): boolean {
    return this.state.trustRootChain !== null || this.trustRootChain !== null;
  }

  get nextSequence(): number {
    return this.state.nextSequence + this.#leaves.length;
  }

  get lastAcceptedMs(): number {
    return this.#leaves.length === 0 ? this.state.lastAcceptedMs : this.acceptedMs;
  }

  /** The position of the next leaf, at which force is judged. */
  get position(): AsOf {
    return { sequence: this.nextSequence, timeMs: this.acceptedMs };
  }

  /** The origin as this entry leaves it so far; null if no trust root lists it. */
  origin(originFingerprint: OriginFingerprint): OriginDraft | null {
    // Most events of an entry go to one origin, and those of a batch name it by the same array.
    if (this.#lastOrigin !== null && originFingerprint === this.#lastAsked) return this.#lastOrigin;
    if (this.#lastOrigin !== null && equalBytes(this.#lastOrigin.originFingerprint, originFingerprint)) {
      this.#lastAsked = originFingerprint;
      return this.#lastOrigin;
    }
    const key = bytesToHex(originFingerprint);
    let draft = this.#origins.get(key) ?? null;
    if (draft === null) {
      const origin = this.state.origins.get(key);
      if (origin === undefined) return null;
      draft = draftOf(origin);
      this.#origins.set(key, draft);
    }
    this.#lastOrigin = draft;
    this.#lastAsked = originFingerprint;
    return draft;
  }

  /** Lists an origin, or moves it to another status. */
  setOriginStatus(originFingerprint: OriginFingerprint, status: OriginStatus): OriginDraft {
    const known = this.origin(originFingerprint);
    const draft = known ?? draftOf(emptyOriginState(originFingerprint, this.crypto.sha256));
    if (known === null) this.#origins.set(bytesToHex(originFingerprint), draft);
    if (known === null || known.status !== status) this.#originStatuses.push({ originFingerprint, status });
    draft.status = status;
    return draft;
  }

  /**
   * Appends the leaf that `make` builds on the header of its place. Separate from LeafWalk on purpose: that walk checks
   * the leaves that deciding makes.
   */
  append<Made extends Leaf>(origin: OriginDraft, make: (header: LeafHeader) => Made): Appended<Made> {
    const { originFingerprint } = origin;
    const depth = origin.tree.size;
    const leaf = make({
      originFingerprint,
      depth,
      parentAnchorId: origin.lastAnchorId,
      sequence: this.nextSequence,
      acceptedMs: this.acceptedMs,
    });
    const bytes = encodeLeaf(leaf);
    const write = this.#add(origin, leaf.kind, bytes, anchorIdOf(bytes, this.crypto.sha256));
    if (leaf.kind === LEAF_KIND.genesis || leaf.kind === LEAF_KIND.trustRoot) {
      const version = this.trustRootChain?.newest.trustRoot.version;
      if (version === undefined) throw new RangeError("a trust-root leaf comes with its version");
      this.#positions.push({ originFingerprint, leafIndex: depth, version });
    }
    return { leaf, write };
  }

  /** Appends the leaf of an unsigned event: what `append` would make of it, without the objects in between. */
  appendEvent(origin: OriginDraft, body: EventBody): LeafWrite {
    origin.events ??= new EventLeafWriter(origin.originFingerprint, this.acceptedMs);
    const place = { depth: origin.tree.size, parentAnchorId: origin.lastAnchorId, sequence: this.nextSequence };
    const anchorId = origin.events.write(place, body, this.crypto.sha256);
    return this.#add(origin, LEAF_KIND.event, copyOf(origin.events.leaf), anchorId);
  }

  #add(origin: OriginDraft, kind: LeafKind, bytes: Uint8Array, anchorId: AnchorId): LeafWrite {
    const { originFingerprint, tree, tiles } = origin;
    const depth = tree.size;
    const { nextSequence: sequence, acceptedMs } = this;
    const write: LeafWrite = { kind, originFingerprint, depth, sequence, acceptedMs, anchorId, bytes };
    this.#leaves.push(write);
    origin.lastAnchorId = anchorId;
    tree.append(anchorId);
    for (const tile of tiles.append(anchorId, tree)) this.#tiles.push({ originFingerprint, ...tile });
    return write;
  }

  /** The origins that this entry has added leaves to. */
  grown(): GrownOrigin[] {
    const origins = [...this.#origins.values()].filter(({ tree }) => tree.size > tree.base);
    return origins.map(({ originFingerprint, tree, tiles, lastAnchorId }) => {
      return { originFingerprint, tree, tiles, lastAnchorId };
    });
  }

  clientEvent(key: string): ClientEventFact | null {
    return this.#clientEventFacts.get(key) ?? this.facts.clientEvents.get(key) ?? null;
  }

  /** @param key clientEventKey of the write */
  addClientEvent(key: string, write: ClientEventWrite): void {
    this.#clientEvents.push(write);
    this.#clientEventFacts.set(key, { ...write, isErased: false });
  }

  /** An anchor of any earlier entry, or of an earlier command of this one. */
  anchor(anchorId: Uint8Array): AnchorFact | null {
    const key = bytesToHex(anchorId);
    const known = this.facts.anchors.get(key);
    if (known !== undefined) return known;
    for (; this.#anchorsIndexed < this.#leaves.length; this.#anchorsIndexed++) {
      const leaf = this.#leaves[this.#anchorsIndexed];
      if (leaf !== undefined) this.#anchors.set(bytesToHex(leaf.anchorId), leaf);
    }
    return this.#anchors.get(key) ?? null;
  }

  /** An anchor of an earlier entry. */
  earlierAnchor(anchorId: Uint8Array): FoundAnchor | null {
    return this.facts.anchors.get(bytesToHex(anchorId)) ?? null;
  }

  /** The claim that earlierAnchor has found. @throws LedgerHaltError `stored_state_inconsistent` */
  claimOf(anchorId: Uint8Array): ClaimRecord {
    const found = this.earlierAnchor(anchorId);
    return present(found === null ? null : this.records.claim(found.sequence), "claim", anchorId);
  }

  /** The grant that earlierAnchor has found. @throws LedgerHaltError `stored_state_inconsistent` */
  grantOf(anchorId: Uint8Array): GrantRecord {
    const found = this.earlierAnchor(anchorId);
    return present(found === null ? null : this.records.grant(found.sequence), "grant", anchorId);
  }

  /** Why a grant is not in force here, or null. @throws LedgerHaltError `stored_state_inconsistent` */
  grantFault(grant: GrantRecord): ForceFault | null {
    return this.#force.faultOf(grant, this.position);
  }

  /** The claim, grant or revocation that has this content already. */
  content(contentHash: Uint8Array): ContentFact | null {
    const key = bytesToHex(contentHash);
    return this.#contentFacts.get(key) ?? this.facts.contents.get(key) ?? null;
  }

  addContent(contentHash: Uint8Array, { anchorId, originFingerprint, sequence }: LeafWrite): void {
    const write = { contentHash, anchorId, originFingerprint, sequence };
    this.#contents.push(write);
    this.#contentFacts.set(bytesToHex(contentHash), write);
  }

  addRevocation(kind: "claim" | "grant", write: RevocationWrite): void {
    this.#revocations.push(write);
    this.records.revoke(kind, write.target, write.sequence);
  }

  isErased(anchorId: AnchorId): boolean {
    return this.#erasures.has(bytesToHex(anchorId));
  }

  addErasure(write: ErasureWrite): void {
    this.#erasures.set(bytesToHex(write.anchorId), write);
  }

  apiKey(keyId: Uint8Array): ApiKey | null {
    const key = keyIdHex(keyId);
    return this.#apiKeys.get(key) ?? this.state.apiKeys.get(key) ?? null;
  }

  /** Every key as this entry leaves the table so far. */
  *apiKeys(): Generator<ApiKey> {
    yield* this.#apiKeys.values();
    for (const [id, key] of this.state.apiKeys) if (!this.#apiKeys.has(id)) yield key;
  }

  putApiKey(key: ApiKey): void {
    this.#apiKeys.set(keyIdHex(key.keyId), key);
  }

  /** Counter of the operator's newest act; 0: there was none. */
  operatorCounter(operator: string): number {
    return this.#operatorCounters.get(operator) ?? this.state.operatorCounters.get(operator) ?? 0;
  }

  useOperatorCounter({ operator, counter }: OperatorAct): void {
    this.#operatorCounters.set(operator, counter);
  }

  addTrustRoot(write: TrustRootWrite): void {
    this.#trustRoots.push(write);
  }

  wasDecided(id: GroupId): boolean {
    return this.state.groupIds.has(id) || this.#groupIdMemory.has(id);
  }

  addGroupId(id: GroupId): void {
    this.#groupIds.push(id);
    this.#groupIdMemory.add(id, this.index);
  }

  writes(): EntryWrites {
    return {
      leaves: this.#leaves,
      clientEvents: this.#clientEvents,
      contents: this.#contents,
      claims: this.records.addedClaims(),
      grants: this.records.addedGrants(),
      endedClaims: this.records.endedClaims(),
      endedGrants: this.records.endedGrants(),
      revocations: this.#revocations,
      erasures: [...this.#erasures.values()],
      tiles: this.#tiles,
      certificates: this.certificates,
      apiKeys: [...this.#apiKeys.values()],
      operatorActs: [...this.#operatorCounters].map(([operator, counter]) => ({ operator, counter })),
      trustRoots: this.#trustRoots,
      originStatuses: this.#originStatuses,
      trustRootPositions: this.#positions,
      groupIds: this.#groupIds,
      forgetGroupIdsBelow: Math.max(0, this.index - LIMITS.groupIdEntriesKept),
    };
  }
}
