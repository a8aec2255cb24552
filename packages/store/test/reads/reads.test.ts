import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  proveConsistency,
  proveInclusion,
  subtreesForConsistency,
  subtreesForInclusion,
  toAnchorId,
  toOriginFingerprint,
  verifyConsistency,
  verifyInclusion,
} from "@event-anchoring/protocol";
import { Reads } from "../../src/index.ts";
import type { ReadDirection, StoredAnchor } from "../../src/index.ts";
import { GENESIS_DOCUMENT, ORIGINS, hash } from "../support/cluster.ts";
import { migratedDatabase, refusalOf, sql, startTestPostgres, superuserUrl, terminate } from "../support/database.ts";
import type { TestDatabase, TestPostgres } from "../support/database.ts";
import { CLIENT_ID, StoredLedgerHarness, event, events, originAt } from "../support/stored-ledger.ts";

const { sha256 } = nodeCrypto;

let server: TestPostgres;
let database: TestDatabase;
let harness: StoredLedgerHarness;
let reads: Reads;

beforeAll(async () => {
  server = await startTestPostgres();
  database = await migratedDatabase(server);
  harness = await StoredLedgerHarness.started(database.url);
  for (const count of [1000, 1000, 700]) {
    await harness.record(events(count, `a${count}-${harness.state.nextSequence}`));
    await harness.certify(originAt(0));
  }
  await harness.record(events(300, "b", originAt(1)));
  await harness.certify(originAt(1));
  await harness.record([event("uncovered", { clientEventId: "newest" })]);
  reads = await Reads.open({ url: database.readOnlyUrl });
});

afterAll(async () => {
  await reads.close();
  await harness.store.close();
  await server.close();
});

/** A database of its own with a few anchors, for tests that damage it. */
async function smallDatabase(): Promise<{ small: TestDatabase; anchors: readonly StoredAnchor[] }> {
  const small = await migratedDatabase(server);
  const ledger = await StoredLedgerHarness.started(small.url);
  await ledger.record(events(10, "small"));
  await ledger.store.close();
  const smallReads = await Reads.open({ url: small.readOnlyUrl });
  const { anchors } = await smallReads.anchorsOfOrigin(originAt(0), 0, 20, "ascending");
  await smallReads.close();
  return { small, anchors };
}

describe("what the database takes", () => {
  test("is what the server counts, and a role that may only read can ask", async () => {
    const { bytes, sessions, sessionsMax } = await reads.databaseUsage();
    expect(bytes).toBeGreaterThan(1_000_000);
    expect(sessions).toBeGreaterThanOrEqual(1);
    expect(sessionsMax).toBeGreaterThanOrEqual(sessions);
  });

  test("cannot be asked once the pool is closed", async () => {
    const { small } = await smallDatabase();
    const closed = await Reads.open({ url: small.readOnlyUrl });
    await closed.close();
    await expect(closed.databaseUsage()).rejects.toMatchObject({ name: "StoreError" });
  });
});

describe("anchors", () => {
  test("are found by id, in the order asked, with the client's own id beside them", async () => {
    const { anchors } = await reads.anchorsOfOrigin(originAt(0), 5, 3, "ascending");
    const ids = anchors.map(({ anchorId }) => anchorId).reverse();
    const nothing = toAnchorId(hash("nothing"));
    const found = await reads.anchors([ids[0] ?? nothing, nothing, ids[1] ?? nothing, ids[0] ?? nothing]);
    expect(found.appliedIndex).toBe(harness.state.appliedIndex);
    expect(found.anchors).toEqual([anchors[2], null, anchors[1], anchors[2]]);
    expect(anchors[0]).toMatchObject({
      depth: 5,
      kind: 1,
      originFingerprint: originAt(0),
      clientEvent: { apiClientId: CLIENT_ID, clientEventId: "a1000-3-4" },
    });
    expect((await reads.anchor(ids[0] ?? nothing)).anchor).toEqual(anchors[2]);
    expect(await reads.anchor(nothing)).toEqual({ appliedIndex: found.appliedIndex, anchor: null });
    expect((await reads.anchors([])).anchors).toEqual([]);
  });

  test("a genesis leaf is an anchor without a client event", async () => {
    const { anchors } = await reads.anchorsOfOrigin(originAt(2), 0, 10, "ascending");
    expect(anchors).toMatchObject([{ depth: 0, kind: 0, clientEvent: null }]);
  });

  test.each<[ReadDirection, number[]]>([
    ["ascending", [2, 3, 4, 5]],
    ["descending", [2, 1, 0]],
  ])("of an origin are listed %s", async (direction, depths) => {
    const { anchors } = await reads.anchorsOfOrigin(originAt(0), 2, 4, direction);
    expect(anchors.map(({ depth }) => depth)).toEqual(depths);
  });

  test("of an origin that is not listed are none", async () => {
    const nobody = toOriginFingerprint(hash("nobody"));
    expect((await reads.anchorsOfOrigin(nobody, 0, 10, "ascending")).anchors).toEqual([]);
  });

  test("are found by the client's own id, which is case-sensitive and the client's own", async () => {
    const { anchor } = await reads.clientEvent(CLIENT_ID, "newest");
    expect(anchor).toMatchObject({ depth: harness.origin(originAt(0)).tree.size - 1 });
    expect((await reads.clientEvent(CLIENT_ID, "Newest")).anchor).toBeNull();
    expect((await reads.clientEvent(hash("other").slice(0, 16), "newest")).anchor).toBeNull();
  });
});

