/**
 * Turns the records of a snapshot into rows: each hash, place and look-up is derived anew, and a contradiction is
 * refused.
 */
import {
  CLIENT_EVENT_PREFIX_BYTES,
  LeafWalk,
  RELEASE_RULES,
  RULES_FIRST,
  clientEventLookup,
  eventContentHash,
  judgingVersion,
  nextClientEventsHash,
  nextGroupIdsHash,
} from "@event-anchoring/ledger";
import type {
  ApiKey,
  CertificateWrite,
  EntryWrites,
  LeafWrite,
  OperatorAct,
  RuleTable,
  WalkedLeaf,
  WalkedOrigin,
} from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  LEAF_KIND,
  ZERO_32,
  bytesToHex,
  clientEventCommit,
  decodeLeaf,
  emptyFrontier,
  equalBytes,
  frontierRoot,
  isZero,
  isNodeId,
} from "@event-anchoring/protocol";
import type { Leaf, OriginFingerprint, TrustRootChain } from "@event-anchoring/protocol";
import type { ErasedClientEvent } from "../ledger/apply.ts";
import { namesRecorder } from "../tables/anchors.ts";
import { decodeGroupIds } from "../tables/group-ids.ts";
import type { GroupIdsRow } from "../tables/group-ids.ts";
import type {
  SnapshotCertificate,
  SnapshotClientEvent,
  SnapshotGroupIds,
  SnapshotHeader,
  SnapshotLeaf,
  SnapshotRecord,
} from "./snapshot-format.ts";
import { isRecordLeaf, namesOneOf } from "./snapshot-records.ts";
import type { RecordLeaf } from "./snapshot-records.ts";
import { refuse, refuseUnless, verifiedChain, verifyCertificate } from "./snapshot-signatures.ts";

const { sha256 } = nodeCrypto;

type MutableWrites = {
  -readonly [List in keyof EntryWrites]: EntryWrites[List] extends readonly (infer Row)[] ? Row[] : EntryWrites[List];
};

function noWrites(): MutableWrites {
  return {
    leaves: [],
    clientEvents: [],
    contents: [],
    claims: [],
    grants: [],
    endedClaims: [],
    endedGrants: [],
    revocations: [],
    erasures: [],
    tiles: [],
    certificates: [],
    apiKeys: [],
    operatorActs: [],
    trustRoots: [],
    originStatuses: [],
    trustRootPositions: [],
    groupIds: [],
    forgetGroupIdsBelow: 0,
  };
}

/** One origin of the snapshot, recomputed from its leaves. */
export interface RebuiltOrigin {
  readonly originFingerprint: OriginFingerprint;
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
}

/** The rows that records give. */
export interface RebuiltRows {
  /** Without the rows derived from claims, grants and revocations. */
  readonly writes: EntryWrites;
  readonly erased: readonly ErasedClientEvent[];
  /** Claims, grants and revocations among the leaves. */
  readonly recordLeaves: readonly RecordLeaf[];
  readonly groupIds: readonly GroupIdsRow[];
}

/** Which records may come after which; a record out of its place is refused. */
const ORDER: Readonly<Record<SnapshotRecord["type"], number>> = {
  header: 0,
  trust_root: 1,
  state_head: 2,
  api_key: 3,
  operator: 4,
  group_ids: 5,
  leaf: 6,
  certificate: 6,
  end: 7,
};

const ONCE: readonly SnapshotRecord["type"][] = ["header", "state_head", "end"];

/**
 * Takes records in order and returns, with `take`, the rows that they give. The trust-root chain is complete once the
 * first record after the documents has arrived.
 */
