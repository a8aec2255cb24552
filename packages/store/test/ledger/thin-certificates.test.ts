import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { toOriginFingerprint } from "@event-anchoring/protocol";
import { Reads } from "../../src/index.ts";
import { hash } from "../support/cluster.ts";
import { migratedDatabase, sql, startTestPostgres } from "../support/database.ts";
import type { TestPostgres } from "../support/database.ts";
import { StoredLedgerHarness, event, originAt, reopened } from "../support/stored-ledger.ts";

jest.setTimeout(120_000);

let server: TestPostgres;

beforeAll(async () => {
  server = await startTestPostgres();
}, 120_000);

afterAll(() => server.close());

const HOUR_S = 3600;

/** A ledger with one recorded certificate, and older ones as listed: size, hour, version of the trust root. */
async function ledgerWith(older: readonly (readonly [number, number, number])[]): Promise<{
  readonly harness: StoredLedgerHarness;
  readonly url: string;
  readonly readOnlyUrl: string;
}> {
  const { url, readOnlyUrl } = await migratedDatabase(server);
  const harness = await StoredLedgerHarness.started(url);
  await harness.record(Array.from({ length: 99 }, (_, at) => event(`e${at}`)));
  await harness.certify(originAt(0));
  const rows = older.map(([size, hour, version]) => `(${size}, ${hour * HOUR_S + size}, ${version})`);
  await sql(
    url,
    `INSERT INTO state.certificates
      SELECT c.origin, r.size, c.root_hash, r.at, r.version, c.cosignatures
      FROM state.certificates c, (VALUES ${rows.join()}) AS r (size, at, version) WHERE c.tree_size = 100`,
  );
  return { harness, url, readOnlyUrl };
}

async function sizesLeft(url: string): Promise<number[]> {
  const rows = await sql(url, "SELECT tree_size FROM state.certificates WHERE tree_size < 100 ORDER BY 1");
  return rows.map(({ tree_size: size }) => Number(size));
}

/** Page after page until two in a row find nothing. */
async function thin(harness: StoredLedgerHarness, kept: number, rowsMax: number): Promise<number> {
  let deleted = 0;
  let after = 0;
  for (;;) {
    const page = await harness.store.thinCertificates({ originFingerprint: originAt(0), kept, after, rowsMax });
    deleted += page.deleted;
    if (page.after === after) return deleted;
    after = page.after;
  }
}

const HISTORY = [
  ...[1, 2, 3].map((size) => [size, 10, 1] as const),
  ...[4, 5].map((size) => [size, 11, 1] as const),
  ...[6, 7].map((size) => [size, 11, 2] as const),
  ...[8, 9, 10, 11, 12].map((size) => [size, 12, 2] as const),
  [20, 20, 2] as const,
  [21, 20, 2] as const,
];

test.each([2, 3, 5, 500])("of old ones the last of each hour and trust root stays, %d rows at a time", async (rows) => {
  const { harness, url } = await ledgerWith(HISTORY);
  expect(await thin(harness, 3, rows)).toBe(8);
  expect(await sizesLeft(url)).toEqual([3, 5, 7, 12, 20, 21]);
  expect(await thin(harness, 3, rows)).toBe(0);
  await harness.store.close();
});

test.each([
  [15, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 20, 21]],
  [13, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 20, 21]],
  [1, [3, 5, 7, 12, 21]],
])("the newest %d stay, all of them", async (kept, left) => {
  const { harness, url } = await ledgerWith(HISTORY);
  await thin(harness, kept, 4);
  expect(await sizesLeft(url)).toEqual(left);
  await harness.store.close();
});

test("what is read and loaded afterwards is what it was: the newest certificate and the tree", async () => {
  const { harness, url, readOnlyUrl } = await ledgerWith(HISTORY);
  const reads = await Reads.open({ url: readOnlyUrl });
  const before = await reads.latestCertificate(originAt(0));
  await thin(harness, 1, 500);
  expect(await reads.latestCertificate(originAt(0))).toEqual(before);
  await reads.close();
  await harness.store.close();
  const { store, ledger, state } = await reopened(url);
  expect(ledger.origins.map(({ certified }) => certified?.treeSize ?? 0)).toContain(100);
  expect(state.effect).toEqual(harness.state.effect);
  await store.close();
});

test("an origin that has few, or that is not listed, loses none", async () => {
  const { harness, url } = await ledgerWith([[1, 10, 1]]);
  expect(await thin(harness, 1000, 500)).toBe(0);
  const request = { originFingerprint: toOriginFingerprint(hash("nobody")), kept: 1, after: 7, rowsMax: 500 };
  expect(await harness.store.thinCertificates(request)).toEqual({ after: 7, deleted: 0 });
  expect(await harness.store.thinCertificates({ ...request, originFingerprint: originAt(2) })).toEqual({
    after: 7,
    deleted: 0,
  });
  expect(await sizesLeft(url)).toEqual([1]);
  await harness.store.close();
});
