import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  frontierRoot,
  subtreeHashInTile,
  subtreesOfSize,
  tileOf,
  tileWidthAt,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import { Reads } from "../../src/index.ts";
import { hash } from "../support/cluster.ts";
import { migratedDatabase, refusalOf, sql, startTestPostgres, superuserUrl } from "../support/database.ts";
import type { TestDatabase, TestPostgres } from "../support/database.ts";
import { StoredLedgerHarness, events, originAt } from "../support/stored-ledger.ts";

const { sha256 } = nodeCrypto;

let server: TestPostgres;
let database: TestDatabase;
let harness: StoredLedgerHarness;
let reads: Reads;
let size: number;

beforeAll(async () => {
  server = await startTestPostgres();
  database = await migratedDatabase(server);
  harness = await StoredLedgerHarness.started(database.url);
  for (const count of [1000, 700]) await harness.record(events(count, `a${count}`));
  size = harness.origin(originAt(0)).tree.size;
  reads = await Reads.open({ url: database.readOnlyUrl });
});

afterAll(async () => {
  await reads.close();
  await harness.store.close();
  await server.close();
});

describe("the hashes of a tile", () => {
  test("fold to the root, whether the tile is stored or made of what lies below", async () => {
    const hashes: Uint8Array[] = [];
    for (const { level, index } of subtreesOfSize(size)) {
      const { tileLevel, tileIndex, start, end } = tileOf(level, index);
      const width = tileWidthAt(tileLevel, tileIndex, size);
      const place = { level: tileLevel, index: tileIndex, width };
      const { appliedIndex, hashes: tile } = await reads.tileHashes(originAt(0), place);
      expect([appliedIndex, tile.length]).toEqual([harness.state.appliedIndex, width * 32]);
      hashes.push(subtreeHashInTile(tile, start, end, sha256));
    }
    expect(frontierRoot({ size, hashes }, sha256)).toEqual(await harness.store.rootAt(originAt(0), size));
  });

  test("of a smaller width begin those of a larger one", async () => {
    const { hashes: full } = await reads.tileHashes(originAt(0), { level: 0, index: 1, width: 256 });
    for (const width of [1, 100, 255]) {
      const { hashes } = await reads.tileHashes(originAt(0), { level: 0, index: 1, width });
      expect(Buffer.compare(hashes, full.subarray(0, width * 32))).toBe(0);
    }
  });

  test("beyond the tree, or of nobody, are refused, and a missing tile is corrupt", async () => {
    const last = Math.floor(size / 256);
    const beyond = [
      { level: 0, index: last, width: (size % 256) + 1 },
      { level: 0, index: last + 1, width: 1 },
      { level: 1, index: 0, width: last + 1 },
      { level: 2, index: 0, width: 1 },
    ];
    for (const place of beyond) expect(await refusalOf(reads.tileHashes(originAt(0), place))).toBe("out_of_order");
    const nobody = toOriginFingerprint(hash("nobody"));
    expect(await refusalOf(reads.tileHashes(nobody, { level: 0, index: 0, width: 1 }))).toBe("out_of_order");
    await sql(superuserUrl(server, database), "DELETE FROM state.tiles WHERE level = 0 AND index = 2");
    expect(await refusalOf(reads.tileHashes(originAt(0), { level: 1, index: 0, width: 3 }))).toBe("corrupt");
    await sql(superuserUrl(server, database), "DELETE FROM state.anchors WHERE depth = 300");
    await sql(superuserUrl(server, database), "DELETE FROM state.tiles WHERE level = 0 AND index = 1");
    expect(await refusalOf(reads.tileHashes(originAt(0), { level: 0, index: 1, width: 256 }))).toBe("corrupt");
  });
});
