/** The one statement that writes everything that an entry, or a run of entries, decided. */
import { clientEventLookup } from "@event-anchoring/ledger";
import type {
  ClientEventWrite,
  ContentWrite,
  EntryDecision,
  EntryWrites,
  StateTreeUpdate,
} from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import type { Parameter, Statement } from "../postgres/connection.ts";
import { addErasures, addLeaves } from "../tables/anchors.ts";
import type { LeafLookUp } from "../tables/anchors.ts";
import { addApiKeys } from "../tables/api-keys.ts";
import { addCertificates } from "../tables/certificates.ts";
import { addClaims, addEndedClaims } from "../tables/claims.ts";
import { addEndedGrants, addGrants } from "../tables/grants.ts";
import { addGroupIds, encodeGroupIds, forgetGroupIds } from "../tables/group-ids.ts";
import type { GroupIdsRow } from "../tables/group-ids.ts";
import type { GuardedStatement } from "../tables/guarded-statement.ts";
import { statementAfter, unguardedStatement } from "../tables/ledger.ts";
import type { LedgerRow } from "../tables/ledger.ts";
import { addOperatorActs } from "../tables/operators.ts";
import type { OriginNumbers } from "../tables/origin-numbers.ts";
import { addOrigins } from "../tables/origins.ts";
import { addRevocations } from "../tables/revocations.ts";
import { addTiles } from "../tables/tiles.ts";
import { addStatePages } from "../tables/tree-pages.ts";
import { addPositions } from "../tables/trust-root-positions.ts";
import { addTrustRoots } from "../tables/trust-roots.ts";

/** An event whose client event id is erased, and known only by its index prefix. */
export interface ErasedClientEvent {
  readonly sequence: number;
  /** 16 bytes. */
  readonly apiClientId: Uint8Array;
  /** The first 8 bytes of clientEventLookup. */
  readonly prefix: Uint8Array;
  readonly contentHash: Uint8Array;
}

function clientEventLookUp(event: ClientEventWrite): LeafLookUp {
  const { sequence, apiClientId, clientEventId, salt, contentHash } = event;
  const clientPrefix = clientEventLookup(apiClientId, clientEventId, nodeCrypto.sha256);
  return { sequence, clientPrefix, apiClientId, clientEventId, salt, contentHash };
}

function erasedLookUp({ sequence, apiClientId, prefix, contentHash }: ErasedClientEvent): LeafLookUp {
  return { sequence, clientPrefix: prefix, apiClientId, clientEventId: null, salt: null, contentHash };
}

/** With the API client that recorded a claim or a grant; a revocation has none. */
function recordLookUps({ contents, claims, grants }: EntryWrites): LeafLookUp[] {
  const recorders = new Map([...claims, ...grants].map(({ sequence, recordedBy }) => [sequence, recordedBy]));
  return contents.map(({ sequence, contentHash }: ContentWrite) => {
    const apiClientId = recorders.get(sequence) ?? null;
    return { sequence, clientPrefix: null, apiClientId, clientEventId: null, salt: null, contentHash };
  });
}

/**
 * Parts without rows are left out, because the server sets up every part of a statement, even one that writes nothing.
 * Endings and revocations are included together or not at all: a session keeps a plan for every combination that it has
 * seen.
 */
function addRecords(statement: GuardedStatement, writes: EntryWrites): void {
  const { claims, grants, endedClaims, endedGrants, revocations, erasures } = writes;
  addClaims(statement, claims);
  addGrants(statement, grants);
  if (endedClaims.length + endedGrants.length + revocations.length > 0) {
    addEndedClaims(statement, endedClaims);
    addEndedGrants(statement, endedGrants);
    addRevocations(statement, revocations);
  }
  addErasures(statement, erasures);
}

/** @param more `erased`: events that were erased before this node got them */
function addWrites(
  statement: GuardedStatement,
  writes: EntryWrites,
  numbers: OriginNumbers,
  { erased, stateTree }: { readonly erased: readonly ErasedClientEvent[]; readonly stateTree: StateTreeUpdate | null },
): void {
  addOrigins(statement, writes.originStatuses, numbers);
  addTrustRoots(statement, writes.trustRoots);
  addPositions(statement, writes.trustRootPositions, numbers);
  const lookUps = [
    ...writes.clientEvents.map(clientEventLookUp),
    ...erased.map(erasedLookUp),
    ...recordLookUps(writes),
  ];
  addLeaves(statement, writes.leaves, lookUps, numbers);
  addRecords(statement, writes);
  addTiles(statement, writes.tiles, numbers);
  addCertificates(statement, writes.certificates, numbers);
  addOperatorActs(statement, writes.operatorActs);
  addApiKeys(statement, writes.apiKeys);
  if (stateTree !== null) addStatePages(statement, stateTree.pages);
}

