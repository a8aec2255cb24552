/** One replica: a state, and the tables that a store would hold beside it, built from the writes alone. */
import {
  EMPTY_SEMANTIC_ANCHOR,
  RecentTree,
  bytesToHex,
  equalBytes,
  emptyFrontier,
  subtreeHashInTile,
  toAnchorId,
  ZERO_32,
} from "@event-anchoring/protocol";
import type { AnchorId, OriginFingerprint } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  RULES_FIRST,
  RuleTable,
  advance,
  apiKeyIdOf,
  clientEventKey,
  decideEntry,
  decodeEntry,
  emptyLedgerState,
  encodeEntry,
  factsNeeded,
  needsCertifyPoint,
  tileLevelsAt,
} from "@event-anchoring/ledger";
import type {
  ApiKey,
  Certificate,
  CertificateWrite,
  ClientEventFact,
  Command,
  CommandOutcome,
  ContentFact,
  CreateApiKeyCommand,
  Credential,
  Entry,
  EntryDecision,
  EventInput,
  RecordOutcome,
  Facts,
  FoundAnchor,
  LeafWrite,
  LedgerState,
  OriginState,
  ProposalGroup,
  RecordEventsCommand,
  Scope,
  StoredLedger,
  StoredOrigin,
  StoredTrustRoot,
  TileWrite,
  TrustRootPosition,
} from "@event-anchoring/ledger";
import { TestActs } from "@event-anchoring/testkit/records";
import { CLUSTER_ID, GENESIS_DOCUMENT, NODE_A, OPERATOR, OPERATOR_SIGNER, hash, sha256 } from "./cluster.ts";
import { RecordTables } from "./record-tables.ts";

export const CLIENT_ID = hash("client").slice(0, 16);
export const KEY_HASH = hash("key");
export const CREDENTIAL = { apiClientId: CLIENT_ID, keyId: apiKeyIdOf(KEY_HASH) };

export const CREATE_KEY: CreateApiKeyCommand = {
  kind: "create_api_key",
  key: {
    keyHash: KEY_HASH,
    apiClientId: CLIENT_ID,
    label: "first",
    scopes: ["read", "write"],
    expiresMs: 0,
    requestsPerSecond: 0,
  },
};

/** Makes a key of an API client that has the name of the key. */
export function keyCommand(
  name: string,
  scopes: readonly Scope[],
  more: Partial<CreateApiKeyCommand["key"]> = {},
): CreateApiKeyCommand {
  const apiClientId = hash(`client ${name}`).slice(0, 16);
  const key = { keyHash: hash(name), apiClientId, label: name, scopes, expiresMs: 0, requestsPerSecond: 0, ...more };
  return { kind: "create_api_key", key };
}

/** What a command says that is made with the key of this name. */
export function credentialOf(name: string): Credential {
  return { apiClientId: hash(`client ${name}`).slice(0, 16), keyId: hash(name).slice(0, 16) };
}

/** The code of a rejection; else what the outcome is. */
export function codeOf(outcome: RecordOutcome | CommandOutcome): string {
  if ("rejection" in outcome) return outcome.rejection.code;
  if ("status" in outcome) return outcome.status;
  const [first] = outcome.kind === "records" && outcome.records.length === 1 ? outcome.records : [];
  return first === undefined ? outcome.kind : codeOf(first);
}

export function event(label: string, more: Partial<EventInput> = {}): EventInput {
  const { clientEventId = null } = more;
  return {
    originFingerprint: NODE_A.originFingerprint,
    eventHash: hash(label),
    semanticAnchor: EMPTY_SEMANTIC_ANCHOR,
    clientEventSalt: clientEventId === null ? null : hash(`salt ${label}`),
    actor: null,
    ...more,
    clientEventId,
  };
}

export function record(events: readonly EventInput[], more: Partial<RecordEventsCommand> = {}): RecordEventsCommand {
  return { kind: "record_events", credential: CREDENTIAL, atomic: false, events, ...more };
}

