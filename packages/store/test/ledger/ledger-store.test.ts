import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { NO_FACTS, advance, decideEntry, factsNeeded } from "@event-anchoring/ledger";
import type { FoundAnchor, LeafWrite } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { RecentTree, bytesToHex, emptyFrontier, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import pg from "pg";
import type { ConfState } from "raft-ts";
import { LedgerStore } from "../../src/index.ts";
import { SECOND_DOCUMENT, hash } from "../support/cluster.ts";
import { migratedDatabase, refusalOf, sql, startTestPostgres, superuserUrl, terminate } from "../support/database.ts";
import type { TestDatabase, TestPostgres } from "../support/database.ts";
import {
  CLIENT_ID,
  NOTHING_ASKED,
  StoredLedgerHarness,
  event,
  events,
  originAt,
  partsOf,
  reopened,
} from "../support/stored-ledger.ts";

let server: TestPostgres;

beforeAll(async () => {
  server = await startTestPostgres();
});

afterAll(async () => {
  await server.close();
});

const CONF_STATE: ConfState = {
  voters: [1n, 0xffff_ffff_ffff_fffdn],
  votersOutgoing: [2n],
  learners: [],
  learnersNext: [0x8000_0000_0000_0000n],
  autoLeave: true,
};

/** Sizes around every boundary of tiles and of certificates. */
const BATCHES = [1, 254, 255, 1, 1, 500, 1000, 256, 3];

async function filledLedger(database: TestDatabase): Promise<StoredLedgerHarness> {
  const harness = await StoredLedgerHarness.started(database.url);
  for (const [position, count] of BATCHES.entries()) {
    await harness.record(events(count, `batch ${position}`));
    if (position % 2 === 0) await harness.certify(originAt(0));
  }
  await harness.record(events(3, "of another origin", originAt(1)));
  return harness;
}

describe("load", () => {
  test("a new database has applied nothing", async () => {
    const { url } = await migratedDatabase(server);
    const { store, ledger, state } = await reopened(url);
    expect(ledger).toMatchObject({ appliedIndex: 0, nextSequence: 0, origins: [], apiKeys: [], groupIds: [] });
    expect(state.appliedIndex).toBe(0);
    expect((await store.load()).confState).toBeNull();
    await store.close();
  });

  test("gives after every entry what memory holds", async () => {
    const { url } = await migratedDatabase(server);
    const harness = await StoredLedgerHarness.started(url);
    for (const [position, count] of BATCHES.entries()) {
      await harness.record(events(count, `batch ${position}`));
      expect((await harness.store.load()).ledger).toEqual(partsOf(harness.state));
      if (position % 2 === 0) await harness.certify(originAt(0));
      expect((await harness.store.load()).ledger).toEqual(partsOf(harness.state));
    }
    await harness.store.close();
  });

  test("gives keys, trust roots, statuses and positions, and a restored state goes on to the same effect", async () => {
    const { url } = await migratedDatabase(server);
    const harness = await StoredLedgerHarness.started(url);
    await harness.record(events(10, "before"));
    await harness.run([{ kind: "trust_root", document: SECOND_DOCUMENT }]);
    await harness.record([...events(5, "after"), ...events(2, "refused", originAt(2))]);
    await harness.certify(originAt(0));
    await harness.store.close();
    const { store, state, ledger } = await reopened(url);
    expect(ledger).toEqual(partsOf(harness.state));
    expect(ledger.origins.map(({ status }) => status).filter((status) => status === "closed")).toHaveLength(1);
    const running = new StoredLedgerHarness(store, harness.state);
    const entry = running.entry([]);
    const committed = { index: state.appliedIndex + 1, term: 4, entry };
    const restored = decideEntry(state, committed, NO_FACTS, nodeCrypto);
    expect(restored.effect).toEqual(decideEntry(harness.state, committed, NO_FACTS, nodeCrypto).effect);
    await store.close();
  });

  test("keeps the membership until the next one, with all bits of its ids", async () => {
    const { url } = await migratedDatabase(server);
    const harness = await StoredLedgerHarness.open(url);
    const first = await harness.decide(harness.entry([]));
    await harness.store.apply({ decision: first, confState: CONF_STATE });
    advance(harness.state, first);
    await harness.run([]);
    await harness.store.close();
    const store = await LedgerStore.open({ url });
    expect(await store.load()).toMatchObject({ confState: CONF_STATE, appliedIndex: 2, appliedTerm: 3 });
    await store.close();
  });

  test("forgets group ids as memory does, though their rows are deleted later", async () => {
    const { url } = await migratedDatabase(server);
    const harness = await StoredLedgerHarness.started(url);
    for (let count = 0; count < 3; count++) await harness.run([{ kind: "mark_certify_point" }]);
    const decision = await harness.decide(harness.entry([{ kind: "mark_certify_point" }]));
    const writes = { ...decision.writes, forgetGroupIdsBelow: 4 };
    await harness.store.apply({ decision: { ...decision, writes }, confState: null });
    const { ledger } = await harness.store.load();
    expect(ledger.groupIds.map(({ index }) => index)).toEqual([4, 5, 6]);
    await harness.store.close();
  });
});

describe("apply", () => {
  test("refuses an entry twice, and one that leaves a gap", async () => {
    const { url } = await migratedDatabase(server);
    const harness = await StoredLedgerHarness.started(url);
    const decision = await harness.record(events(3, "once"));
    expect(await refusalOf(harness.store.apply({ decision, confState: null }))).toBe("out_of_order");
    const later = { ...decision, index: decision.index + 2 };
    expect(await refusalOf(harness.store.apply({ decision: later, confState: null }))).toBe("out_of_order");
    expect((await harness.store.load()).ledger).toEqual(partsOf(harness.state));
    await harness.store.close();
  });

  test("writes nothing at all when the stored applied index is not the expected one", async () => {
    const database = await migratedDatabase(server);
    const harness = await StoredLedgerHarness.started(database.url);
    const decision = await harness.decide(harness.entry([]));
    const withGroup = await harness.decide(harness.entry([{ kind: "mark_certify_point" }]));
    await sql(superuserUrl(server, database), "UPDATE state.ledger SET applied_index = applied_index + 1");
    expect(await refusalOf(harness.store.apply({ decision: withGroup, confState: null }))).toBe("out_of_order");
    expect(await refusalOf(harness.store.apply({ decision, confState: null }))).toBe("unavailable");
    const [row] = await sql(superuserUrl(server, database), "SELECT count(*)::int AS rows FROM state.group_ids");
    expect(row).toEqual({ rows: harness.state.groupIds.entries().length });
    await harness.store.close();
  });

  test("a session lost while it writes is an unknown outcome, and a reload applies the entry once", async () => {
    const database = await migratedDatabase(server);
    const harness = await StoredLedgerHarness.started(database.url);
    const entry = harness.entry([{ kind: "mark_certify_point" }]);
    const decision = await harness.decide(entry);
    // The backend ends itself, and does not come to the end of the wait.
    await sql(
      superuserUrl(server, database),
      `CREATE FUNCTION state.leave() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(10); RETURN NULL; END $$;
       CREATE TRIGGER leave AFTER INSERT ON state.group_ids EXECUTE FUNCTION state.leave()`,
    );
    expect(await refusalOf(harness.store.apply({ decision, confState: null }))).toBe("unknown_outcome");
    expect(await refusalOf(harness.store.apply({ decision, confState: null }))).toBe("unavailable");
    await sql(superuserUrl(server, database), "DROP TRIGGER leave ON state.group_ids");
    const { store, ledger } = await reopened(database.url);
    expect(ledger).toEqual(partsOf(harness.state));
    await store.apply({ decision, confState: null });
    advance(harness.state, decision);
    expect((await store.load()).ledger).toEqual(partsOf(harness.state));
    await store.close();
    await harness.store.close();
  });

  test("a full disk is told apart, nothing is written, and the store goes on when there is space", async () => {
    const database = await migratedDatabase(server);
    const harness = await StoredLedgerHarness.started(database.url);
    const decision = await harness.decide(harness.entry([{ kind: "mark_certify_point" }]));
    await sql(
      superuserUrl(server, database),
      `CREATE FUNCTION state.fill() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
       CREATE TRIGGER fill AFTER INSERT ON state.group_ids EXECUTE FUNCTION state.fill()`,
    );
    expect(await refusalOf(harness.store.apply({ decision, confState: null }))).toBe("full");
    await sql(superuserUrl(server, database), "DROP TRIGGER fill ON state.group_ids");
    await harness.store.apply({ decision, confState: null });
    advance(harness.state, decision);
    expect((await harness.store.load()).ledger).toEqual(partsOf(harness.state));
    await harness.store.close();
  });

  test("needs a load first", async () => {
    const { url } = await migratedDatabase(server);
    const store = await LedgerStore.open({ url });
    expect(await refusalOf(store.loadFacts(NOTHING_ASKED))).toBe("out_of_order");
    await store.close();
  });
});

describe("facts", () => {
  test("are what was asked for and exists", async () => {
    const { url } = await migratedDatabase(server);
    const harness = await StoredLedgerHarness.started(url);
    const { writes } = await harness.record([
      event("with id", { clientEventId: "first" }),
      event("without id"),
      event("of b", { originFingerprint: originAt(1), clientEventId: "second" }),
    ]);
    const [first, bare, ofB] = writes.leaves;
    if (first === undefined || bare === undefined || ofB === undefined) throw new Error("three leaves were due");
    const facts = await harness.store.loadFacts({
      ...NOTHING_ASKED,
      anchors: [ofB.anchorId, toAnchorId(hash("nothing")), bare.anchorId],
      clientEvents: [
        { apiClientId: CLIENT_ID, clientEventId: "first" },
        { apiClientId: CLIENT_ID, clientEventId: "First" },
        { apiClientId: CLIENT_ID.map((byte) => byte ^ 1), clientEventId: "first" },
      ],
    });
    expect([...facts.anchors]).toEqual(
      expect.arrayContaining([
        [bytesToHex(ofB.anchorId), factOf(ofB, { apiClientId: CLIENT_ID, isErased: false })],
        [bytesToHex(bare.anchorId), factOf(bare, null)],
      ]),
    );
    expect(facts.anchors.size).toBe(2);
    expect([...facts.clientEvents.values()]).toEqual([
      {
        anchorId: first.anchorId,
        originFingerprint: originAt(0),
        sequence: first.sequence,
        contentHash: writes.clientEvents[0]?.contentHash,
        isErased: false,
      },
    ]);
    await harness.store.close();
  });

  test("make a replay a replay after a restart, and ids with equal prefixes are told apart", async () => {
    const database = await migratedDatabase(server);
    const harness = await StoredLedgerHarness.started(database.url);
    await harness.record([event("one", { clientEventId: "id" }), event("two", { clientEventId: "other" })]);
    await sql(
      superuserUrl(server, database),
      "UPDATE state.anchors SET anchor_prefix = 1, client_prefix = client_prefix",
    );
    await harness.store.close();
    const { store, state } = await reopened(database.url);
    const again = new StoredLedgerHarness(store, state);
    const outcome = (await again.record([event("one", { clientEventId: "id" })])).outcomes[0];
    expect(outcome).toMatchObject({ commands: [{ records: [{ status: "replayed" }] }] });
    const conflict = (await again.record([event("three", { clientEventId: "id" })])).outcomes[0];
    expect(conflict).toMatchObject({
      commands: [{ records: [{ status: "rejected", rejection: { code: "client_event_id_conflict" } }] }],
    });
    await store.close();
  });

  test("an empty question makes no round trip", async () => {
    const { url } = await migratedDatabase(server);
    const harness = await StoredLedgerHarness.started(url);
    await harness.store.close();
    const facts = await harness.store.loadFacts(factsNeeded(harness.entry([]), harness.state));
    expect(facts.anchors.size + facts.clientEvents.size).toBe(0);
  });
});

function factOf(
  { kind, sequence, originFingerprint, depth }: LeafWrite,
  clientEvent: FoundAnchor["clientEvent"],
): FoundAnchor {
  return { kind, sequence, originFingerprint, depth, clientEvent };
}

describe("trees", () => {
  test("frontier and root of any earlier size are recomputed from tiles and leaves", async () => {
    const database = await migratedDatabase(server);
    const harness = await filledLedger(database);
    const { size } = harness.origin(originAt(0)).tree;
    const rows = await sql(
      superuserUrl(server, database),
      `SELECT anchor_id FROM state.anchors JOIN state.origins USING (origin)
       WHERE origin_fingerprint = $1 ORDER BY depth`,
      [Buffer.from(originAt(0))],
    );
    const tree = new RecentTree(emptyFrontier(), nodeCrypto.sha256);
    for (const row of rows) tree.append(new Uint8Array(row["anchor_id"] as Buffer));
    expect(tree.size).toBe(size);
    for (const treeSize of [0, 1, 2, 255, 256, 257, 511, 512, 1000, 1024, 2047, 2048, size - 1, size]) {
      expect(await harness.store.frontierAt(originAt(0), treeSize)).toEqual(tree.frontierAt(treeSize));
      expect(await harness.store.rootAt(originAt(0), treeSize)).toEqual(tree.rootAt(treeSize));
    }
    await harness.store.close();
  });

  test("a size beyond the tree, and an origin that is not listed, are refused", async () => {
    const { url } = await migratedDatabase(server);
    const harness = await StoredLedgerHarness.started(url);
    expect(await refusalOf(harness.store.frontierAt(originAt(0), 2))).toBe("out_of_order");
    expect(await refusalOf(harness.store.frontierAt(toOriginFingerprint(hash("nobody")), 1))).toBe("out_of_order");
    await harness.store.close();
  });
});

describe("a damaged ledger is not loaded", () => {
  const damages: [string, string][] = [
    ["applied index", "UPDATE state.ledger SET applied_index = applied_index + 1"],
    ["applied term", "UPDATE state.ledger SET applied_term = applied_term + 1"],
    ["effect", "UPDATE state.ledger SET effect = set_byte(effect, 0, get_byte(effect, 0) # 1)"],
    ["next sequence", "UPDATE state.ledger SET next_sequence = next_sequence - 1"],
    ["time", "UPDATE state.ledger SET last_accepted_ms = 0"],
    ["group ids bound", "UPDATE state.ledger SET group_ids_from = 5"],
    ["a debt of the log", "UPDATE state.ledger SET forget_log_to = forget_log_to + 1"],
    ["membership", "UPDATE state.ledger SET conf_state = ''"],
    ["rules", "UPDATE state.ledger SET rules = 2, stamp_ms = last_accepted_ms"],
    ["a missing row", "DELETE FROM state.ledger"],
    ["a missing newest leaf", "DELETE FROM state.anchors WHERE sequence = (SELECT max(sequence) FROM state.anchors)"],
    ["a changed new leaf", "UPDATE state.anchors SET leaf = set_byte(leaf, 60, 7) WHERE sequence = 2200"],
    ["a changed new id", "UPDATE state.anchors SET anchor_id = sha256(anchor_id) WHERE sequence = 2260"],
    ["a missing tile", "DELETE FROM state.tiles WHERE level = 0 AND index = 3"],
    ["a changed tile root", "UPDATE state.tiles SET root = sha256(root) WHERE level = 0 AND index = 7"],
    [
      "a larger certificate",
      `UPDATE state.certificates SET tree_size = 99999
        WHERE tree_size = (SELECT max(tree_size) FROM state.certificates)`,
    ],
  ];
  test.each(damages)("%s", async (_, damage) => {
    const database = await migratedDatabase(server);
    const harness = await filledLedger(database);
    await harness.store.close();
    await sql(superuserUrl(server, database), damage);
    const store = await LedgerStore.open({ url: database.url });
    expect(await refusalOf(store.load())).toBe("corrupt");
    await store.close();
  });
});

test("facts do not wait for a transaction that is under way", async () => {
  const database = await migratedDatabase(server);
  const harness = await StoredLedgerHarness.started(database.url);
  const decision = await harness.record(events(2, "known"));
  const later = await harness.decide(harness.entry([{ kind: "mark_certify_point" }]));
  const holder = new pg.Client({ connectionString: superuserUrl(server, database) });
  await holder.connect();
  await holder.query("BEGIN; LOCK TABLE state.group_ids");
  let isWritten = false;
  const writing = harness.store.apply({ decision: later, confState: null }).then(() => (isWritten = true));
  const anchors = decision.writes.leaves.map(({ anchorId }) => anchorId);
  const { anchors: found } = await harness.store.loadFacts({ ...NOTHING_ASKED, anchors });
  expect(found.size).toBe(2);
  expect(isWritten).toBe(false);
  await holder.query("COMMIT");
  await writing;
  await holder.end();
  await harness.store.close();
});

test("one holder: the session that was lost has ended before the next one loads", async () => {
  const { url } = await migratedDatabase(server);
  const store = await LedgerStore.open({ url });
  const lost = new Promise<Error>((resolve) => store.onLost(resolve));
  await terminate(server, "event-anchoring ledger");
  expect(await lost).toBeInstanceOf(Error);
  const second = await LedgerStore.open({ url });
  expect((await second.load()).appliedIndex).toBe(0);
  await second.close();
  await store.close();
});
