import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { bytesToHex } from "@event-anchoring/protocol";
import { describeDifference, fsckDatabase } from "../../src/index.ts";
import { rootThkOfGenesis } from "../support/cluster.ts";
import { migratedDatabase, startTestPostgres } from "../support/database.ts";
import type { TestDatabase, TestPostgres } from "../support/database.ts";
import { PlantedTables, flipped, ofSequence } from "../support/planted.ts";
import type { Named, Planted } from "../support/planted.ts";
import { PLANTED_RUNS } from "../support/planted-runs.ts";
import { makeSoundNode } from "../support/sound-node.ts";
import type { SoundNode } from "../support/sound-node.ts";
import { originAt } from "../support/stored-ledger.ts";

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

const HEX_0 = bytesToHex(originAt(0));
const NUMBER_0 = `(SELECT origin FROM state.origins WHERE origin_fingerprint = '\\x${HEX_0}')`;

const at =
  (table: string, pick: (sound: SoundNode) => { readonly sequence: number }, column: string | null): Named =>
  (sound) => [`state.${table}`, `sequence ${pick(sound).sequence}`, column];

const ANCHORS: readonly Planted[] = [
  [
    "a bit of an event hash",
    (s) => `UPDATE state.anchors SET ${flipped("leaf", 120)} ${ofSequence(s.plain)}`,
    at("anchors", (s) => s.plain, "leaf"),
  ],
  [
    "a bit of a signature",
    (s) => `UPDATE state.anchors SET ${flipped("leaf", 300)} ${ofSequence(s.ada)}`,
    at("anchors", (s) => s.ada, "leaf"),
  ],
  [
    "the kind in a leaf",
    (s) => `UPDATE state.anchors SET leaf = set_byte(leaf, 26, 9) ${ofSequence(s.plain)}`,
    at("anchors", (s) => s.plain, "leaf"),
  ],
  [
    "a leaf cut short",
    (s) => `UPDATE state.anchors SET leaf = substr(leaf, 1, 300) ${ofSequence(s.plain)}`,
    at("anchors", (s) => s.plain, "leaf"),
  ],
  [
    "two leaves swapped",
    (s) => `UPDATE state.anchors AS a SET leaf = b.leaf FROM state.anchors AS b WHERE
      (a.sequence, b.sequence) IN ((${s.plain.sequence}, 20), (20, ${s.plain.sequence}))`,
    () => ["state.anchors", "sequence 20", "leaf"],
  ],
  [
    "an anchor id",
    (s) => `UPDATE state.anchors SET ${flipped("anchor_id", 0)} ${ofSequence(s.plain)}`,
    at("anchors", (s) => s.plain, "anchor_id"),
  ],
  [
    "the prefix of an id",
    (s) => `UPDATE state.anchors SET anchor_prefix = anchor_prefix # 1 ${ofSequence(s.plain)}`,
    at("anchors", (s) => s.plain, "anchor_prefix"),
  ],
  [
    "the prefix of an event's hash",
    (s) => `UPDATE state.anchors SET event_prefix = event_prefix # 1 ${ofSequence(s.plain)}`,
    at("anchors", (s) => s.plain, "event_prefix"),
  ],
  [
    "a missing prefix of an event's hash",
    (s) => `UPDATE state.anchors SET event_prefix = NULL ${ofSequence(s.plain)}`,
    at("anchors", (s) => s.plain, "event_prefix"),
  ],
  [
    "a depth",
    (s) => `UPDATE state.anchors SET depth = depth + 5000 ${ofSequence(s.plain)}`,
    at("anchors", (s) => s.plain, "depth"),
  ],
  [
    "a depth beyond 2^53",
    (s) => `UPDATE state.anchors SET depth = 9223372036854775807 ${ofSequence(s.plain)}`,
    at("anchors", (s) => s.plain, "depth"),
  ],
  ["a kind", (s) => `UPDATE state.anchors SET kind = 6 ${ofSequence(s.plain)}`, at("anchors", (s) => s.plain, "kind")],
  [
    "a time",
    (s) => `UPDATE state.anchors SET accepted_ms = accepted_ms - 1 ${ofSequence(s.plain)}`,
    at("anchors", (s) => s.plain, "accepted_ms"),
  ],
  [
    "an origin",
    (s) => `UPDATE state.anchors SET origin = 2, depth = 9999 ${ofSequence(s.plain)}`,
    at("anchors", (s) => s.plain, "origin"),
  ],
  ["a leaf gone", (s) => `DELETE FROM state.anchors ${ofSequence(s.plain)}`, at("anchors", (s) => s.plain, null)],
  [
    "the newest leaf gone",
    (s) => `DELETE FROM state.anchors WHERE sequence = ${s.nextSequence - 1}`,
    (s) => ["state.anchors", `sequence ${s.nextSequence - 1}`, null],
  ],
  [
    "a leaf too many",
    (s) => `INSERT INTO state.anchors SELECT ${s.nextSequence + 3}, origin, 7777, kind, event_prefix, accepted_ms,
        anchor_prefix,
        anchor_id, leaf
      FROM state.anchors ${ofSequence(s.plain)}`,
    (s) => ["state.anchors", `sequence ${s.nextSequence + 3}`, null],
  ],
  [
    "a client event id",
    (s) => `UPDATE state.anchors SET client_event_id = 'order-2' ${ofSequence(s.event)}`,
    at("anchors", (s) => s.event, "client_prefix"),
  ],
  [
    "a client event id with its place in the index",
    (s) => `UPDATE state.anchors SET client_event_id = 'order-2', client_prefix = b.prefix
      FROM (SELECT
          ('x' || encode(substr(sha256(api_client_id || 'order-2'::bytea), 1, 8), 'hex'))::bit(64)::bigint AS prefix
        FROM state.anchors ${ofSequence(s.event)}) AS b ${ofSequence(s.event)}`,
    at("anchors", (s) => s.event, "client_event_id"),
  ],
  [
    "a salt",
    (s) => `UPDATE state.anchors SET ${flipped("salt")} ${ofSequence(s.event)}`,
    at("anchors", (s) => s.event, "client_event_id"),
  ],
  [
    "a salt gone",
    (s) => `UPDATE state.anchors SET salt = NULL ${ofSequence(s.event)}`,
    at("anchors", (s) => s.event, "salt"),
  ],
  [
    "the clear text of what was erased, invented",
    (s) => `UPDATE state.anchors SET client_event_id = 'guess', salt = content_hash ${ofSequence(s.erased)}`,
    at("anchors", (s) => s.erased, "client_prefix"),
  ],
  [
    "an API client gone",
    (s) => `UPDATE state.anchors SET api_client_id = NULL, client_prefix = NULL, client_event_id = NULL, salt = NULL
      ${ofSequence(s.event)}`,
    at("anchors", (s) => s.event, "api_client_id"),
  ],
  [
    "an API client where there was none",
    (s) => `UPDATE state.anchors SET api_client_id = substr(leaf, 1, 16), client_prefix = 5 ${ofSequence(s.plain)}`,
    at("anchors", (s) => s.plain, "api_client_id"),
  ],
  [
    "a content hash",
    (s) => `UPDATE state.anchors SET ${flipped("content_hash")} ${ofSequence(s.revocation)}`,
    at("anchors", (s) => s.revocation, "content_hash"),
  ],
  [
    "a content hash of an event",
    (s) => `UPDATE state.anchors SET content_hash = NULL ${ofSequence(s.erased)}`,
    at("anchors", (s) => s.erased, "content_hash"),
  ],
];