interface Tables {
  readonly leaves: LeafWrite[];
  readonly clientEvents: Map<string, ClientEventFact>;
  readonly anchors: Map<string, FoundAnchor>;
  readonly contents: Map<string, ContentFact>;
  readonly records: RecordTables;
  readonly tiles: TileWrite[];
  readonly certificates: Map<string, CertificateWrite>;
  readonly apiKeys: Map<string, ApiKey>;
  readonly operatorCounters: Map<string, number>;
  readonly trustRoots: StoredTrustRoot[];
  readonly statuses: Map<string, StoredOrigin["status"]>;
  readonly positions: Map<string, TrustRootPosition[]>;
  readonly groupIds: StoredLedger["groupIds"][number][];
}

/** The rows of a table that are asked for. */
function found<Row>(table: ReadonlyMap<string, Row>, asked: readonly Uint8Array[]): Map<string, Row> {
  const rows = new Map<string, Row>();
  for (const id of asked) {
    const key = bytesToHex(id);
    const row = table.get(key);
    if (row !== undefined) rows.set(key, row);
  }
  return rows;
}

/** What a program after this one could decide by: rules 2 exist in tests alone. */
export const NEXT_RULES = new RuleTable([1, 2]);

export class LedgerHarness {
  state: LedgerState = emptyLedgerState(sha256, NEXT_RULES);
  clockMs = 1_800_000_000_000;
  #counter = 0;
  #end = { rules: RULES_FIRST, stampMs: 0, groupIdsHash: ZERO_32, clientEventsHash: ZERO_32 };
  readonly tables: Tables = {
    leaves: [],
    clientEvents: new Map(),
    anchors: new Map(),
    contents: new Map(),
    records: new RecordTables(sha256),
    tiles: [],
    certificates: new Map(),
    apiKeys: new Map(),
    operatorCounters: new Map(),
    trustRoots: [],
    statuses: new Map(),
    positions: new Map(),
    groupIds: [],
  };

  readonly acts = new TestActs({ clusterId: CLUSTER_ID, epoch: 0 }, OPERATOR, OPERATOR_SIGNER.sign);

  /** A ledger with genesis and one key. */
  static started(): LedgerHarness {
    const ledger = new LedgerHarness();
    ledger.run({ kind: "genesis", document: GENESIS_DOCUMENT });
    ledger.run(CREATE_KEY);
    return ledger;
  }

  /** Commands of operators are signed by the one whom the trust root lists. */
  group(...commands: readonly Command[]): ProposalGroup {
    return this.groupAsIs(...commands.map((command) => this.acts.signed(command)));
  }

