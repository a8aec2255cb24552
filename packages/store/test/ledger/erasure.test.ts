import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { LeafWrite } from "@event-anchoring/ledger";
import { Reads, exportSnapshot, installSnapshot } from "../../src/index.ts";
import { hash } from "../support/cluster.ts";
import { migratedDatabase, refusalOf, sql, startTestPostgres, superuserUrl } from "../support/database.ts";
import type { TestDatabase, TestPostgres } from "../support/database.ts";
import { eraseCommand, leafAt, outcomeOf } from "../support/records.ts";
import { ACCEPT_ALL, chunksOf } from "../support/snapshots.ts";
import { CLIENT_ID, NOTHING_ASKED, StoredLedgerHarness, event, reopened } from "../support/stored-ledger.ts";

const SECRET = "invoice-of-jane-doe-1977";

let server: TestPostgres;
let directory: string;

beforeAll(async () => {
  server = await startTestPostgres();
  directory = mkdtempSync(join(tmpdir(), "anchoring-erasure-"));
});

afterAll(async () => {
  await server.close();
  rmSync(directory, { recursive: true });
});

interface Erased {
  readonly database: TestDatabase;
  readonly ledger: StoredLedgerHarness;
  /** The event whose id is erased, and one whose is not. */
  readonly leaf: LeafWrite;
  readonly other: LeafWrite;
}

async function erased(): Promise<Erased> {
  const database = await migratedDatabase(server);
  const ledger = await StoredLedgerHarness.started(database.url);
  const { writes } = await ledger.record([
    event("one", { clientEventId: SECRET }),
    event("two", { clientEventId: "kept" }),
  ]);
  const [leaf, other] = [leafAt(writes.leaves, 0), leafAt(writes.leaves, 1)];
  expect(await clearTextIn(database)).toEqual(["state.anchors"]);
  expect(outcomeOf(await ledger.run([eraseCommand(leaf)]))).toMatchObject({ kind: "applied" });
  return { database, ledger, leaf, other };
}

/** Tables in which the secret stands: as text, or as bytes. */
async function clearTextIn(database: TestDatabase): Promise<string[]> {
  const url = superuserUrl(server, database);
  const tables = await sql(
    url,
    `SELECT table_schema || '.' || table_name AS name FROM information_schema.tables
      WHERE table_schema IN ('state', 'node') ORDER BY 1`,
  );
  expect(tables.length).toBeGreaterThan(15);
  const selects = tables.map(({ name }) => {
    const table = String(name);
    return `(SELECT '${table}' AS name FROM ${table} t WHERE strpos(t::text, $1) + strpos(t::text, $2) > 0 LIMIT 1)`;
  });
  const found = await sql(url, selects.join(" UNION ALL "), [SECRET, Buffer.from(SECRET).toString("hex")]);
  return found.map(({ name }) => String(name));
}

