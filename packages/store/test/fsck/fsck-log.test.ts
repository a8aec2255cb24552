import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { describeDifference, fsckDatabase } from "../../src/index.ts";
import { LOG_ROW_CHECKSUM_SQL } from "../../src/log/raft-codec.ts";
import { migratedDatabase, sql, startTestPostgres } from "../support/database.ts";
import type { TestDatabase, TestPostgres } from "../support/database.ts";
import { PlantedTables, flipped } from "../support/planted.ts";
import type { Planted } from "../support/planted.ts";
import { makeSoundNode } from "../support/sound-node.ts";
import type { SoundNode } from "../support/sound-node.ts";

jest.setTimeout(240_000);

let server: TestPostgres;
let database: TestDatabase;
let node: SoundNode;
let tables: PlantedTables;

beforeAll(async () => {
  server = await startTestPostgres();
  database = await migratedDatabase(server);
  node = await makeSoundNode(database);
  tables = await PlantedTables.open(database.url);
});

afterAll(async () => {
  await tables.close();
  await server.close();
});

/** Rows whose checksums are made anew: whoever alters them knows how. */
function resealed(sql: string): readonly string[] {
  return [sql, `UPDATE node.raft_log SET checksum = ${LOG_ROW_CHECKSUM_SQL}`];
}

const LEDGER = "the only row";

const LOG: readonly Planted[] = [
  [
    "a byte of an entry",
    () => `UPDATE node.raft_log SET ${flipped("payload", 40)} WHERE index = 4`,
    () => ["node.raft_log", "index 4", "checksum"],
  ],
  [
    "a checksum",
    () => `UPDATE node.raft_log SET ${flipped("checksum")} WHERE index = 4`,
    () => ["node.raft_log", "index 4", "checksum"],
  ],
  [
    "a commit hint",
    () => "UPDATE node.raft_log SET commit_hint = commit_hint + 1 WHERE index = 4",
    () => ["node.raft_log", "index 4", "checksum"],
  ],
  ["a gap", () => "DELETE FROM node.raft_log WHERE index = 5", () => ["node.raft_log", "index 5", null]],
  [
    "a beginning that is gone",
    () => "DELETE FROM node.raft_log WHERE index <= 2",
    () => ["node.raft_log", "index 1", null],
  ],
  [
    "an end that is gone",
    (s) => `DELETE FROM node.raft_log WHERE index >= ${s.appliedIndex}`,
    (s) => ["node.raft_log", `index ${s.appliedIndex}`, null],
  ],
  [
    "a term that falls",
    () => resealed("UPDATE node.raft_log SET term = 2 WHERE index = 5"),
    () => ["node.raft_log", "index 5", "term"],
  ],
  [
    "what is no entry",
    () => resealed("UPDATE node.raft_log SET payload = substr(payload, 1, 30) WHERE index = 5"),
    () => ["node.raft_log", "index 5", "payload"],
  ],
  [
    "an entry of a version nobody knows",
    () => resealed("UPDATE node.raft_log SET payload = set_byte(payload, 0, 99) WHERE index = 5"),
    () => ["node.raft_log", "index 5", "payload"],
  ],
  [
    "another entry in its place",
    () =>
      resealed(
        "UPDATE node.raft_log AS a SET payload = b.payload FROM node.raft_log AS b WHERE a.index = 5 AND b.index = 3",
      ),
    () => ["state.group_ids", "index 5", "groups"],
  ],
  [
    "a row before the compaction point",
    () => `INSERT INTO node.raft_compaction VALUES (true, 3, 3, sha256(int8send(3) || int8send(3)))`,
    () => ["node.raft_log", "index 1", null],
  ],
  [
    "a compaction point",
    () => "INSERT INTO node.raft_compaction VALUES (true, 0, 0, '')",
    () => ["node.raft_compaction", LEDGER, "checksum"],
  ],
  [
    "a log that begins after what is applied",
    (s) =>
      `INSERT INTO node.raft_compaction
        SELECT true, i, 3, sha256(int8send(i) || int8send(3)) FROM (VALUES (${s.appliedIndex + 1}::bigint)) AS v (i)`,
    () => ["node.raft_compaction", LEDGER, "index"],
  ],
  ["a vote", () => "UPDATE node.raft_state SET vote = 5", () => ["node.raft_state", LEDGER, "checksum"]],
  [
    "a term that was forgotten",
    () => "UPDATE node.raft_state SET term = 1, checksum = sha256(int8send(1) || int8send(0))",
    () => ["node.raft_state", LEDGER, "term"],
  ],
  ["no term and vote", () => "DELETE FROM node.raft_state", () => ["node.raft_state", LEDGER, null]],
];