const TREES: readonly Planted[] = [
  [
    "a hash in a tile",
    () => `UPDATE state.tiles SET ${flipped("hashes", 3205)} WHERE index = 1`,
    () => ["state.tiles", `origin ${HEX_0}, level 0, index 1`, "hashes"],
  ],
  [
    "two tiles swapped",
    () =>
      `UPDATE state.tiles AS t SET hashes = o.hashes, root = o.root FROM state.tiles AS o
        WHERE t.origin = o.origin AND t.index = 1 - o.index`,
    () => ["state.tiles", `origin ${HEX_0}, level 0, index 0`, "root"],
  ],
  [
    "a tile's root",
    () => `UPDATE state.tiles SET ${flipped("root")} WHERE index = 0`,
    () => ["state.tiles", `origin ${HEX_0}, level 0, index 0`, "root"],
  ],
  [
    "a tile gone",
    () => `DELETE FROM state.tiles WHERE index = 1`,
    () => ["state.tiles", `origin ${HEX_0}, level 0, index 1`, null],
  ],
  [
    "a tile too many",
    () => `INSERT INTO state.tiles SELECT origin, level, 2, root, hashes FROM state.tiles WHERE index = 1`,
    () => ["state.tiles", `origin ${HEX_0}, level 0, index 2`, null],
  ],
  [
    "a certified root",
    () => `UPDATE state.certificates SET ${flipped("root_hash")} WHERE tree_size = 401`,
    () => ["state.certificates", `origin ${HEX_0}, tree_size 401`, "root_hash"],
  ],
  [
    "a forged cosignature",
    () => `UPDATE state.certificates SET ${flipped("cosignatures", 20)} WHERE tree_size = 401`,
    () => ["state.certificates", `origin ${HEX_0}, tree_size 401`, "cosignatures"],
  ],
  [
    "a time of a cosignature",
    () => `UPDATE state.certificates SET ${flipped("cosignatures", 12)} WHERE tree_size = 401`,
    () => ["state.certificates", `origin ${HEX_0}, tree_size 401`, "cosignatures"],
  ],
  [
    "one line for two",
    () =>
      `UPDATE state.certificates SET cosignatures = '\\x0001'::bytea || substr(cosignatures, 3, 75)
        WHERE tree_size = 401`,
    () => ["state.certificates", `origin ${HEX_0}, tree_size 401`, "cosignatures"],
  ],
  [
    "one node twice",
    () =>
      `UPDATE state.certificates SET cosignatures = '\\x0002'::bytea
        || substr(cosignatures, 3, 75) || substr(cosignatures, 3, 75) WHERE tree_size = 401`,
    () => ["state.certificates", `origin ${HEX_0}, tree_size 401`, "cosignatures"],
  ],
  [
    "a node nobody knows",
    () => `UPDATE state.certificates SET cosignatures = set_byte(cosignatures, 4, 122) WHERE tree_size = 401`,
    () => ["state.certificates", `origin ${HEX_0}, tree_size 401`, "cosignatures"],
  ],
  [
    "what is no cosignatures",
    () => `UPDATE state.certificates SET cosignatures = '\\x00ff01' WHERE tree_size = 401`,
    () => ["state.certificates", `origin ${HEX_0}, tree_size 401`, "cosignatures"],
  ],
  [
    "when it was certified",
    () => `UPDATE state.certificates SET certified_at_s = certified_at_s - 60 WHERE tree_size = 401`,
    () => ["state.certificates", `origin ${HEX_0}, tree_size 401`, "certified_at_s"],
  ],
  [
    "which trust root judges it",
    () => `UPDATE state.certificates SET trust_root_version = 2 WHERE tree_size = 401`,
    () => ["state.certificates", `origin ${HEX_0}, tree_size 401`, "trust_root_version"],
  ],
  [
    "a certificate of a smaller tree",
    () => `UPDATE state.certificates SET tree_size = 300 WHERE tree_size = 401`,
    () => ["state.certificates", `origin ${HEX_0}, tree_size 300`, "root_hash"],
  ],
  [
    "a certificate of no tree",
    () =>
      `INSERT INTO state.certificates SELECT origin, 9000, root_hash, certified_at_s,
        trust_root_version, cosignatures FROM state.certificates WHERE tree_size = 401`,
    () => ["state.certificates", `origin ${HEX_0}, tree_size 9000`, null],
  ],
];