describe("certificates", () => {
  test("the newest one, or none if it does not reach far enough", async () => {
    const { treeSize, rootHash } = harness.origin(originAt(0)).certified ?? { treeSize: -1, rootHash: hash("none") };
    const { certificate } = await reads.latestCertificate(originAt(0));
    expect(certificate).toMatchObject({
      originFingerprint: originAt(0),
      treeSize,
      rootHash,
      certifiedAtS: 1_800_000_001,
      trustRootVersion: 1,
      cosignatures: [{ nodeId: "a" }, { nodeId: "b" }],
    });
    expect((await reads.latestCertificate(originAt(0), { atLeastSize: treeSize })).certificate).toEqual(certificate);
    expect((await reads.latestCertificate(originAt(0), { atLeastSize: treeSize + 1 })).certificate).toBeNull();
    expect((await reads.latestCertificate(originAt(2))).certificate).toBeNull();
  });

  test("the one of exactly a size", async () => {
    expect((await reads.certificateAt(originAt(0), 1001)).certificate?.treeSize).toBe(1001);
    expect((await reads.certificateAt(originAt(0), 1000)).certificate).toBeNull();
  });
});

describe("proofs", () => {
  test("of inclusion verify for every kind of place in trees of many sizes", async () => {
    const { tree } = harness.origin(originAt(0));
    const sizes = [1, 2, 255, 256, 257, 1001, 2001, 2048, tree.size];
    const cases = sizes.flatMap((size) =>
      [0, 1, 254, 255, 256, 700, 1023, 1024, 2000, size - 2, size - 1]
        .filter((index) => index >= 0 && index < size)
        .map((index) => ({ index, size })),
    );
    const wanted = cases.flatMap(({ index, size }) => subtreesForInclusion(index, size));
    const hashes = await reads.proofHashes([{ originFingerprint: originAt(0), subtrees: wanted }]);
    for (const { index, size } of cases) {
      const path = proveInclusion(index, size, hashes.hashAt(originAt(0)), sha256);
      const { anchors } = await reads.anchorsOfOrigin(originAt(0), index, 1, "ascending");
      const leafHash = anchors[0]?.anchorId ?? hash("none");
      const rootHash = await harness.store.rootAt(originAt(0), size);
      expect({ index, size, ok: verifyInclusion({ leafHash, index, size, path, rootHash }, sha256) }).toEqual({
        index,
        size,
        ok: true,
      });
    }
    expect(cases.length).toBeGreaterThan(60);
  });

  test("of consistency verify", async () => {
    const { size } = harness.origin(originAt(0)).tree;
    for (const oldSize of [1, 2, 3, 255, 256, 257, 1000, 1001, 2048, size - 1, size]) {
      const subtrees = subtreesForConsistency(oldSize, size);
      const hashes = await reads.proofHashes([{ originFingerprint: originAt(0), subtrees }]);
      const path = proveConsistency(oldSize, size, hashes.hashAt(originAt(0)), sha256);
      const oldRoot = await harness.store.rootAt(originAt(0), oldSize);
      const root = await harness.store.rootAt(originAt(0), size);
      expect(verifyConsistency({ oldSize, oldRoot, size, root, path }, sha256)).toBe(true);
    }
  });

  test("of a thousand anchors of several origins take one statement", async () => {
    const requests = ORIGINS.slice(0, 2).flatMap((originFingerprint) => {
      const { size } = harness.origin(originFingerprint).tree;
      return Array.from({ length: 500 }, (_, position) => ({
        originFingerprint,
        subtrees: subtreesForInclusion((position * 7) % size, size),
      }));
    });
    const [before] = await sql(server.url(), "SELECT sum(numbackends)::int AS sessions FROM pg_stat_database");
    const hashes = await reads.proofHashes(requests);
    const [after] = await sql(server.url(), "SELECT sum(numbackends)::int AS sessions FROM pg_stat_database");
    expect(after).toEqual(before);
    for (const originFingerprint of ORIGINS.slice(0, 2)) {
      const { size } = harness.origin(originFingerprint).tree;
      expect(proveInclusion(7, size, hashes.hashAt(originFingerprint), sha256).length).toBeGreaterThan(8);
    }
  });

  test("hashes that are not complete yet, or not asked for, or of nobody, are refused", async () => {
    const { size } = harness.origin(originAt(0)).tree;
    const ask = (level: number, index: number): Promise<unknown> =>
      reads.proofHashes([{ originFingerprint: originAt(0), subtrees: [{ level, index }] }]);
    expect(await refusalOf(ask(0, size))).toBe("out_of_order");
    expect(await refusalOf(ask(12, 0))).toBe("out_of_order");
    expect(await refusalOf(ask(8, Math.floor(size / 256)))).toBe("out_of_order");
    const nobody = toOriginFingerprint(hash("nobody"));
    const subtrees = [{ level: 0, index: 0 }];
    expect(await refusalOf(reads.proofHashes([{ originFingerprint: nobody, subtrees }]))).toBe("out_of_order");
    const hashes = await reads.proofHashes([{ originFingerprint: originAt(0), subtrees }]);
    expect(() => hashes.hashAt(originAt(0))(0, 1)).toThrow("was not loaded");
    expect(() => hashes.hashAt(originAt(1))).toThrow("were loaded");
  });

  test("a missing tile is corrupt, and a changed one makes no proof that verifies", async () => {
    const own = await migratedDatabase(server);
    const ledger = await StoredLedgerHarness.started(own.url);
    await ledger.record(events(600, "own"));
    const { size } = ledger.origin(originAt(0)).tree;
    const rootHash = await ledger.store.rootAt(originAt(0), size);
    await ledger.store.close();
    const ownReads = await Reads.open({ url: own.readOnlyUrl });
    await sql(superuserUrl(server, own), "UPDATE state.tiles SET hashes = set_byte(hashes, 40, 1) WHERE index = 0");
    const { anchors } = await ownReads.anchorsOfOrigin(originAt(0), 0, 1, "ascending");
    const ask = { originFingerprint: originAt(0), subtrees: subtreesForInclusion(0, size) };
    const hashes = await ownReads.proofHashes([ask]);
    const path = proveInclusion(0, size, hashes.hashAt(originAt(0)), sha256);
    const leafHash = anchors[0]?.anchorId ?? hash("none");
    expect(verifyInclusion({ leafHash, index: 0, size, path, rootHash }, sha256)).toBe(false);
    await sql(superuserUrl(server, own), "DELETE FROM state.tiles WHERE index = 1");
    expect(await refusalOf(ownReads.proofHashes([ask]))).toBe("corrupt");
    await ownReads.close();
  });
});

