/** The state of a ledger as the records of a snapshot, read in the order in which they stand in the stream. */
import type { Reader } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { decodeCosignatures } from "../tables/ledger-codec.ts";
import type { LedgerRow } from "../tables/ledger-codec.ts";
import { loadOperatorActs, toApiKey } from "../ledger/ledger-load.ts";
import type { ApiKeyRow } from "../ledger/ledger-load.ts";
import { decodeConfState } from "../log/raft-codec.ts";
import { namesRecorder, toClientEvent } from "../tables/read-rows.ts";
import type { SnapshotClientEvent, SnapshotHeader, SnapshotRecord } from "./snapshot-format.ts";

/** Leaves, or rows of group ids, read by one statement. */
const ROWS_PER_READ = 2_000;

const LEAVES = {
  name: "export_leaves",
  text: `SELECT a.sequence, a.kind, a.leaf, a.api_client_id, a.client_event_id, a.salt,
      CASE WHEN a.client_event_id IS NULL THEN int8send(a.client_prefix) END AS erased_prefix,
      c.root_hash, c.certified_at_s, c.trust_root_version, c.cosignatures
    FROM state.anchors a LEFT JOIN state.certificates c ON c.origin = a.origin AND c.tree_size = a.depth + 1
    WHERE a.sequence >= $1 AND a.sequence < $2 ORDER BY a.sequence`,
};

const GROUP_IDS = {
  name: "export_group_ids",
  text: `SELECT index, groups, hash_before FROM state.group_ids
    WHERE index >= $1 ORDER BY index LIMIT ${ROWS_PER_READ}`,
};

interface LeafRow {
  readonly sequence: number;
  readonly kind: number;
  readonly leaf: Uint8Array;
  readonly api_client_id: Uint8Array | null;
  readonly client_event_id: string | null;
  readonly salt: Uint8Array | null;
  readonly erased_prefix: Uint8Array | null;
  readonly root_hash: Uint8Array | null;
  readonly certified_at_s: number;
  readonly trust_root_version: number;
  readonly cosignatures: Uint8Array;
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
  const recordedBy = namesRecorder(row.kind) ? row.api_client_id : null;
  const leaf: SnapshotRecord = { type: "leaf", bytes: row.leaf, clientEvent: clientEventOf(row), recordedBy };
  if (row.root_hash === null) return [leaf];
  const certificate: SnapshotRecord = {
    type: "certificate",
    rootHash: row.root_hash,
    certifiedAtS: row.certified_at_s,
    trustRootVersion: row.trust_root_version,
    cosignatures: decodeCosignatures(row.cosignatures),
  };
  return [leaf, certificate];
}

/** The running hash before the first row of group ids that is kept. */
async function groupIdsHashBefore(session: Reader, row: LedgerRow): Promise<Uint8Array> {
  const [first] = await session.read<{ hash_before: Uint8Array }>(
    {
      text: "SELECT hash_before FROM state.group_ids WHERE index >= $1 ORDER BY index LIMIT 1",
    },
    [row.groupIdsFrom],
  );
  return first?.hash_before ?? row.groupIdsHash;
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
  const trustRoots = await session.read<{ document: string }>({
    text: "SELECT document FROM state.trust_roots ORDER BY version",
  });
  yield trustRoots.map(({ document }) => ({ type: "trust_root", document }));
  if (stateHead !== null) yield [{ type: "state_head", note: stateHead }];
  const keys = await session.read<ApiKeyRow>({ text: "SELECT * FROM state.api_keys ORDER BY key_id" });
  yield keys.map((key) => ({ type: "api_key", apiKey: toApiKey(key) }));
  yield (await loadOperatorActs(session)).map((act) => ({ type: "operator", act }));
  for (let from = row.groupIdsFrom; ;) {
    const rows = await session.read<{ index: number; groups: Uint8Array }>(GROUP_IDS, [from]);
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