const RECORDS: readonly Planted[] = [
  ...["pair_hash", "entity_fingerprint", "subject_key", "issuer_key"].map((column): Planted => [
    `a claim's ${column}`,
    (s) => `UPDATE state.claims SET ${flipped(column)} ${ofSequence(s.bob)}`,
    at("claims", (s) => s.bob, column),
  ]),
  ...["pair_prefix", "attribute_type", "expires_ms", "lineage"].map((column): Planted => [
    `a claim's ${column}`,
    (s) => `UPDATE state.claims SET ${column} = ${column} + 1 ${ofSequence(s.bob)}`,
    at("claims", (s) => s.bob, column),
  ]),
  [
    "nobody who recorded a claim",
    (s) => `UPDATE state.anchors SET api_client_id = NULL ${ofSequence(s.bob)}`,
    at("anchors", (s) => s.bob, "api_client_id"),
  ],
  [
    "somebody who recorded a revocation",
    (s) => `UPDATE state.anchors SET api_client_id = substr(anchor_id, 1, 16) ${ofSequence(s.revocation)}`,
    at("anchors", (s) => s.revocation, "client_prefix"),
  ],
  [
    "a dropped superseded_at",
    (s) => `UPDATE state.claims SET superseded_at = NULL ${ofSequence(s.ada)}`,
    at("claims", (s) => s.ada, "superseded_at"),
  ],
  [
    "an invented superseded_at",
    (s) => `UPDATE state.claims SET superseded_at = 5 ${ofSequence(s.bob)}`,
    at("claims", (s) => s.bob, "superseded_at"),
  ],
  [
    "a revocation undone",
    (s) => `UPDATE state.claims SET revoked_at = NULL ${ofSequence(s.cyd)}`,
    at("claims", (s) => s.cyd, "revoked_at"),
  ],
  [
    "an earlier revocation",
    (s) => `UPDATE state.claims SET revoked_at = revoked_at - 1 ${ofSequence(s.cyd)}`,
    at("claims", (s) => s.cyd, "revoked_at"),
  ],
  [
    "a lineage that goes on after a revocation",
    (s) => `UPDATE state.claims SET lineage = ${s.cyd.sequence} WHERE sequence > ${s.revocation.sequence}`,
    (s) => ["state.claims", `sequence ${s.revocation.sequence + 1}`, "lineage"],
  ],
  ["a claim gone", (s) => `DELETE FROM state.claims ${ofSequence(s.ada)}`, at("claims", (s) => s.ada, null)],
  [
    "a claim of an event",
    (s) => `INSERT INTO state.claims SELECT ${s.plain.sequence}, lineage, pair_prefix, pair_hash,
        entity_fingerprint, attribute_type,
      expires_ms, subject_key, issuer_key FROM state.claims ${ofSequence(s.bob)}`,
    at("claims", (s) => s.plain, null),
  ],
  ...["grantor_fingerprint", "grantee_fingerprint", "grantor_key", "witness_key"].map((column): Planted => [
    `a grant's ${column}`,
    (s) => `UPDATE state.grants SET ${flipped(column)} ${ofSequence(s.child)}`,
    at("grants", (s) => s.child, column),
  ]),
  ...["grantor_claim", "grantee_claim", "parties_prefix", "parent", "delegation_depth"].map((column): Planted => [
    `a grant's ${column}`,
    (s) => `UPDATE state.grants SET ${column} = ${column} + 1 ${ofSequence(s.child)}`,
    at("grants", (s) => s.child, column),
  ]),
  ...["grantor_lineage", "grantee_lineage", "links", "not_before_ms", "expires_ms", "revoked_at"].map(
    (column): Planted => [
      `a grant's ${column}`,
      (s) => `UPDATE state.grants SET ${column} = ${column} + 1 ${ofSequence(s.child)}`,
      at("grants", (s) => s.child, column),
    ],
  ),
  [
    "a grant that stands again",
    (s) => `UPDATE state.grants SET superseded_at = NULL ${ofSequence(s.root)}`,
    at("grants", (s) => s.root, "superseded_at"),
  ],
  [
    "a grant gone",
    (s) => `DELETE FROM state.grants ${ofSequence(s.rootAgain)}`,
    at("grants", (s) => s.rootAgain, null),
  ],
  [
    "a revocation of another",
    (s) => `UPDATE state.revocations SET target = ${s.bob.sequence} ${ofSequence(s.revocation)}`,
    at("revocations", (s) => s.revocation, "target"),
  ],
  [
    "a revocation gone",
    (s) => `DELETE FROM state.revocations ${ofSequence(s.revocation)}`,
    at("revocations", (s) => s.revocation, null),
  ],
];

