/** A ledger in memory, and the database that is given every decision of it. */
import type { LedgerStorage, OpenStorage } from "@event-anchoring/control-plane";
import { type EntryDecision, emptyLedgerState } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { NEXT_RULES } from "@event-anchoring/testkit/records";
import { StoredLedgerHarness } from "../../../packages/store/test/support/stored-ledger.ts";
import type { NodeDatabase } from "./databases.ts";

export type Harness = StoredLedgerHarness<LedgerStorage>;

/** As a node that was restarted. */
export async function reopened(database: NodeDatabase, storage: OpenStorage): Promise<OpenStorage> {
  await storage.close();
  return database.open();
}

/** With genesis and a key, up to an entry. */
export async function startedLedger(
  { ledger }: Pick<OpenStorage, "ledger">,
  upTo = 2,
  onApplied?: (decision: EntryDecision) => void,
): Promise<Harness> {
  const harness = new StoredLedgerHarness(ledger, emptyLedgerState(nodeCrypto.sha256, NEXT_RULES), onApplied);
  await harness.begin();
  while (harness.state.appliedIndex < upTo) await harness.run([]);
  return harness;
}
