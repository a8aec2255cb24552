/** A ledger in memory that decides entries, and the store beside it that is given every decision. */
import {
  SCOPES,
  advance,
  apiKeyIdOf,
  decideEntry,
  emptyLedgerState,
  factsNeeded,
  needsCertifyPoint,
  restoreLedgerState,
} from "@event-anchoring/ledger";
import type {
  Certificate,
  Command,
  Entry,
  EntryDecision,
  EventInput,
  FactsQuery,
  LedgerState,
  OriginState,
  StoredLedger,
} from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { NEXT_RULES } from "@event-anchoring/testkit/records";
import { EMPTY_SEMANTIC_ANCHOR, bytesToHex, toAnchorId } from "@event-anchoring/protocol";
import type { AnchorId, OriginFingerprint } from "@event-anchoring/protocol";
import { LedgerStore } from "../../src/index.ts";
import type { RunSizes } from "../../src/tables/look-up-runs.ts";
import { ACTS, GENESIS_DOCUMENT, ORIGINS, certify, hash } from "./cluster.ts";

export const CLIENT_ID = hash("client").slice(0, 16);
const KEY_HASH = hash("key");
export const CREDENTIAL = { apiClientId: CLIENT_ID, keyId: apiKeyIdOf(KEY_HASH) };

const CREATE_KEY: Command = {
  kind: "create_api_key",
  key: {
    keyHash: KEY_HASH,
    apiClientId: CLIENT_ID,
    label: "first key",
    scopes: [...SCOPES],
    expiresMs: 0,
    requestsPerSecond: 7,
  },
};

export function originAt(position: number): OriginFingerprint {
  const origin = ORIGINS[position];
  if (origin === undefined) throw new RangeError(`no origin ${position}`);
  return origin;
}

/** To be filled in with what a test asks for. */
export const NOTHING_ASKED: FactsQuery = {
  clientEvents: [],
  anchors: [],
  contents: [],
  claimPairs: [],
  records: [],
  grantParties: [],
};

/** An event that only the label decides. */
export function event(label: string, more: Partial<EventInput> = {}): EventInput {
  const { clientEventId = null } = more;
  return {
    originFingerprint: originAt(0),
    eventHash: hash(label),
    semanticAnchor: EMPTY_SEMANTIC_ANCHOR,
    actor: null,
    clientEventSalt: clientEventId === null ? null : hash(`salt ${label}`),
    ...more,
    clientEventId,
  };
}

export function events(count: number, label: string, origin = originAt(0)): EventInput[] {
  return Array.from({ length: count }, (_, position) =>
    event(`${label} ${position}`, { originFingerprint: origin, clientEventId: `${label}-${position}` }),
  );
}

/** A store as far as deciding and applying take it. */
type DecidingStore = Pick<LedgerStore, "loadFacts" | "apply">;

export class StoredLedgerHarness<Store extends DecidingStore = LedgerStore> {
  readonly credential = CREDENTIAL;
  readonly store: Store;
  state: LedgerState;
  clockMs = 1_800_000_000_000;
  #counter = 0;
  readonly #onApplied: (decision: EntryDecision) => void;

  constructor(store: Store, state: LedgerState, onApplied: (decision: EntryDecision) => void = () => undefined) {
    this.store = store;
    this.state = state;
    this.#onApplied = onApplied;
  }

  /** Opens a store on an empty database. */
  static async open(
    url: string,
    onApplied?: (decision: EntryDecision) => void,
    runSizes?: RunSizes,
  ): Promise<StoredLedgerHarness> {
    const store = await LedgerStore.open({ url, ...(runSizes === undefined ? {} : { runSizes }) });
    await store.load();
    return new StoredLedgerHarness(store, emptyLedgerState(nodeCrypto.sha256, NEXT_RULES), onApplied);
  }

  /** A ledger with genesis and one API key. */
  static async started(
    url: string,
    onApplied?: (decision: EntryDecision) => void,
    runSizes?: RunSizes,
  ): Promise<StoredLedgerHarness> {
    const harness = await StoredLedgerHarness.open(url, onApplied, runSizes);
    await harness.begin();
    return harness;
  }

  /** The same ledger, of which another store is given what follows. */
  on<Other extends DecidingStore>(store: Other, onApplied = this.#onApplied): StoredLedgerHarness<Other> {
    const harness = new StoredLedgerHarness(store, this.state, onApplied);
    harness.clockMs = this.clockMs;
    harness.#counter = this.#counter;
    return harness;
  }

