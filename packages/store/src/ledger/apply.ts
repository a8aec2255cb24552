/** The one statement that writes all that an entry decided. */
import { clientEventLookup, scopesToBits } from "@event-anchoring/ledger";
import type {
  ClientEventWrite,
  ContentWrite,
  EntryDecision,
  EntryWrites,
  LeafWrite,
  StateTreeUpdate,
} from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import { bigintArray, byteaArray, prefixArray, smallintArray, textArray } from "../postgres/binary-array.ts";
import { addRecords } from "./apply-records.ts";
import { StatementBuilder } from "./apply-parts.ts";
import type { Parameter, Statement } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { encodeCosignatures, encodeGroupIds, ledgerRowChecksum } from "../tables/ledger-codec.ts";
import type { LedgerRow } from "../tables/ledger-codec.ts";
import type { OriginNumbers } from "../tables/origin-numbers.ts";
import { statePageParameters } from "./state-tree.ts";

function leafParameters(leaves: readonly LeafWrite[], numbers: OriginNumbers): Parameter[] {
  const anchorIds = leaves.map(({ anchorId }) => anchorId);
  return [
    bigintArray(leaves.map(({ sequence }) => sequence)),
    originArray(leaves, numbers),
    bigintArray(leaves.map(({ depth }) => depth)),
    smallintArray(leaves.map(({ kind }) => kind)),
    bigintArray(leaves.map(({ acceptedMs }) => acceptedMs)),
    prefixArray(anchorIds),
    byteaArray(anchorIds),
    byteaArray(leaves.map(({ bytes }) => bytes)),
  ];
}

/** An event whose client event id is known by its place in the index alone. */
export interface ErasedClientEvent {
  readonly sequence: number;
  /** 16 bytes. */
  readonly apiClientId: Uint8Array;
  /** The first 8 bytes of clientEventLookup. */
  readonly prefix: Uint8Array;
  readonly contentHash: Uint8Array;
}

/** A claim, grant or revocation with the API client that recorded it; a revocation is kept without. */
type RecordLookup = ContentWrite & { readonly apiClientId: Uint8Array | null };

/** What a leaf is looked up by, besides its id. */
type Lookup = ClientEventWrite | ErasedClientEvent | RecordLookup;

function recordLookups({ contents, claims, grants }: EntryWrites): RecordLookup[] {
  const recorders = new Map([...claims, ...grants].map(({ sequence, recordedBy }) => [sequence, recordedBy]));
  return contents.map((content) => ({ ...content, apiClientId: recorders.get(content.sequence) ?? null }));
}

/** Where the index of client event ids has it. */
function clientPrefixOf(lookup: Lookup): Uint8Array | null {
  if ("clientEventId" in lookup) return clientEventLookup(lookup.apiClientId, lookup.clientEventId, nodeCrypto.sha256);
  return "prefix" in lookup ? lookup.prefix : null;
}

function addLeaves(
  builder: StatementBuilder,
  leaves: readonly LeafWrite[],
  numbers: OriginNumbers,
  lookups: readonly Lookup[],
): void {
  if (leaves.length === 0) return;
  const common = leafParameters(leaves, numbers);
  if (lookups.length === 0) {
    builder.add("leaves", common);
    return;
  }
  const bySequence = new Map<number, Lookup>(lookups.map((lookup) => [lookup.sequence, lookup]));
  const found: (Lookup | null)[] = leaves.map(({ sequence }) => bySequence.get(sequence) ?? null);
  builder.add("lookedUpLeaves", [
    ...common,
    prefixArray(found.map((lookup) => lookup && clientPrefixOf(lookup))),
    byteaArray(found.map((lookup) => lookup && lookup.apiClientId)),
    textArray(found.map((lookup) => (lookup && "clientEventId" in lookup ? lookup.clientEventId : null))),
    byteaArray(found.map((lookup) => (lookup && "salt" in lookup ? lookup.salt : null))),
    byteaArray(found.map((lookup) => lookup && lookup.contentHash)),
  ]);
}

interface OfOrigin {
  readonly originFingerprint: Uint8Array;
}

function originArray(rows: readonly OfOrigin[], numbers: OriginNumbers): Buffer {
  const found = new Map<Uint8Array, number>();
  return smallintArray(
    rows.map(({ originFingerprint }) => {
      // Most rows of an entry share one fingerprint object: the hex look-up is made once for it.
      const known = found.get(originFingerprint) ?? numbers.find(originFingerprint);
      if (known === undefined) {
        throw new StoreError("out_of_order", `origin ${bytesToHex(originFingerprint)} was never listed`);
      }
      found.set(originFingerprint, known);
      return known;
    }),
  );
}

function addTree(builder: StatementBuilder, writes: EntryWrites, numbers: OriginNumbers): void {
  const { tiles, certificates } = writes;
  if (tiles.length > 0) {
    builder.add("tiles", [
      originArray(tiles, numbers),
      smallintArray(tiles.map(({ level }) => level)),
      bigintArray(tiles.map(({ index }) => index)),
      byteaArray(tiles.map(({ root }) => root)),
      byteaArray(tiles.map(({ hashes }) => hashes)),
    ]);
  }
  if (certificates.length > 0) {
    builder.add("certificates", [
      originArray(certificates, numbers),
      bigintArray(certificates.map(({ treeSize }) => treeSize)),
      byteaArray(certificates.map(({ rootHash }) => rootHash)),
      bigintArray(certificates.map(({ certifiedAtS }) => certifiedAtS)),
      bigintArray(certificates.map(({ trustRootVersion }) => trustRootVersion)),
      byteaArray(certificates.map(({ cosignatures }) => encodeCosignatures(cosignatures))),
    ]);
  }
}