describe("positions in time", () => {
  test("sequence and time lead to each other", async () => {
    const { sequence: last } = await reads.position();
    expect(last).toBe(harness.state.nextSequence - 1);
    for (const sequence of [0, 1, 2, 3, 1002, 1003, 2002, last]) {
      const { acceptedMs } = await reads.acceptedMsOf(sequence);
      const found = (await reads.sequenceAtOrBefore(acceptedMs ?? -1)).sequence ?? -1;
      expect(found).toBeGreaterThanOrEqual(sequence);
      expect((await reads.acceptedMsOf(found)).acceptedMs).toBe(acceptedMs);
      expect((await reads.acceptedMsOf(found + 1)).acceptedMs).not.toBe(acceptedMs);
      const before = (await reads.sequenceAtOrBefore((acceptedMs ?? 0) - 1)).sequence;
      expect(before === null ? -1 : before).toBeLessThan(sequence);
    }
    expect((await reads.sequenceAtOrBefore(Number.MAX_SAFE_INTEGER)).sequence).toBe(last);
    expect((await reads.sequenceAtOrBefore(0)).sequence).toBeNull();
    expect((await reads.acceptedMsOf(last + 1)).acceptedMs).toBeNull();
  });
});

describe("tables", () => {
  test("trust roots, origins and keys", async () => {
    const { trustRoots } = await reads.trustRoots();
    expect(trustRoots).toMatchObject([{ version: 1, sequence: 0, document: GENESIS_DOCUMENT }]);
    const { origins, appliedIndex } = await reads.origins();
    expect(appliedIndex).toBe(harness.state.appliedIndex);
    expect(origins).toEqual(
      [...harness.state.origins.values()].map(({ originFingerprint, status, tree, lastAnchorId }) => ({
        originFingerprint,
        status,
        treeSize: tree.size,
        lastAnchorId,
      })),
    );
  });

  test("of a new database are empty, and say that nothing is applied", async () => {
    const { readOnlyUrl } = await migratedDatabase(server);
    const empty = await Reads.open({ url: readOnlyUrl });
    expect(await empty.position()).toEqual({ appliedIndex: 0, sequence: -1, acceptedMs: 0 });
    expect(await empty.trustRoots()).toEqual({ appliedIndex: 0, trustRoots: [] });
    expect(await empty.origins()).toEqual({ appliedIndex: 0, origins: [] });
    expect(await empty.sequenceAtOrBefore(1)).toEqual({ appliedIndex: 0, sequence: null });
    expect((await empty.anchor(toAnchorId(hash("nothing")))).anchor).toBeNull();
    await empty.close();
  });
});

