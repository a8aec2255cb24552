import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { verifyConsistency } from "@event-anchoring/protocol";
import { WitnessedHeadStore } from "../../src/index.ts";
import type { StoredWitnessedHead } from "../../src/index.ts";
import { hash } from "../support/cluster.ts";
import { migratedDatabase, refusalOf, sql, startTestPostgres } from "../support/database.ts";
import type { TestPostgres } from "../support/database.ts";
import { StoredLedgerHarness, event, originAt } from "../support/stored-ledger.ts";

jest.setTimeout(120_000);

let server: TestPostgres;

beforeAll(async () => {
  server = await startTestPostgres();
}, 120_000);

afterAll(() => server.close());

function head(origin: number, treeSize: number, witnesses: readonly string[]): StoredWitnessedHead {
  return {
    originFingerprint: originAt(origin),
    treeSize,
    rootHash: hash(`root ${treeSize}`),
    cosignatures: [{ nodeId: "a", timeS: 7, signature: new Uint8Array(64).fill(treeSize) }],
    lines: witnesses.map((witness, at) => ({ witness, timeS: 8 + at, signature: new Uint8Array(64).fill(at) })),
  };
}

test("the heads of an origin are replaced together, those of others stay", async () => {
  const { url } = await migratedDatabase(server);
  const store = await WitnessedHeadStore.open({ url });
  expect(await store.load()).toEqual({ heads: [], unreadable: 0 });
  const other = head(1, 3, ["x"]);
  await store.replace(originAt(1), [other]);
  await store.replace(originAt(0), [head(0, 4, ["x", "y"]), head(0, 6, ["y"])]);
  const kept = [head(0, 6, ["x", "y"]), head(0, 9, ["z"])];
  await store.replace(originAt(0), kept);
  expect((await store.load()).heads).toHaveLength(3);
  await store.close();
  const again = await WitnessedHeadStore.open({ url });
  const { heads } = await again.load();
  expect(heads).toEqual(expect.arrayContaining([...kept, other]));
  await again.replace(originAt(0), []);
  expect((await again.load()).heads).toEqual([other]);
  await again.close();
});

test("a row that cannot be decoded is counted and left out", async () => {
  const { url } = await migratedDatabase(server);
  const store = await WitnessedHeadStore.open({ url });
  await store.replace(originAt(0), [head(0, 4, ["x"]), head(0, 5, ["x"])]);
  await sql(url, "UPDATE node.witnessed_heads SET witness_lines = 'x' WHERE tree_size = 4");
  expect(await store.load()).toEqual({ heads: [head(0, 5, ["x"])], unreadable: 1 });
  await store.close();
});

test("proves growth between any two sizes that the tables hold", async () => {
  const { url } = await migratedDatabase(server);
  const harness = await StoredLedgerHarness.started(url);
  await harness.record(Array.from({ length: 300 }, (_, at) => event(`e${at}`)));
  await harness.certify(originAt(0));
  const store = await WitnessedHeadStore.open({ url });
  expect(await store.proveGrowth(originAt(0), 0, 301)).toEqual([]);
  expect(await store.proveGrowth(originAt(0), 301, 301)).toEqual([]);
  for (const [oldSize, size] of [
    [1, 301],
    [256, 257],
    [299, 300],
  ] as const) {
    const path = await store.proveGrowth(originAt(0), oldSize, size);
    const [oldRoot, root] = await Promise.all([
      harness.store.rootAt(originAt(0), oldSize),
      harness.store.rootAt(originAt(0), size),
    ]);
    expect(verifyConsistency({ oldSize, oldRoot, size, root, path }, nodeCrypto.sha256)).toBe(true);
  }
  expect(await refusalOf(store.proveGrowth(originAt(0), 10, 400))).toBe("out_of_order");
  await store.close();
});