const ROOTS_AND_KEYS: readonly Planted[] = [
  [
    "a trust root's text",
    () => "UPDATE state.trust_roots SET document = replace(document, 'quorum 2', 'quorum 3') WHERE version = 2",
    () => ["state.trust_roots", "version 2", "document"],
  ],
  [
    "what is no trust root",
    () => "UPDATE state.trust_roots SET document = 'hello' WHERE version = 1",
    () => ["state.trust_roots", "version 1", "document"],
  ],
  [
    "a trust root's hash",
    () => `UPDATE state.trust_roots SET ${flipped("root_thk")} WHERE version = 2`,
    () => ["state.trust_roots", "version 2", "root_thk"],
  ],
  [
    "where a trust root begins",
    () => "UPDATE state.trust_roots SET sequence = sequence + 1 WHERE version = 2",
    () => ["state.trust_roots", "version 2", "sequence"],
  ],
  [
    "a version gone",
    () => "DELETE FROM state.trust_roots WHERE version = 1",
    () => ["state.trust_roots", "version 1", "version"],
  ],
  [
    "the newest version gone",
    (s) => [
      "DELETE FROM state.trust_roots WHERE version = 2",
      `UPDATE state.origins SET status = 'active' WHERE ${s.nextSequence} > 0`,
    ],
    (s) => ["state.anchors", `sequence ${s.nextSequence - 4}`, "leaf"],
  ],
  [
    "an origin's status",
    () => "UPDATE state.origins SET status = 'active'",
    () => ["state.origins", `origin_fingerprint ${bytesToHex(originAt(2))}`, "status"],
  ],
  [
    "an origin's fingerprint",
    () => `UPDATE state.origins SET ${flipped("origin_fingerprint")} WHERE origin_fingerprint = '\\x${HEX_0}'`,
    () => ["state.origins", `origin_fingerprint ${HEX_0}`, null],
  ],
  [
    "a position's version",
    () => `UPDATE state.trust_root_positions SET version = 2 WHERE leaf_index = 0 AND origin = ${NUMBER_0}`,
    () => ["state.trust_root_positions", `origin ${HEX_0}, leaf_index 0`, "version"],
  ],
  [
    "a position gone",
    () => `DELETE FROM state.trust_root_positions WHERE leaf_index = 0 AND origin = ${NUMBER_0}`,
    () => ["state.trust_root_positions", `origin ${HEX_0}, leaf_index 0`, null],
  ],
  [
    "a position too many",
    () => `INSERT INTO state.trust_root_positions VALUES (${NUMBER_0}, 17, 2)`,
    () => ["state.trust_root_positions", `origin ${HEX_0}, leaf_index 17`, null],
  ],
  [
    "a position of no origin",
    () => "INSERT INTO state.trust_root_positions VALUES (77, 17, 2)",
    () => ["state.trust_root_positions", "origin number 77, leaf_index 17", null],
  ],
];

