import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { RecordIndex } from "@event-anchoring/records";
import { Reads } from "../../src/index.ts";
import type { TestDatabase, TestPostgres } from "../support/database.ts";
import { migratedDatabase, sql, startTestPostgres, superuserUrl } from "../support/database.ts";
import { live } from "../support/random-history.ts";
import type { FullKnowledge } from "../support/random-history.ts";
import { reopened } from "../support/stored-ledger.ts";

let server: TestPostgres;

beforeAll(async () => {
  server = await startTestPostgres();
});

afterAll(async () => {
  await server.close();
});

describe("random histories", () => {
  test.each([1, 2, 3])("of seed %i: what is loaded decides as all there is would", async (seed) => {
    const database = await migratedDatabase(server);
    const { harness, known } = await live(database, seed, 120, (decision, expected) => {
      expect(decision.outcomes).toEqual(expected.outcomes);
      expect(decision.effect).toEqual(expected.effect);
    });
    await harness.store.close();
    const kinds = known.leaves.map(({ kind }) => kind);
    for (const kind of [1, 2, 3, 4, 6]) expect(kinds.filter((one) => one === kind).length).toBeGreaterThan(5);
    await expectTables(database, known);
    const { store, state } = await reopened(database.url);
    expect(state.effect).toEqual(harness.state.effect);
    await store.close();
  });
});

/** The tables say what a book says that was handed every leaf. */
async function expectTables(database: TestDatabase, { book, revocations, leaves }: FullKnowledge): Promise<void> {
  const reads = await Reads.open({ url: database.readOnlyUrl });
  const claims = book.addedClaims();
  const grants = book.addedGrants();
  const last = leaves.length - 1;
  const wanted = { claims: claims.map(({ sequence }) => sequence), grants: grants.map(({ sequence }) => sequence) };
  const { records } = await reads.records(wanted, [last]);
  expect(wanted.claims.map((sequence) => records.claim(sequence))).toEqual(claims);
  expect(wanted.grants.map((sequence) => records.grant(sequence))).toEqual(grants);
  expect(grants.some(({ parent }) => parent !== null)).toBe(true);
  expect(claims.some(({ lineage, sequence }) => lineage !== sequence)).toBe(true);
  expectNewest(records, book, last);
  await reads.close();
  const rows = await sql(
    superuserUrl(server, database),
    "SELECT sequence::int, target::int FROM state.revocations ORDER BY 1",
  );
  expect(rows).toEqual(revocations);
}

function expectNewest(
  records: RecordIndex,
  book: RecordIndex & { addedClaims(): { lineage: number }[] },
  last: number,
): void {
  for (const { lineage } of book.addedClaims()) {
    expect(records.newestClaimOf(lineage, last)).toEqual(book.newestClaimOf(lineage, last));
  }
}