describe("a damaged anchor is an error, not an absent one", () => {
  test.each([
    ["leaf", "leaf = set_byte(leaf, 100, 1)"],
    ["kind in the leaf", "leaf = set_byte(leaf, 25, 99)"],
    ["length", "leaf = substring(leaf FOR 100)"],
    ["kind", "kind = 2"],
    ["depth", "depth = 500"],
    ["time", "accepted_ms = 1"],
    ["origin", "origin = 2, depth = 500"],
  ])("%s", async (_, change) => {
    const { small, anchors } = await smallDatabase();
    const anchor = anchors[4];
    if (anchor === undefined) throw new Error("there are ten anchors");
    await sql(superuserUrl(server, small), `UPDATE state.anchors SET ${change} WHERE sequence = $1`, [anchor.sequence]);
    const damaged = await Reads.open({ url: small.readOnlyUrl });
    expect(await refusalOf(damaged.anchor(anchor.anchorId))).toBe("corrupt");
    await damaged.close();
  });
});

describe("the api's role", () => {
  test("can read the state and nothing else", async () => {
    const { readOnlyUrl } = database;
    await expect(sql(readOnlyUrl, "DELETE FROM state.anchors")).rejects.toThrow("permission denied");
    await expect(sql(readOnlyUrl, "SELECT * FROM node.raft_log")).rejects.toThrow("permission denied");
    await expect(sql(readOnlyUrl, "SELECT * FROM node.identity")).rejects.toThrow("permission denied");
    await expect(sql(readOnlyUrl, "CREATE TABLE state.more (one int)")).rejects.toThrow("permission denied");
  });

  test("gives a statement up in time, and goes on after its sessions are lost", async () => {
    const small = await migratedDatabase(server);
    const short = await Reads.open({ url: small.readOnlyUrl, statementTimeoutMs: 100, max: 2 });
    await sql(superuserUrl(server, small), "ALTER TABLE state.ledger RENAME TO hidden");
    expect(await refusalOf(short.position())).toBe("schema");
    // A statement that is slower than its limit of 100 ms: it is given up long before this minute is over.
    await sql(
      superuserUrl(server, small),
      `CREATE VIEW state.ledger AS SELECT h.* FROM state.hidden h, pg_sleep(60);
       GRANT SELECT ON state.ledger TO ${server.readOnlyRole}`,
    );
    expect(await refusalOf(short.position())).toBe("unavailable");
    await sql(superuserUrl(server, small), "DROP VIEW state.ledger; ALTER TABLE state.hidden RENAME TO ledger");
    await terminate(server, "event-anchoring reads");
    await expect(retried(() => short.position())).resolves.toMatchObject({ appliedIndex: 0 });
    await short.close();
  });

  test("a database that was not migrated is refused", async () => {
    const { readOnlyUrl } = await server.createDatabase();
    expect(await refusalOf(Reads.open({ url: readOnlyUrl }))).toBe("schema");
  });
});

/** The first use of a pooled session that the server has ended may fail; the pool then opens another. */
async function retried<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch {
    return work();
  }
}
