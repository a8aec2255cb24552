/** What no leaf proves: the state tree and the running hashes, derived again. */
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { operatorEntry } from "@event-anchoring/ledger";
import { describeDifference, fsckDatabase } from "../../src/index.ts";
import { Connection } from "../../src/postgres/connection.ts";
import { loadLedgerRow } from "../../src/tables/ledger.ts";
import type { LedgerRow } from "../../src/tables/ledger.ts";
import { hash } from "../support/cluster.ts";
import { migratedDatabase, startTestPostgres } from "../support/database.ts";
import type { TestDatabase, TestPostgres } from "../support/database.ts";
import { PlantedTables, flipped, ofSequence } from "../support/planted.ts";
import { makeSoundNode } from "../support/sound-node.ts";
import type { SoundNode } from "../support/sound-node.ts";
import { changeStateTree, ledgerRowSql } from "../support/state-tables.ts";
import type { LedgerChange } from "../support/state-tables.ts";

jest.setTimeout(240_000);

let server: TestPostgres;
let database: TestDatabase;
let node: SoundNode;
let tables: PlantedTables;
let row: LedgerRow;

beforeAll(async () => {
  server = await startTestPostgres();
  database = await migratedDatabase(server);
  node = await makeSoundNode(database);
  tables = await PlantedTables.open(database.url);
  const connection = await Connection.open({ url: database.url, name: "fsck state test" });
  row = await loadLedgerRow(connection);
  await connection.close();
});

afterAll(async () => {
  await tables.close();
  await server.close();
});

const PAGES = "state.tree_pages";
const BELOW = "prefix = (SELECT min(prefix) FROM state.tree_pages WHERE prefix <> '')";
/** The last byte of a page: of a value's hash, or of a page below. */
const LAST_BYTE = "octet_length(slots) - 1";
const FLIP_LAST = `slots = set_byte(slots, ${LAST_BYTE}, get_byte(slots, ${LAST_BYTE}) # 1)`;

type PlantedState = readonly [what: string, sql: (sound: SoundNode) => string, named: object];

const TREE: readonly PlantedState[] = [
  ["a flipped bit in its first page", () => `UPDATE ${PAGES} SET ${FLIP_LAST} WHERE prefix = ''`, { table: PAGES }],
  ["a flipped bit in a page below", () => `UPDATE ${PAGES} SET ${FLIP_LAST} WHERE ${BELOW}`, { table: PAGES }],
  ["a page gone", () => `DELETE FROM ${PAGES} WHERE ${BELOW}`, { table: PAGES, is: "missing" }],
  [
    "a page too many",
    () => `INSERT INTO ${PAGES} SELECT 'ffff', slots FROM ${PAGES} WHERE ${BELOW}`,
    { table: PAGES, key: 'prefix "ffff"' },
  ],
  ["a page of nothing", () => `INSERT INTO ${PAGES} VALUES ('ffff', '\\x00000000')`, { key: 'prefix "ffff"' }],
  [
    "what is no page",
    () => `UPDATE ${PAGES} SET slots = '\\x01' WHERE ${BELOW}`,
    { table: PAGES, is: "what cannot be decoded" },
  ],
];

const ROWS: readonly PlantedState[] = [
  ["a key that lives again", () => "UPDATE state.api_keys SET expires_ms = expires_ms + 1", { table: PAGES }],
  ["a key with another scope", () => "UPDATE state.api_keys SET scopes = 1 WHERE label = 'key'", { table: PAGES }],
  ["a key of another client", () => `UPDATE state.api_keys SET ${flipped("api_client_id")}`, { table: PAGES }],
  ["a key that nobody made", () => `UPDATE state.api_keys SET created_counter = 77`, { table: PAGES }],
  [
    "a key gone",
    () => "DELETE FROM state.api_keys WHERE label = 'second key'",
    { table: PAGES, key: "all of them", column: "slots" },
  ],
  ["an operator's counter", () => "UPDATE state.operators SET counter = counter + 1", { table: PAGES }],
  [
    "another client who recorded a claim",
    (s) => `UPDATE state.anchors SET ${flipped("api_client_id")} ${ofSequence(s.ada)}`,
    { table: PAGES },
  ],
  [
    "an erasure that nobody asked for",
    (s) => `UPDATE state.anchors SET client_event_id = NULL, salt = NULL ${ofSequence(s.event)}`,
    { table: PAGES, column: "slots", is: "nothing" },
  ],
  [
    "another client of an erased event",
    (s) => `UPDATE state.anchors SET ${flipped("api_client_id")} ${ofSequence(s.erased)}`,
    { table: "state.ledger", column: "client_events_hash" },
  ],
  [
    "another place of an erased event in the index",
    (s) => `UPDATE state.anchors SET client_prefix = client_prefix # 1 ${ofSequence(s.erased)}`,
    { table: "state.ledger", column: "client_events_hash" },
  ],
  [
    "a running hash of groups",
    () => `UPDATE state.group_ids SET ${flipped("hash_before")} WHERE index = (SELECT max(index) FROM state.group_ids)`,
    { table: "state.group_ids", column: "hash_before" },
  ],
];

const LEDGER: readonly (readonly [string, LedgerChange, object])[] = [
  ["root of the state tree", { stateRoot: hash("another") }, { table: PAGES, key: 'prefix ""' }],
  ["running hash of groups", { groupIdsHash: hash("another") }, { table: "state.ledger", column: "group_ids_hash" }],
  [
    "running hash of client events",
    { clientEventsHash: hash("another") },
    { table: "state.ledger", column: "client_events_hash" },
  ],
];

describe("of what no leaf proves it names", () => {
  test.each([...TREE, ...ROWS])("%s", async (_what, sql, named) => {
    const { differences } = await tables.reportAfter(sql(node));
    expect(differences.map(describeDifference)).toHaveLength(1);
    expect(differences).toMatchObject([named]);
  });

  test.each(LEDGER)("another %s in the ledger's row, whose checksum fits", async (_what, change, named) => {
    const { differences } = await tables.reportAfter(ledgerRowSql(row, change));
    expect(differences).toMatchObject([named]);
  });

  test("each of them in whatever batches the tables are walked", async () => {
    for (const [, sql] of [...TREE, ...ROWS]) {
      const { differenceCount } = await tables.reportAfter(sql(node), { batchRows: 3 });
      expect(differenceCount).toBe(1);
    }
  });

  test("a key too many in a tree that fits in itself and to the ledger's row", async () => {
    const other = await migratedDatabase(server);
    await makeSoundNode(other);
    await changeStateTree(other.url, [operatorEntry({ operator: "mallory", counter: 1 })]);
    const { differences } = await fsckDatabase({ url: other.url, pinnedRootThk: null });
    expect(differences).toMatchObject([{ table: PAGES, key: "all of them", column: "slots" }]);
  });
});