  /** What operators do is not signed for them. */
  groupAsIs(...commands: readonly Command[]): ProposalGroup {
    const id = { node: 7n, incarnation: 1, counter: this.#counter++ };
    return { id, notAfter: this.state.appliedIndex + 50_000, commands };
  }

  entry(groups: readonly ProposalGroup[], certificates: readonly Certificate[] = []): Entry {
    this.clockMs += 10;
    const certify = groups.some((group) => group.commands.some(needsCertifyPoint));
    const { entryVersion: version } = NEXT_RULES.of(this.state.rules);
    return { version, certify, acceptedMs: this.clockMs, certificates, groups };
  }

  /** What is found of what the entry asks for, and nothing else. */
  facts(entry: Entry): Facts {
    const query = factsNeeded(entry, this.state);
    const { tables } = this;
    const clientEvents = new Map<string, ClientEventFact>();
    for (const { apiClientId, clientEventId } of query.clientEvents) {
      const key = clientEventKey(apiClientId, clientEventId);
      const found = tables.clientEvents.get(key);
      if (found !== undefined) clientEvents.set(key, found);
    }
    const anchors = found(tables.anchors, [...query.anchors, ...query.records]);
    const contents = found(tables.contents, query.contents);
    const sequenceOf = (id: AnchorId): number | null => tables.anchors.get(bytesToHex(id))?.sequence ?? null;
    return { clientEvents, anchors, contents, records: tables.records.load(query, sequenceOf) };
  }

  decide(entry: Entry): EntryDecision {
    const decoded = decodeEntry(encodeEntry(entry), NEXT_RULES);
    const committed = { index: this.state.appliedIndex + 1, term: 3, entry: decoded };
    return decideEntry(this.state, committed, this.facts(decoded), nodeCrypto);
  }

  apply(entry: Entry): EntryDecision {
    const decision = this.decide(entry);
    advance(this.state, decision);
    this.#store(decision);
    return decision;
  }

  /** One command in an entry of its own. */
  run(command: Command): CommandOutcome {
    const outcome = this.apply(this.entry([this.group(command)])).outcomes[0];
    const first = outcome?.status === "decided" ? outcome.commands[0] : undefined;
    if (first === undefined) throw new Error(`the group is ${outcome?.status}`);
    return first;
  }

  /** Several commands in one entry. */
  runTogether(...commands: readonly Command[]): readonly CommandOutcome[] {
    const [outcome] = this.apply(this.entry([this.group(...commands)])).outcomes;
    if (outcome?.status !== "decided") throw new Error(`the group is ${outcome?.status}`);
    return outcome.commands;
  }

  /** One command with one record. @throws if it is not accepted */
  acceptRecord(command: Command): LeafWrite {
    const outcome = this.run(command);
    const [first] = outcome.kind === "records" ? outcome.records : [];
    if (first?.status !== "accepted") throw new Error(`the record is ${codeOf(outcome)}`);
    return first.leaf;
  }

  /** One event in an entry of its own. */
  runEvent(input: EventInput): RecordOutcome {
    const outcome = this.run(record([input]));
    const first = outcome.kind === "records" ? outcome.records[0] : undefined;
    if (first === undefined) throw new Error(`the batch is ${outcome.kind}`);
    return first;
  }

  /** @throws if the event is not accepted */
  accept(input: EventInput): LeafWrite {
    const outcome = this.runEvent(input);
    if (outcome.status !== "accepted") throw new Error(`the event is ${outcome.status}`);
    return outcome.leaf;
  }

  origin(originFingerprint: OriginFingerprint): OriginState {
    const origin = this.state.origins.get(bytesToHex(originFingerprint));
    if (origin === undefined) throw new Error("no such origin");
    return origin;
  }

  /** Own size and root of an origin. */
  head(
    originFingerprint: OriginFingerprint,
    treeSize = this.origin(originFingerprint).tree.size,
  ): { originFingerprint: OriginFingerprint; treeSize: number; rootHash: Uint8Array } {
    return { originFingerprint, treeSize, rootHash: this.origin(originFingerprint).tree.rootAt(treeSize) };
  }

  #store(decision: EntryDecision): void {
    const { tables } = this;
    const { writes } = decision;
    for (const leaf of writes.leaves) {
      tables.leaves.push(leaf);
      const { kind, sequence, originFingerprint, depth } = leaf;
      const event = writes.clientEvents.find((write) => write.sequence === sequence);
      const clientEvent = event === undefined ? null : { apiClientId: event.apiClientId, isErased: false };
      tables.anchors.set(bytesToHex(leaf.anchorId), { kind, sequence, originFingerprint, depth, clientEvent });
    }
    for (const write of writes.clientEvents) {
      const fact = { ...write, isErased: false };
      tables.clientEvents.set(clientEventKey(write.apiClientId, write.clientEventId), fact);
    }
    for (const { anchorId } of writes.erasures) {
      const anchor = tables.anchors.get(bytesToHex(anchorId));
      const clientEvent = anchor?.clientEvent && { ...anchor.clientEvent, isErased: true };
      if (anchor && clientEvent) tables.anchors.set(bytesToHex(anchorId), { ...anchor, clientEvent });
      for (const [key, fact] of tables.clientEvents) {
        if (equalBytes(fact.anchorId, anchorId)) tables.clientEvents.set(key, { ...fact, isErased: true });
      }
    }
    for (const write of writes.contents) tables.contents.set(bytesToHex(write.contentHash), write);
    tables.records.write(writes);
    tables.tiles.push(...writes.tiles);
    for (const write of writes.certificates) tables.certificates.set(bytesToHex(write.originFingerprint), write);
    for (const key of writes.apiKeys) tables.apiKeys.set(bytesToHex(key.keyId), key);
    for (const { operator, counter } of writes.operatorActs) tables.operatorCounters.set(operator, counter);
    tables.trustRoots.push(...writes.trustRoots);
    for (const write of writes.originStatuses) tables.statuses.set(bytesToHex(write.originFingerprint), write.status);
    for (const { originFingerprint, leafIndex, version } of writes.trustRootPositions) {
      const key = bytesToHex(originFingerprint);
      tables.positions.set(key, [...(tables.positions.get(key) ?? []), { leafIndex, version }]);
    }
    for (const id of writes.groupIds) tables.groupIds.push({ ...id, index: decision.index });
    const { rules, stampMs, groupIdsHash, clientEventsHash } = decision;
    this.#end = { rules, stampMs, groupIdsHash, clientEventsHash };
  }