  /** Genesis and one API key. */
  async begin(): Promise<void> {
    await this.run([{ kind: "genesis", document: GENESIS_DOCUMENT }]);
    await this.run([CREATE_KEY]);
  }

  entry(commands: readonly Command[], certificates: readonly Certificate[] = []): Entry {
    this.clockMs += 10;
    const id = { node: 0xfedc_ba98_7654_3210n, incarnation: this.state.appliedIndex, counter: this.#counter++ };
    const signed = commands.map((command) => ACTS.signed(command));
    const groups = signed.length === 0 ? [] : [{ id, notAfter: this.state.appliedIndex + 50_000, commands: signed }];
    const { entryVersion: version } = this.state.ruleTable.of(this.state.rules);
    return { version, certify: commands.some(needsCertifyPoint), acceptedMs: this.clockMs, certificates, groups };
  }

  async decide(entry: Entry): Promise<EntryDecision> {
    const facts = await this.store.loadFacts(factsNeeded(entry, this.state));
    return decideEntry(this.state, { index: this.state.appliedIndex + 1, term: 3, entry }, facts, nodeCrypto);
  }

  async apply(entry: Entry): Promise<EntryDecision> {
    const decision = await this.decide(entry);
    await this.store.apply({ decision, confState: null });
    advance(this.state, decision);
    this.#onApplied(decision);
    return decision;
  }

  async run(commands: readonly Command[]): Promise<EntryDecision> {
    return this.apply(this.entry(commands));
  }

  async record(inputs: readonly EventInput[]): Promise<EntryDecision> {
    return this.run([{ kind: "record_events", credential: CREDENTIAL, atomic: false, events: inputs }]);
  }

  /** Has a certificate over an origin's tree as it is. */
  certificateEntry(originFingerprint: OriginFingerprint): Entry {
    const { tree } = this.origin(originFingerprint);
    return this.entry([], [certify(originFingerprint, tree.size, tree.rootAt(tree.size))]);
  }

  /** Records a certificate over an origin's tree as it is. */
  async certify(originFingerprint: OriginFingerprint): Promise<EntryDecision> {
    return this.apply(this.certificateEntry(originFingerprint));
  }

  origin(originFingerprint: OriginFingerprint): OriginState {
    const origin = this.state.origins.get(bytesToHex(originFingerprint));
    if (origin === undefined) throw new RangeError("the origin is not listed yet");
    return origin;
  }
}

function anchorIdsFrom(origin: OriginState, from: number): AnchorId[] {
  return Array.from({ length: origin.tree.size - from }, (_, position) => {
    const hashed = origin.tree.subtree(0, from + position);
    if (hashed === undefined) throw new RangeError(`leaf ${from + position} is no longer held`);
    return toAnchorId(hashed);
  });
}

/** The parts that a store must give back for a state: built from memory, and from nothing else. */
export function partsOf(state: LedgerState): StoredLedger {
  return {
    appliedIndex: state.appliedIndex,
    appliedTerm: state.appliedTerm,
    effect: state.effect,
    nextSequence: state.nextSequence,
    lastAcceptedMs: state.lastAcceptedMs,
    rules: state.rules,
    stampMs: state.stampMs,
    groupIdsHash: state.groupIdsHash,
    clientEventsHash: state.clientEventsHash,
    trustRoots: (state.trustRootChain?.versions ?? []).map(({ trustRoot, note }) => ({
      version: trustRoot.version,
      document: note,
    })),
    origins: [...state.origins.values()].map((origin) => ({
      originFingerprint: origin.originFingerprint,
      status: origin.status,
      treeSize: origin.tree.size,
      lastAnchorId: origin.lastAnchorId,
      certified: origin.certified,
      frontierAtCertified: origin.tree.frontierAt(origin.certified?.treeSize ?? 0),
      leavesSinceCertified: anchorIdsFrom(origin, origin.certified?.treeSize ?? 0),
      openTiles: origin.tiles.openTiles(),
      trustRootPositions: origin.trustRootPositions,
    })),
    apiKeys: [...state.apiKeys.values()],
    operatorActs: [...state.operatorCounters].map(([operator, counter]) => ({ operator, counter })),
    groupIds: state.groupIds.entries(),
  };
}

/** A state made of what a newly opened store loads. */
export async function reopened(url: string): Promise<{ store: LedgerStore; state: LedgerState; ledger: StoredLedger }> {
  const store = await LedgerStore.open({ url });
  const { ledger } = await store.load();
  return { store, state: restoreLedgerState(ledger, nodeCrypto, NEXT_RULES), ledger };
}
