import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { advance, factsNeeded } from "@event-anchoring/ledger";
import type { Command, EventInput } from "@event-anchoring/ledger";
import { EMPTY_SEMANTIC_ANCHOR } from "@event-anchoring/protocol";
import { RaftLog } from "@event-anchoring/store";
import { startTestPostgres } from "@event-anchoring/testkit/postgres";
import type { TestPostgres } from "@event-anchoring/testkit/postgres";
import { hash } from "../../packages/store/test/support/cluster.ts";
import { migratedDatabase } from "../../packages/store/test/support/database.ts";
import { CREDENTIAL, StoredLedgerHarness, event } from "../../packages/store/test/support/stored-ledger.ts";
import { SQL_BOUNDS } from "./bounds.ts";
import { countedDatabase } from "./sql-round-trips.ts";
import type { CountedDatabase } from "./sql-round-trips.ts";

let server: TestPostgres;
let database: CountedDatabase;

beforeAll(async () => {
  server = await startTestPostgres();
  database = await countedDatabase((await migratedDatabase(server)).url);
});

afterAll(async () => {
  await database.close();
  await server.close();
});

/** How many of what `run` did, without its first time, which prepares statements. */
async function roundTripsOf(run: (time: number) => Promise<unknown>): Promise<number> {
  await run(0);
  database.taken();
  await run(1);
  return database.taken();
}

/** With an id of its client, a claim of who acts, and the grant under which. */
function usualEvent(): EventInput {
  const references = { irisRef: hash("claim"), grantRef: hash("grant") };
  const semanticAnchor = { ...EMPTY_SEMANTIC_ANCHOR, ...references };
  return event("usual", { clientEventId: "an id", semanticAnchor });
}

describe("round trips to Postgres", () => {
  test("of an append", async () => {
    const log = await RaftLog.open({ url: database.url });
    try {
      await log.load();
      const appended = (time: number): Promise<unknown> => {
        const payload = nodeCrypto.sha256(Uint8Array.of(time));
        const entry = { index: time + 1, term: 1, type: "normal", payload } as const;
        const hardState = { term: 1, vote: 0n, commit: time };
        return log.append({ entries: [entry], hardState: time === 0 ? hardState : null, commit: time });
      };
      expect(await roundTripsOf(appended)).toBe(SQL_BOUNDS.append);
    } finally {
      await log.close();
    }
  });

  test("of an entry's effects, and of the facts that it asks for", async () => {
    const ledger = await StoredLedgerHarness.started(database.url);
    const record = (label: string, count: number): Command => ({
      kind: "record_events",
      credential: CREDENTIAL,
      atomic: false,
      events: count === 1 ? [event(label)] : Array.from({ length: count }, (_, at) => event(`${label} ${at}`)),
    });
    const applied =
      (count: number) =>
      async (time: number): Promise<number> => {
        const entry = ledger.entry([record(`${count} leaves ${time}`, count)]);
        database.taken();
        await ledger.apply(entry);
        return database.taken();
      };
    await applied(1)(0);
    const usual = ledger.entry([
      { kind: "record_events", credential: CREDENTIAL, atomic: false, events: [usualEvent()] },
    ]);
    const facts = await roundTripsOf(() => ledger.store.loadFacts(factsNeeded(usual, ledger.state)));
    expect(await applied(1)(1)).toBe(SQL_BOUNDS.applyOneLeaf);
    expect(await applied(100)(2)).toBe(SQL_BOUNDS.applyHundredLeaves);
    const run = [];
    for (let count = 0; count < 10; count++) {
      const decision = await ledger.decide(ledger.entry([record(`of a run ${count}`, 1)]));
      advance(ledger.state, decision);
      run.push({ decision, confState: null });
    }
    database.taken();
    await ledger.store.apply(...run);
    expect(database.taken()).toBe(SQL_BOUNDS.applyTenEntries);
    expect(facts).toBe(SQL_BOUNDS.factsOfIdAndReferences);
    await ledger.store.close();
  });
});