describe("an erased client event id", () => {
  test("stands in no table any more, and its event is an anchor as before", async () => {
    const { database, ledger, leaf, other } = await erased();
    expect(await clearTextIn(database)).toEqual([]);
    const reads = await Reads.open({ url: database.readOnlyUrl });
    const { anchors } = await reads.anchors([leaf.anchorId, other.anchorId]);
    expect(anchors[0]).toMatchObject({
      bytes: leaf.bytes,
      clientEvent: { apiClientId: CLIENT_ID, clientEventId: null, salt: null, isErased: true },
    });
    expect(anchors[1]).toMatchObject({ clientEvent: { clientEventId: "kept", isErased: false } });
    await reads.close();
    await ledger.store.close();
  });

  test("is still taken: the same content is a replay, other content a conflict, also after a restart", async () => {
    const { database, ledger, leaf } = await erased();
    await ledger.store.close();
    const { store, state } = await reopened(database.url);
    const again = new StoredLedgerHarness(store, state);
    const replay = await again.record([event("one", { clientEventId: SECRET })]);
    expect(outcomeOf(replay)).toMatchObject({ records: [{ status: "replayed", anchorId: leaf.anchorId }] });
    const conflict = await again.record([event("other", { clientEventId: SECRET })]);
    expect(outcomeOf(conflict)).toMatchObject({ records: [{ rejection: { code: "client_event_id_conflict" } }] });
    const fresh = await again.record([event("one", { clientEventId: "another" })]);
    expect(outcomeOf(fresh)).toMatchObject({ records: [{ status: "accepted" }] });
    expect(await clearTextIn(database)).toEqual([]);
    await store.close();
  });

  test("is found by the API client that gave it, and by no other", async () => {
    const { database, ledger, leaf } = await erased();
    const reads = await Reads.open({ url: database.readOnlyUrl });
    const found = await reads.clientEvent(CLIENT_ID, SECRET);
    expect(found).toMatchObject({ isErased: true, anchor: { anchorId: leaf.anchorId } });
    expect(await reads.clientEvent(CLIENT_ID, "kept")).toMatchObject({ isErased: false, anchor: { sequence: 4 } });
    const nobody = { appliedIndex: found.appliedIndex, anchor: null, isErased: false };
    expect(await reads.clientEvent(hash("other").slice(0, 16), SECRET)).toEqual(nobody);
    expect(await reads.clientEvent(CLIENT_ID, `${SECRET}8`)).toEqual(nobody);
    await reads.close();
    await ledger.store.close();
  });

  test("gives way to one in clear at the same place of the index, and the first erased one counts", async () => {
    const { database, ledger, leaf, other } = await erased();
    const url = superuserUrl(server, database);
    // What somebody could bring about who made ids whose hashes begin alike.
    await sql(url, "UPDATE state.anchors SET client_prefix = 77 WHERE client_prefix IS NOT NULL");
    const asked = { ...NOTHING_ASKED, clientEvents: [{ apiClientId: CLIENT_ID, clientEventId: "kept" }] };
    await sql(url, "UPDATE state.anchors SET client_prefix = $1 WHERE client_prefix = 77", [await prefixOf("kept")]);
    const both = await ledger.store.loadFacts(asked);
    expect([...both.clientEvents.values()]).toMatchObject([{ anchorId: other.anchorId }]);
    await ledger.run([eraseCommand(other)]);
    const first = await ledger.store.loadFacts(asked);
    expect([...first.clientEvents.values()]).toMatchObject([{ anchorId: leaf.anchorId }]);
    const reads = await Reads.open({ url: database.readOnlyUrl });
    expect((await reads.clientEvent(CLIENT_ID, "kept")).anchor?.anchorId).toEqual(leaf.anchorId);
    await reads.close();
    await ledger.store.close();
  });

  test("is not there to be erased again", async () => {
    const { ledger, leaf } = await erased();
    const again = await ledger.run([eraseCommand(leaf)]);
    expect(outcomeOf(again)).toMatchObject({ kind: "unchanged" });
    expect(again.writes.erasures).toEqual([]);
    await ledger.store.close();
  });

  test("is in no snapshot, and whoever installs it keeps the place taken and the flag", async () => {
    const { database, ledger, leaf } = await erased();
    const snapshot = await exportSnapshot({ url: database.url, directory, point: null });
    const chunks = await chunksOf(snapshot);
    const stream = Buffer.concat(chunks);
    expect(stream.includes("kept")).toBe(true);
    expect(stream.includes(SECRET)).toBe(false);
    expect(stream.includes(Buffer.from(hash("salt one")))).toBe(false);
    const receiver = await migratedDatabase(server);
    await installSnapshot({
      signers: "unsigned",
      url: receiver.url,
      manifest: snapshot.manifest,
      chunks,
      checks: ACCEPT_ALL,
    });
    await snapshot.close();
    const rows = "SELECT to_jsonb(a) - 'origin' AS row FROM state.anchors a ORDER BY sequence";
    expect(await sql(superuserUrl(server, receiver), rows)).toEqual(await sql(superuserUrl(server, database), rows));
    const owed = "SELECT forget_log_to FROM state.ledger";
    expect(await sql(receiver.url, owed)).toEqual([{ forget_log_to: "0" }]);
    const { store, state } = await reopened(receiver.url);
    const follower = new StoredLedgerHarness(store, state);
    const replay = await follower.record([event("one", { clientEventId: SECRET })]);
    expect(outcomeOf(replay)).toMatchObject({ records: [{ status: "replayed", anchorId: leaf.anchorId }] });
    await store.close();
    await ledger.store.close();
  });
});

test.each([
  ["an id without its salt", "UPDATE state.anchors SET salt = NULL WHERE client_event_id = 'kept'"],
  ["a salt without its id", "UPDATE state.anchors SET client_event_id = NULL WHERE client_event_id = 'kept'"],
  ["an id of nobody", "UPDATE state.anchors SET api_client_id = NULL WHERE client_event_id = 'kept'"],
])("half of it is corrupt: %s", async (_, damage) => {
  const { database, ledger, other } = await erased();
  await sql(superuserUrl(server, database), damage);
  const reads = await Reads.open({ url: database.readOnlyUrl });
  expect(await refusalOf(reads.anchor(other.anchorId))).toBe("corrupt");
  expect(await refusalOf(exportSnapshot({ url: database.url, directory, point: null }))).toBe("corrupt");
  await reads.close();
  await ledger.store.close();
});

/** Where the index has a client event id of ours. */
async function prefixOf(clientEventId: string): Promise<string> {
  const [row] = await sql(
    server.url(),
    `SELECT ('x' || encode(substr(sha256($1::bytea || convert_to($2, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint::text
      AS p`,
    [Buffer.from(CLIENT_ID), clientEventId],
  );
  return String(row?.["p"]);
}