  /** What a store would load: from the tables, and not from the state. */
  stored(): StoredLedger {
    const { tables, state } = this;
    return {
      appliedIndex: state.appliedIndex,
      appliedTerm: state.appliedTerm,
      effect: state.effect,
      nextSequence: tables.leaves.length,
      lastAcceptedMs: tables.leaves.at(-1)?.acceptedMs ?? 0,
      ...this.#end,
      trustRoots: tables.trustRoots,
      origins: [...tables.statuses.keys()].map((key) => this.#storedOrigin(key)),
      apiKeys: [...tables.apiKeys.values()],
      operatorActs: [...tables.operatorCounters].map(([operator, counter]) => ({ operator, counter })),
      groupIds: tables.groupIds.filter(({ index }) => index >= state.appliedIndex - 50_000),
    };
  }

  #storedOrigin(key: string): StoredOrigin {
    const { tables } = this;
    const leaves = tables.leaves.filter((leaf) => bytesToHex(leaf.originFingerprint) === key);
    const ids = leaves.map((leaf) => leaf.anchorId);
    const certificate = tables.certificates.get(key);
    const tree = new RecentTree(emptyFrontier(), sha256);
    for (const id of ids.slice(0, certificate?.treeSize ?? 0)) tree.append(id);
    const status = tables.statuses.get(key);
    const first = leaves[0];
    if (status === undefined || first === undefined) throw new Error("an origin has a status and leaves");
    return {
      originFingerprint: first.originFingerprint,
      status,
      treeSize: ids.length,
      lastAnchorId: ids.at(-1) ?? toAnchorId(new Uint8Array(32)),
      certified: certificate === undefined ? null : { ...certificate },
      frontierAtCertified: tree.frontierAt(tree.size),
      leavesSinceCertified: ids.slice(tree.size),
      openTiles: openTilesOf(
        ids,
        tables.tiles.filter((tile) => bytesToHex(tile.originFingerprint) === key),
      ),
      trustRootPositions: tables.positions.get(key) ?? [],
    };
  }
}

/** Level 0 from the anchor ids, the levels above from the roots of stored tiles. */
function openTilesOf(ids: readonly AnchorId[], tiles: readonly TileWrite[]): Uint8Array[][] {
  const levels = tileLevelsAt(ids.length);
  return Array.from({ length: levels }, (_, level) => {
    const hashes = level === 0 ? ids : tiles.filter((tile) => tile.level === level - 1).map((tile) => tile.root);
    return hashes.slice(Math.floor(hashes.length / 256) * 256);
  });
}

/** The root that a complete tile must have. */
export function tileRoot(tile: TileWrite): Uint8Array {
  return subtreeHashInTile(tile.hashes, 0, 256, sha256);
}
