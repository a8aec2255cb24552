/** The state of a ledger as the records of a snapshot, read in the order of the stream. */
import type { Reader } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { CLIENT_EVENT_COLUMNS, namesRecorder, toClientEvent } from "../tables/anchors.ts";
import type { ClientEventColumns } from "../tables/anchors.ts";
import { loadApiKeys } from "../tables/api-keys.ts";
import { certificateColumns, decodeCosignatures } from "../tables/certificates.ts";
import type { CertificateColumns } from "../tables/certificates.ts";
import { loadGroupIds } from "../tables/group-ids.ts";
import type { LedgerRow } from "../tables/ledger.ts";
import { loadOperatorActs } from "../tables/operators.ts";
import { loadTrustRoots } from "../tables/trust-roots.ts";
import { decodeConfState } from "../log/raft-codec.ts";
import type { SnapshotClientEvent, SnapshotHeader, SnapshotRecord } from "./snapshot-format.ts";

/** Leaves, or rows of group ids, read by one statement: its whole answer is in memory, as text and as bytes. */
const ROWS_PER_READ = 500;

const LEAVES = {
  name: "export_leaves",
  text: `SELECT ${CLIENT_EVENT_COLUMNS}, ${certificateColumns("c")},
      CASE WHEN a.client_event_id IS NULL THEN int8send(a.client_prefix) END AS erased_prefix
    FROM state.anchors a LEFT JOIN state.certificates c ON c.origin = a.origin AND c.tree_size = a.depth + 1
    WHERE a.sequence >= $1 AND a.sequence < $2 ORDER BY a.sequence`,
};

interface LeafRow extends ClientEventColumns, Omit<CertificateColumns, "rootHash"> {
  readonly bytes: Uint8Array;
  readonly erased_prefix: Uint8Array | null;
  /** null: no certificate covers the tree that ends with this leaf. */
  readonly rootHash: Uint8Array | null;
}

function clientEventOf(row: LeafRow): SnapshotClientEvent | null {
  const event = toClientEvent(row);
  if (event === null) return null;
  const { apiClientId, clientEventId, salt } = event;
  if (clientEventId !== null && salt !== null) return { isErased: false, apiClientId, clientEventId, salt };
  if (row.erased_prefix === null) throw new StoreError("corrupt", `anchor ${row.sequence} has half a client event id`);
  return { isErased: true, apiClientId, prefix: row.erased_prefix };
}

function leafRecords(row: LeafRow): SnapshotRecord[] {
  const recordedBy = namesRecorder(row.kind) ? row.apiClientId : null;
  const leaf: SnapshotRecord = { type: "leaf", bytes: row.bytes, clientEvent: clientEventOf(row), recordedBy };
  if (row.rootHash === null) return [leaf];
  const certificate: SnapshotRecord = {
    type: "certificate",
    rootHash: row.rootHash,
    certifiedAtS: row.certifiedAtS,
    trustRootVersion: row.trustRootVersion,
    cosignatures: decodeCosignatures(row.cosignatures),
  };
  return [leaf, certificate];
}

/** The running hash before the first row of group ids that is kept. */
async function groupIdsHashBefore(session: Reader, row: LedgerRow): Promise<Uint8Array> {
  const [first] = await loadGroupIds(session, row.groupIdsFrom, 1);
  return first?.hashBefore ?? row.groupIdsHash;
}

async function headerOf(session: Reader, row: LedgerRow): Promise<SnapshotHeader> {
  return {
    type: "header",
    raftIndex: row.appliedIndex,
    raftTerm: row.appliedTerm,
    effect: row.effect,
    nextSequence: row.nextSequence,
    lastAcceptedMs: row.lastAcceptedMs,
    groupIdsFrom: row.groupIdsFrom,
    groupIdsHashBefore: await groupIdsHashBefore(session, row),
    confState: row.confState === null ? null : decodeConfState(row.confState),
    rules: row.rules,
    stampMs: row.stampMs,
  };
}

async function* tableRecords(
  session: Reader,
  row: LedgerRow,
  stateHead: string | null,
): AsyncGenerator<readonly SnapshotRecord[]> {
  yield (await loadTrustRoots(session)).map(({ document }) => ({ type: "trust_root", document }));
  if (stateHead !== null) yield [{ type: "state_head", note: stateHead }];
  yield (await loadApiKeys(session)).map((apiKey) => ({ type: "api_key", apiKey }));
  yield (await loadOperatorActs(session)).map((act) => ({ type: "operator", act }));
  for (let from = row.groupIdsFrom; ;) {
    const rows = await loadGroupIds(session, from, ROWS_PER_READ);
    yield rows.map(({ index, groups }) => ({ type: "group_ids", index, groups }));
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_PER_READ) return;
    from = last.index + 1;
  }
}

async function* leafRecordsOf(session: Reader, nextSequence: number): AsyncGenerator<readonly SnapshotRecord[]> {
  for (let from = 0; from < nextSequence; from += ROWS_PER_READ) {
    const rows = await session.read<LeafRow>(LEAVES, [from, from + ROWS_PER_READ]);
    const expected = Math.min(ROWS_PER_READ, nextSequence - from);
    if (rows.length !== expected) {
      throw new StoreError("corrupt", `${expected - rows.length} anchors after sequence ${from} are missing`);
    }
    yield rows.flatMap(leafRecords);
  }
}

/**
 * Every record from the header to the end, in batches.
 * @param session within one repeatable-read transaction, in which `row` was read too
 * @param stateHead the signed note of the state head after `row`; null: there is none
 * @throws StoreError `corrupt`
 */
export async function* snapshotRecords(
  session: Reader,
  row: LedgerRow,
  stateHead: string | null,
): AsyncGenerator<readonly SnapshotRecord[]> {
  yield [await headerOf(session, row)];
  yield* tableRecords(session, row, stateHead);
  yield* leafRecordsOf(session, row.nextSequence);
  yield [{ type: "end" }];
}