const STATE: readonly Planted[] = [
  [
    "the effect chain",
    () => `UPDATE state.ledger SET ${flipped("effect")}`,
    () => ["state.ledger", LEDGER, "checksum"],
  ],
  [
    "the applied index",
    () => "UPDATE state.ledger SET applied_index = applied_index - 1",
    () => ["state.ledger", LEDGER, "checksum"],
  ],
  ["the row of the ledger gone", () => "DELETE FROM state.ledger", () => ["state.ledger", LEDGER, "checksum"]],
  [
    "a group id",
    () => `UPDATE state.group_ids SET ${flipped("groups", 20)} WHERE index = 3`,
    () => ["state.group_ids", "index 3", "groups"],
  ],
  [
    "half a group id",
    () => "UPDATE state.group_ids SET groups = substr(groups, 1, 20) WHERE index = 3",
    () => ["state.group_ids", "index 3", "groups"],
  ],
  [
    "group ids gone",
    () => "DELETE FROM state.group_ids WHERE index = 3",
    () => ["state.group_ids", "index 3", "groups"],
  ],
  [
    "group ids of an entry to come",
    (s) => `INSERT INTO state.group_ids
            SELECT ${s.appliedIndex + 9}, groups, hash_before FROM state.group_ids WHERE index = 3`,
    (s) => ["state.group_ids", `index ${s.appliedIndex + 9}`, "groups"],
  ],
  [
    "an API key's hash",
    () => `UPDATE state.api_keys SET ${flipped("key_hash", 3)} WHERE label = 'key'`,
    keyNamed("key_id"),
  ],
  ["an API key's label", () => "UPDATE state.api_keys SET label = E'a\\nb' WHERE label = 'key'", keyNamed("label")],
  [
    "whose act made an API key",
    () => "UPDATE state.api_keys SET created_by = '' WHERE label = 'key'",
    keyNamed("created_by"),
  ],
  ["an API key's scopes", () => "UPDATE state.api_keys SET scopes = 31 WHERE label = 'key'", keyNamed("scopes")],
  ["an API key's end", () => "UPDATE state.api_keys SET expires_ms = -1 WHERE label = 'key'", keyNamed("expires_ms")],
  [
    "whose database this is",
    () => "UPDATE node.identity SET node_id = 'b'",
    () => ["node.identity", LEDGER, "raft_id"],
  ],
  [
    "of which cluster it is",
    () => `UPDATE node.identity SET ${flipped("cluster_id")}`,
    () => ["node.identity", LEDGER, "cluster_id"],
  ],
];

function keyNamed(column: string): Planted[2] {
  return ({ keyId }) => ["state.api_keys", `key_id ${keyId}`, column];
}

describe.each([
  ["log", LOG],
  ["state", STATE],
] as const)("of the %s it names", (_, planted) => {
  test.each(planted)("%s", async (_what, plant, named) => {
    const { differences } = await tables.reportAfter(plant(node));
    const [table, key, column] = named(node);
    expect(differences.map(describeDifference)).toHaveLength(1);
    expect(differences).toMatchObject([{ table, key, column }]);
  });
});

describe("what only a broken disk writes", () => {
  test.each([
    ["an index beyond 2^53", "UPDATE node.raft_log SET index = 9223372036854775807 WHERE index = 5"],
    ["an entry before the first", "UPDATE node.raft_log SET index = -5 WHERE index = 5"],
    [
      "a sequence beyond 2^53",
      `UPDATE state.claims SET sequence = 9223372036854775807
        WHERE sequence = (SELECT max(sequence) FROM state.claims)`,
    ],
    ["a next sequence beyond 2^53", "UPDATE state.ledger SET next_sequence = 9223372036854775807"],
    ["an anchor id of 3 bytes", "UPDATE state.anchors SET anchor_id = '\\x010203' WHERE sequence = 40"],
    ["no leaf", "UPDATE state.anchors SET leaf = '' WHERE sequence = 40"],
    ["a salt that is too long", "UPDATE state.anchors SET salt = leaf WHERE sequence = 40"],
    ["a client event id of another alphabet", "UPDATE state.anchors SET client_event_id = 'ä' WHERE sequence = 40"],
  ])("is a difference as well: %s", async (_, sql) => {
    const { differenceCount } = await tables.reportAfter(sql);
    expect(differenceCount).toBe(1);
  });
});

describe("what fails a statement of the walk itself", () => {
  test("is told as a difference by the command, which has its own transaction", async () => {
    await sql(database.url, "UPDATE state.certificates SET tree_size = -9223372036854775808 WHERE tree_size = 401");
    const { differences } = await fsckDatabase({ url: database.url, pinnedRootThk: null });
    expect(differences).toMatchObject([{ table: "state.anchors", column: null }]);
    await sql(database.url, "UPDATE state.certificates SET tree_size = 401 WHERE tree_size < 0");
  });
});

describe("asked for all of them", () => {
  test("it goes on, in the order of the rows, and counts what it does not name", async () => {
    const sql = [
      "UPDATE state.tiles SET root = hashes",
      `UPDATE state.anchors SET kind = 6 WHERE sequence IN (10, 20, 30)`,
    ];
    const { differences, differenceCount } = await tables.reportAfter(sql, { findsAll: true, differencesMax: 4 });
    expect(differences.map(({ table, key }) => `${table} ${key}`).slice(0, 3)).toEqual(
      [10, 20, 30].map((sequence) => `state.anchors sequence ${sequence}`),
    );
    expect([differences.length, differenceCount]).toEqual([4, 5]);
  });

  test.each([
    ["an event", () => 40],
    ["a claim that grants name", () => node.ada.sequence],
    ["a grant with others below it", () => node.root.sequence],
  ])("%s altered is one difference, and not all that stands on it", async (_, sequenceOf) => {
    const sql = `UPDATE state.anchors SET ${flipped("leaf", 120)} WHERE sequence = ${sequenceOf()}`;
    expect((await tables.reportAfter(sql, { findsAll: true })).differenceCount).toBe(1);
  });
});