describe("a sound node", () => {
  test("has no differences, and everything of it was looked at", async () => {
    const { differences, differenceCount, checked, origins, trustRoot } = await fsckDatabase({
      url: database.url,
      pinnedRootThk: rootThkOfGenesis(),
    });
    expect(differences.map(describeDifference)).toEqual([]);
    expect(differenceCount).toBe(0);
    expect(checked).toMatchObject({ leaves: node.nextSequence, tiles: 2, claims: 5, grants: 3, certificates: 5 });
    expect(checked.logRows).toBe(node.appliedIndex + 2);
    // Two of each claim and grant, one of the signed event and of two revocations, two of each certificate.
    expect(checked.signatures).toBe(2 * 5 + 2 * 3 + 1 + 2 + 2 * 5);
    expect(trustRoot?.version).toBe(2);
    expect(origins.map(({ treeSize, certifiedSize }) => [treeSize, certifiedSize]).flat()).not.toContain(0);
  });

  test("has none in whatever batches it is walked", async () => {
    const report = await fsckDatabase({ url: database.url, pinnedRootThk: null, batchRows: 23 });
    expect(report.differences).toEqual([]);
  });

  test("is another one by another pin", async () => {
    const { differences } = await fsckDatabase({ url: database.url, pinnedRootThk: originAt(0) });
    expect(differences).toMatchObject([{ table: "state.trust_roots", column: "root_thk", shouldBe: HEX_0 }]);
  });
});

describe.each([
  ["leaves", ANCHORS],
  ["look-up runs", PLANTED_RUNS],
  ["trees", TREES],
  ["records", RECORDS],
  ["trust roots", ROOTS_AND_KEYS],
] as const)("of %s it names", (_, planted) => {
  test.each(planted)("%s", async (_what, sql, named) => {
    const { differences } = await tables.reportAfter(sql(node));
    const [table, key, column] = named(node);
    expect(differences.map(describeDifference)).toHaveLength(1);
    expect(differences).toMatchObject([{ table, key, column }]);
  });
});