export class SnapshotRebuild {
  readonly #ruleTable: RuleTable;
  #header: SnapshotHeader | null = null;
  #place = -1;
  readonly #documents: string[] = [];
  #hasChain = false;
  readonly #walk = new LeafWalk(sha256, ({ sequence, is, shouldBe }) => {
    throw refuse(`leaf ${sequence}: ${is}, should be ${shouldBe}`);
  });
  readonly #newestCertificates = new Map<WalkedOrigin, CertificateWrite>();
  #lastOrigin: WalkedOrigin | null = null;
  /** A certificate follows the leaf that completes its tree, at most one. */
  #mayCertify = false;
  #lastGroupIndex = -1;
  /** The newest acts that API keys name, of operators that have not arrived yet. */
  readonly #actsOfKeys = new Map<string, number>();
  #lastOperator = "";
  #writes = noWrites();
  #erased: ErasedClientEvent[] = [];
  #recordLeaves: RecordLeaf[] = [];
  /** Hex of the anchor ids of the claims among them. */
  #claims = new Set<string>();
  #groupIds: GroupIdsRow[] = [];
  #stateHead: string | null = null;
  #groupIdsHash: Uint8Array = ZERO_32;
  #clientEventsHash: Uint8Array = ZERO_32;

  /** @param ruleTable the rules that the program that goes on from here can decide by */
  constructor(ruleTable: RuleTable = RELEASE_RULES) {
    this.#ruleTable = ruleTable;
  }

  /** The header; it has arrived with the first record. */
  get header(): SnapshotHeader {
    if (this.#header === null) throw refuse("the snapshot does not begin with a header");
    return this.#header;
  }

  get isEnded(): boolean {
    return this.#place === ORDER.end;
  }

  /** All trust roots have arrived and were verified as a chain. */
  get hasChain(): boolean {
    return this.#hasChain;
  }

  /** null: there was no genesis yet. */
  get chain(): TrustRootChain | null {
    return this.#walk.chain;
  }

  /** The signed note of the state head; null: the snapshot has none. */
  get stateHead(): string | null {
    return this.#stateHead;
  }

  /** Running hashes over what has arrived. */
  get runningHashes(): { readonly groupIdsHash: Uint8Array; readonly clientEventsHash: Uint8Array } {
    return { groupIdsHash: this.#groupIdsHash, clientEventsHash: this.#clientEventsHash };
  }

  /** The tree that the newest leaf has grown. */
  get newestTree(): WalkedOrigin {
    if (this.#lastOrigin === null) throw refuse("the snapshot has no leaf");
    return this.#lastOrigin;
  }

  /** Rows since the last call. */
  take(): RebuiltRows {
    const taken = {
      writes: this.#writes,
      erased: this.#erased,
      recordLeaves: this.#recordLeaves,
      groupIds: this.#groupIds,
    };
    this.#writes = noWrites();
    this.#erased = [];
    this.#recordLeaves = [];
    this.#claims = new Set();
    this.#groupIds = [];
    return taken;
  }

  /** True if the waiting rows must be written before this record is added, because it depends on one of them. */
  standsOnWaiting(record: SnapshotRecord): boolean {
    if (record.type !== "leaf" || this.#claims.size === 0) return false;
    const leaf = decodeLeaf(record.bytes);
    return leaf.kind === LEAF_KIND.grant && namesOneOf(leaf, this.#claims);
  }

  /** @throws StoreError `snapshot_refused` */
  add(record: SnapshotRecord): void {
    const place = ORDER[record.type];
    const isInPlace = place >= this.#place && (this.#place >= 0 || record.type === "header");
    const isAgain = place === this.#place && ONCE.includes(record.type);
    refuseUnless(isInPlace && !isAgain, () => `a ${record.type} is out of its place`);
    this.#place = place;
    if (place > ORDER.trust_root && !this.#hasChain) this.#startChain();
    switch (record.type) {
      case "header":
        this.#addHeader(record);
        return;
      case "trust_root":
        this.#documents.push(record.document);
        return;
      case "state_head":
        this.#stateHead = record.note;
        return;
      case "api_key":
        this.#addApiKey(record.apiKey);
        return;
      case "operator":
        this.#addOperator(record.act);
        return;
      case "group_ids":
        this.#addGroupIds(record);
        return;
      case "leaf":
        this.#addLeaf(record);
        return;
      case "certificate":
        this.#addCertificate(record);
        return;
      case "end":
        this.#end();
        return;
      default:
        throw refuse("an unknown record");
    }
  }

  /** This program cannot go on by rules that a newer program raised. */
  #addHeader(header: SnapshotHeader): void {
    const { rules, stampMs, lastAcceptedMs } = header;
    const { max } = this.#ruleTable;
    refuseUnless(rules >= RULES_FIRST && rules <= max, () => `rules ${rules}, this program has ${max}`);
    refuseUnless(stampMs >= lastAcceptedMs, () => `the time is ${stampMs}, the newest leaf's ${lastAcceptedMs}`);
    this.#header = header;
    this.#groupIdsHash = header.groupIdsHashBefore;
  }

  #startChain(): void {
    this.#hasChain = true;
    const chain = verifiedChain(this.#documents);
    this.#walk.setChain(chain);
    for (const { originFingerprint, status } of chain?.newest.trustRoot.origins ?? []) {
      this.#writes.originStatuses.push({ originFingerprint, status });
    }
  }

  #addGroupIds({ index, groups }: SnapshotGroupIds): void {
    refuseUnless(index > this.#lastGroupIndex, () => `group ids of ${index} are out of order`);
    this.#lastGroupIndex = index;
    this.#groupIds.push({ index, groups, hashBefore: this.#groupIdsHash });
    this.#groupIdsHash = nextGroupIdsHash(
      this.#groupIdsHash,
      { index, groupIds: decodeGroupIds(groups, index) },
      sha256,
    );
  }

  #addApiKey(key: ApiKey): void {
    const isNamed = equalBytes(key.keyId, key.keyHash.slice(0, 16));
    refuseUnless(isNamed, () => `API key ${bytesToHex(key.keyId)} is not named by its hash`);
    this.#writes.apiKeys.push(key);
    for (const { operator, counter } of [key.createdBy, ...(key.endedBy === null ? [] : [key.endedBy])]) {
      this.#actsOfKeys.set(operator, Math.max(counter, this.#actsOfKeys.get(operator) ?? 0));
    }
  }

  /** Ascending by name; an act that a key names is not above the newest one. */
  #addOperator(act: OperatorAct): void {
    const { operator, counter } = act;
    const isNext = isNodeId(operator) && operator > this.#lastOperator;
    refuseUnless(isNext, () => `operator ${JSON.stringify(operator)} is misnamed, or out of order`);
    this.#lastOperator = operator;
    const named = this.#actsOfKeys.get(operator) ?? 0;
    refuseUnless(counter >= named, () => `a key names act ${named} of ${operator}, the newest is ${counter}`);
    this.#actsOfKeys.delete(operator);
    this.#writes.operatorActs.push(act);
  }

  #addLeaf({ bytes, clientEvent, recordedBy }: SnapshotLeaf): void {
    const walked = this.#walk.place(bytes, null);
    if (walked === null || walked.origin === null) throw refuse("a leaf has no place");
    const { leaf, anchorId, origin, tiles } = walked;
    const { kind, depth, sequence, acceptedMs } = leaf;
    const { originFingerprint } = origin;
    const write: LeafWrite = { kind, originFingerprint, depth, sequence, acceptedMs, anchorId, bytes };
    this.#writes.leaves.push(write);
    this.#addClientEvent(leaf, write, clientEvent);
    const isRecorderMeant = namesRecorder(kind) === (recordedBy !== null);
    refuseUnless(isRecorderMeant, () => `leaf ${sequence} says wrongly who recorded it`);
    if (isRecordLeaf(leaf)) this.#recordLeaves.push({ leaf, anchorId, recordedBy });
    if (kind === LEAF_KIND.claim) this.#claims.add(bytesToHex(anchorId));
    this.#addPosition(walked, originFingerprint);
    for (const tile of tiles) this.#writes.tiles.push({ originFingerprint, ...tile });
    this.#lastOrigin = origin;
    this.#mayCertify = true;
  }

  /** A leaf commits to id and salt: they cannot be added later, and are missing only if they were erased. */
  #addClientEvent(leaf: Leaf, write: LeafWrite, clientEvent: SnapshotClientEvent | null): void {
    const { sequence } = leaf;
    const isEvent = leaf.kind === LEAF_KIND.event || leaf.kind === LEAF_KIND.signedEvent;
    const commit = isEvent ? leaf.clientEventCommit : ZERO_32;
    const isMeant =
      clientEvent === null || clientEvent.isErased
        ? isZero(commit) === (clientEvent === null)
        : equalBytes(commit, clientEventCommit(clientEvent.salt, clientEvent.clientEventId, sha256));
    refuseUnless(isMeant, () => `leaf ${sequence} has another client event id`);
    if (!isEvent || clientEvent === null) return;
    const contentHash = eventContentHash(leaf, sha256);
    const mark = { sequence, apiClientId: clientEvent.apiClientId, prefix: prefixOf(clientEvent) };
    this.#clientEventsHash = nextClientEventsHash(this.#clientEventsHash, mark, sha256);
    if (clientEvent.isErased) {
      const { apiClientId, prefix } = clientEvent;
      this.#erased.push({ sequence, apiClientId, prefix, contentHash });
      return;
    }
    const { apiClientId, clientEventId, salt } = clientEvent;
    const { anchorId, originFingerprint } = write;
    const ofClient = { apiClientId, clientEventId, salt };
    this.#writes.clientEvents.push({ ...ofClient, anchorId, originFingerprint, sequence, contentHash });
  }

  /** Genesis and trust-root leaves mark where a version begins to judge their origin. */
  #addPosition({ leaf: { sequence, depth }, announces }: WalkedLeaf, originFingerprint: OriginFingerprint): void {
    if (announces === null) return;
    const { trustRoot, rootThk, note } = announces;
    const { version } = trustRoot;
    if (this.#walk.announcedAt[version - 1] === sequence) {
      this.#writes.trustRoots.push({ version, rootThk, document: note, sequence });
    }
    this.#writes.trustRootPositions.push({ originFingerprint, leafIndex: depth, version });
  }

  #addCertificate(record: SnapshotCertificate): void {
    const origin = this.#lastOrigin;
    if (origin === null || !this.#mayCertify) throw refuse("a certificate does not follow the leaf it covers");
    this.#mayCertify = false;
    const { originFingerprint } = origin;
    const treeSize = origin.frontier.size;
    const name = `the certificate of size ${treeSize} of origin ${bytesToHex(originFingerprint)}`;
    const isRoot = equalBytes(frontierRoot(origin.frontier, sha256), record.rootHash);
    refuseUnless(isRoot, () => `${name} is over another root`);
    refuseUnless(record.trustRootVersion === judgingVersion(origin), () => `${name} names another trust root`);
    const { rootHash, certifiedAtS, trustRootVersion, cosignatures } = record;
    const write = { originFingerprint, treeSize, rootHash, certifiedAtS, trustRootVersion, cosignatures };
    this.#newestCertificates.set(origin, write);
    this.#writes.certificates.push(write);
  }

  #end(): void {
    const { header } = this;
    this.#walk.end();
    const { nextSequence, lastAcceptedMs, announcedAt, chain } = this.#walk;
    const isWhole = nextSequence === header.nextSequence && lastAcceptedMs === header.lastAcceptedMs;
    refuseUnless(isWhole, () => `the leaves end at ${nextSequence}, the header says ${header.nextSequence}`);
    const [nameless] = this.#actsOfKeys.keys();
    refuseUnless(nameless === undefined, () => `a key names an act of ${nameless}, of whom there is none`);
    const announced = announcedAt.length;
    refuseUnless(announced === this.#documents.length, () => `trust root ${announced + 1} has no leaf`);
    // The newest one covers all that the older ones cover.
    for (const certificate of this.#newestCertificates.values()) verifyCertificate(certificate, chain);
  }

  /** Every origin with its size and root, once the stream has ended. */
  origins(): RebuiltOrigin[] {
    const listed = this.#walk.chain?.newest.trustRoot.origins ?? [];
    return listed.map(({ originFingerprint }) => {
      const frontier = this.#walk.origin(originFingerprint)?.frontier ?? emptyFrontier();
      return { originFingerprint, treeSize: frontier.size, rootHash: frontierRoot(frontier, sha256) };
    });
  }
}

function prefixOf(event: SnapshotClientEvent): Uint8Array {
  if (event.isErased) return event.prefix;
  const { apiClientId, clientEventId } = event;
  return clientEventLookup(apiClientId, clientEventId, sha256).subarray(0, CLIENT_EVENT_PREFIX_BYTES);
}
