/** Changes to what the ledger's row covers, made as an entry makes them: the row fits afterwards. */
import { stateLeafOf } from "@event-anchoring/ledger";
import type { StateEntry } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import { Connection } from "../../src/postgres/connection.ts";
import type { Session } from "../../src/postgres/connection.ts";
import { ledgerRowChecksum, loadLedgerRow } from "../../src/tables/ledger.ts";
import type { LedgerRow } from "../../src/tables/ledger.ts";
import { StateTree } from "../../src/ledger/state-tree.ts";
import { statePageParameters } from "../../src/tables/tree-pages.ts";

/** Columns of the ledger's row that these tests change. */
export type LedgerChange = Partial<Pick<LedgerRow, "stateRoot" | "groupIdsHash" | "clientEventsHash" | "groupIdsFrom">>;

/** SQL that gives the ledger's row these values, and the checksum that fits. */
export function ledgerRowSql(row: LedgerRow, change: LedgerChange): string {
  const changed = { ...row, ...change };
  const hex = (bytes: Uint8Array): string => `'\\x${bytesToHex(bytes)}'`;
  return `UPDATE state.ledger SET state_root = ${hex(changed.stateRoot)}, group_ids_hash = ${hex(changed.groupIdsHash)},
    client_events_hash = ${hex(changed.clientEventsHash)}, group_ids_from = ${changed.groupIdsFrom},
    checksum = ${hex(ledgerRowChecksum(changed))}`;
}

async function withSession(url: string, work: (session: Session) => Promise<void>): Promise<void> {
  const connection = await Connection.open({ url, name: "state tables test" });
  try {
    await connection.transaction(work);
  } finally {
    await connection.close();
  }
}

/** Puts entries into the state tree, and runs `also`, in one transaction. */
export async function changeStateTree(
  url: string,
  entries: readonly StateEntry[],
  also: readonly string[] = [],
): Promise<void> {
  await withSession(url, async (session) => {
    const tree = new StateTree();
    await tree.load(session);
    const leaves = entries.map((entry) => stateLeafOf(entry, nodeCrypto.sha256));
    const { pages, rootHash } = await tree.update(session, leaves);
    const text = `INSERT INTO state.tree_pages SELECT * FROM unnest($1::text[], $2::bytea[])
      ON CONFLICT (prefix) DO UPDATE SET slots = excluded.slots`;
    await session.write({ text }, statePageParameters(pages));
    await session.write({ text: ledgerRowSql(await loadLedgerRow(session), { stateRoot: rootHash }) });
    for (const each of also) await session.write({ text: each });
  });
}

/** Forgets the groups of entries below an index, as the ledger does. */
export async function forgetGroups(url: string, below: number): Promise<void> {
  await withSession(url, async (session) => {
    await session.write({ text: `DELETE FROM state.group_ids WHERE index < ${below}` });
    await session.write({ text: ledgerRowSql(await loadLedgerRow(session), { groupIdsFrom: below }) });
  });
}