function addTrustRoots(builder: StatementBuilder, writes: EntryWrites, numbers: OriginNumbers): void {
  const { originStatuses, trustRoots, trustRootPositions: positions } = writes;
  if (originStatuses.length > 0) {
    builder.add("origins", [
      originArray(originStatuses, numbers),
      byteaArray(originStatuses.map(({ originFingerprint }) => originFingerprint)),
      textArray(originStatuses.map(({ status }) => status)),
    ]);
  }
  if (trustRoots.length > 0) {
    builder.add("trustRoots", [
      bigintArray(trustRoots.map(({ version }) => version)),
      byteaArray(trustRoots.map(({ rootThk }) => rootThk)),
      bigintArray(trustRoots.map(({ sequence }) => sequence)),
      textArray(trustRoots.map(({ document }) => document)),
    ]);
  }
  if (positions.length > 0) {
    builder.add("positions", [
      originArray(positions, numbers),
      bigintArray(positions.map(({ leafIndex }) => leafIndex)),
      bigintArray(positions.map(({ version }) => version)),
    ]);
  }
}

function addKeys(builder: StatementBuilder, { apiKeys, operatorActs }: EntryWrites): void {
  if (operatorActs.length > 0) {
    builder.add("operatorActs", [
      textArray(operatorActs.map(({ operator }) => operator)),
      bigintArray(operatorActs.map(({ counter }) => counter)),
    ]);
  }
  if (apiKeys.length === 0) return;
  builder.add("apiKeys", [
    byteaArray(apiKeys.map(({ keyId }) => keyId)),
    byteaArray(apiKeys.map(({ keyHash }) => keyHash)),
    byteaArray(apiKeys.map(({ apiClientId }) => apiClientId)),
    textArray(apiKeys.map(({ label }) => label)),
    smallintArray(apiKeys.map(({ scopes }) => scopesToBits(scopes))),
    bigintArray(apiKeys.map(({ expiresMs }) => expiresMs)),
    bigintArray(apiKeys.map(({ requestsPerSecond }) => requestsPerSecond)),
    bigintArray(apiKeys.map(({ createdMs }) => createdMs)),
    bigintArray(apiKeys.map(({ revokedMs }) => revokedMs)),
    textArray(apiKeys.map(({ createdBy }) => createdBy.operator)),
    bigintArray(apiKeys.map(({ createdBy }) => createdBy.counter)),
    textArray(apiKeys.map(({ endedBy }) => endedBy?.operator ?? "")),
    bigintArray(apiKeys.map(({ endedBy }) => endedBy?.counter ?? 0)),
  ]);
}

function addGroups(builder: StatementBuilder, { decision, before, deleteGroupIdsBelow }: ApplyInput): void {
  const { groupIds } = decision.writes;
  if (groupIds.length > 0) builder.add("groupIds", [decision.index, encodeGroupIds(groupIds), before.groupIdsHash]);
  if (deleteGroupIdsBelow !== null) builder.add("forgetGroupIds", [deleteGroupIdsBelow]);
}

/**
 * The same rows without the row of the ledger, for a transaction that writes that row itself.
 * @param derived `erased`: events that were erased before they came here
 */
export function buildInsert(
  writes: EntryWrites,
  numbers: OriginNumbers,
  { erased, stateTree }: { readonly erased: readonly ErasedClientEvent[]; readonly stateTree: StateTreeUpdate },
): { statement: Statement; values: readonly Parameter[] } {
  const builder = new StatementBuilder();
  builder.add("unguarded", []);
  addTrustRoots(builder, writes, numbers);
  addLeaves(builder, writes.leaves, numbers, [...writes.clientEvents, ...erased, ...recordLookups(writes)]);
  addRecords(builder, writes);
  addTree(builder, writes, numbers);
  addKeys(builder, writes);
  if (stateTree.pages.size > 0) builder.add("statePages", statePageParameters(stateTree.pages));
  return builder.finish();
}

export interface ApplyInput {
  readonly decision: EntryDecision;
  /** The row as it will be. */
  readonly row: LedgerRow;
  /** The row as it must be stored now. */
  readonly before: LedgerRow;
  /** What the entry changes in the state tree; null: nothing. */
  readonly stateTree: StateTreeUpdate | null;
  /** Includes the origins that are new with this entry. */
  readonly numbers: OriginNumbers;
  /** null: leave the forgotten rows for a later entry. */
  readonly deleteGroupIdsBelow: number | null;
}

export function buildApply(input: ApplyInput): { statement: Statement; values: readonly Parameter[] } {
  const { decision, row, numbers } = input;
  const builder = new StatementBuilder();
  builder.add("ledger", [
    row.appliedIndex,
    row.appliedTerm,
    row.effect,
    row.nextSequence,
    row.lastAcceptedMs,
    row.groupIdsFrom,
    row.confState,
    row.rules,
    row.stampMs,
    row.stateRoot,
    row.groupIdsHash,
    row.clientEventsHash,
    ledgerRowChecksum(row),
    input.before.appliedIndex,
  ]);
  addTrustRoots(builder, decision.writes, numbers);
  const { leaves, clientEvents } = decision.writes;
  addLeaves(builder, leaves, numbers, [...clientEvents, ...recordLookups(decision.writes)]);
  addRecords(builder, decision.writes);
  addTree(builder, decision.writes, numbers);
  addKeys(builder, decision.writes);
  if (input.stateTree !== null) builder.add("statePages", statePageParameters(input.stateTree.pages));
  addGroups(builder, input);
  return builder.finish();
}