export interface InsertInput {
  readonly writes: EntryWrites;
  /** Events that were erased before this node got them. */
  readonly erased: readonly ErasedClientEvent[];
  readonly groupIds: readonly GroupIdsRow[];
}

/** The same rows without the ledger's and those of the state tree, for a transaction that writes these itself. */
export function buildInsert(
  { writes, erased, groupIds }: InsertInput,
  numbers: OriginNumbers,
): { statement: Statement; values: readonly Parameter[] } {
  const statement = unguardedStatement();
  addWrites(statement, writes, numbers, { erased, stateTree: null });
  addGroupIds(statement, groupIds);
  return statement.finish();
}

/** What no later entry changes or repeats, as long as nothing else is in the entry. */
const ADDED: ReadonlySet<string> = new Set<keyof EntryWrites>([
  "leaves",
  "clientEvents",
  "tiles",
  "certificates",
  "groupIds",
  "forgetGroupIdsBelow",
]);

/** Events and recorded certificates, and nothing else: several such entries can be written in one statement. */
export function addsRowsOnly(writes: EntryWrites): boolean {
  return Object.entries(writes).every(([name, rows]) => ADDED.has(name) || (Array.isArray(rows) && rows.length === 0));
}

/** @param run of entries that only add rows, or of one of any kind */
export function writesOf(run: readonly EntryDecision[]): EntryWrites {
  const all = run.map(({ writes }) => writes);
  const [first] = all;
  if (first === undefined) throw new RangeError("no entry to write");
  if (all.length === 1) return first;
  if (!all.every(addsRowsOnly)) throw new RangeError("an entry that changes rows is written alone");
  return {
    ...first,
    leaves: all.flatMap(({ leaves }) => leaves),
    clientEvents: all.flatMap(({ clientEvents }) => clientEvents),
    tiles: all.flatMap(({ tiles }) => tiles),
    certificates: all.flatMap(({ certificates }) => certificates),
    groupIds: all.flatMap(({ groupIds }) => groupIds),
    forgetGroupIdsBelow: Math.max(...all.map(({ forgetGroupIdsBelow }) => forgetGroupIdsBelow)),
  };
}

/** A row for each entry that decided groups. */
function groupIdsRows(run: readonly EntryDecision[], hashBefore: Uint8Array): GroupIdsRow[] {
  const rows = run.map(({ index, writes }, at) => ({
    index,
    groups: encodeGroupIds(writes.groupIds),
    hashBefore: run[at - 1]?.groupIdsHash ?? hashBefore,
  }));
  return rows.filter(({ groups }) => groups.length > 0);
}

export interface ApplyInput {
  /** In the order of the log, without a gap. */
  readonly run: readonly EntryDecision[];
  /** `writesOf` that. */
  readonly writes: EntryWrites;
  /** The row as it will be. */
  readonly row: LedgerRow;
  /** The row as it must be stored now. */
  readonly before: LedgerRow;
  /** What the run changes in the state tree; null: nothing. */
  readonly stateTree: StateTreeUpdate | null;
  /** Includes the origins that are new with this run. */
  readonly numbers: OriginNumbers;
  /** null: leave the forgotten rows for a later entry. */
  readonly deleteGroupIdsBelow: number | null;
}

export function buildApply(input: ApplyInput): { statement: Required<Statement>; values: readonly Parameter[] } {
  const { run, writes, row, before, stateTree, numbers, deleteGroupIdsBelow } = input;
  const statement = statementAfter(before, row);
  addWrites(statement, writes, numbers, { erased: [], stateTree });
  addGroupIds(statement, groupIdsRows(run, before.groupIdsHash));
  if (deleteGroupIdsBelow !== null) forgetGroupIds(statement, deleteGroupIdsBelow);
  return statement.finish();
}
