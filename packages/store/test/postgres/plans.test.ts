/** Every statement that a running node makes goes by an index, also on tables that the planner knows nothing of. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { toAnchorId } from "@event-anchoring/protocol";
import { LedgerStore, Reads, exportSnapshot, installSnapshot } from "../../src/index.ts";
import { INDEXED_PLANS } from "../../src/postgres/indexed-plans.ts";
import { hash } from "../support/cluster.ts";
import { migratedDatabase, startTestPostgres } from "../support/database.ts";
import type { TestDatabase, TestPostgres } from "../support/database.ts";
import { live } from "../support/random-history.ts";
import {
  accepted,
  claimCommand,
  eraseCommand,
  grantCommand,
  holders,
  leafAt,
  revocationCommand,
} from "../support/records.ts";
import { ACCEPT_ALL, chunksOf } from "../support/snapshots.ts";
import { CLIENT_ID, NOTHING_ASKED, StoredLedgerHarness, event, originAt } from "../support/stored-ledger.ts";

let server: TestPostgres;
let database: TestDatabase;

beforeAll(async () => {
  server = await startTestPostgres();
  database = await migratedDatabase(server);
});

afterAll(async () => {
  await server.close();
});

/** Statements that a piece of work has sent to the server. */
async function statementsOf(work: () => Promise<unknown>): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...parameters: unknown[]) {
    const [config] = parameters as [{ text: string; name?: string }];
    if (config.name !== undefined) texts.set(config.name, config.text);
    return Reflect.apply(query, this, parameters) as never;
  };
  try {
    await work();
  } finally {
    pg.Client.prototype.query = query;
  }
  return texts;
}

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Index Cond"?: string;
  readonly Plans?: readonly PlanNode[];
}

function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** The node of a plan for values that are not known yet, and of what it stands on. */
async function planOf(text: string): Promise<PlanNode[]> {
  const options = Object.entries(INDEXED_PLANS).map(([key, value]) => `-c ${key}=${value}`);
  const client = new pg.Client({ connectionString: database.url, options: options.join(" ") });
  await client.connect();
  try {
    const result = await client.query<{ "QUERY PLAN": { Plan: PlanNode }[] }>(
      `EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`,
    );
    const [plan] = result.rows[0]?.["QUERY PLAN"] ?? [];
    if (plan === undefined) throw new Error("no plan");
    return nodesOf(plan.Plan);
  } finally {
    await client.end();
  }
}

/** Tables of one row, or of a few that are always wanted whole. */
const SMALL = new Set(["ledger", "origins"]);

/** What reads a table in a way that takes longer the larger it is. */
async function scansOf(statements: ReadonlyMap<string, string>): Promise<string[]> {
  const scans: string[] = [];
  for (const [name, text] of statements) {
    for (const node of await planOf(text)) {
      const table = node["Relation Name"];
      if (table === undefined || SMALL.has(table) || node["Node Type"] === "ModifyTable") continue;
      if (node["Index Cond"] === undefined) scans.push(`${name}: ${node["Node Type"]} of ${table}`);
    }
  }
  return scans;
}

/** Ranges that are gathered whole to be put in order, though only some of what they hold may be asked for. */
function sortedRanges(node: PlanNode, isSorted = false): string[] {
  const condition = node["Index Cond"] ?? "";
  const isRange = isSorted && /[<>]/.test(condition) ? [`a sort of ${node["Relation Name"]} with ${condition}`] : [];
  const isBelowSort = node["Node Type"] !== "Limit" && (isSorted || node["Node Type"].includes("Sort"));
  return [...isRange, ...(node.Plans ?? []).flatMap((child) => sortedRanges(child, isBelowSort))];
}

const HISTORY_OF = {
  entity: { entityFingerprint: hash("x"), attributeType: null },
  pair: { entityFingerprint: hash("x"), attributeType: 1 },
  grantor: { by: "grantor", fingerprint: hash("x") },
  grantee: { by: "grantee", fingerprint: hash("x") },
  both: { by: "both", grantorFingerprint: hash("x"), granteeFingerprint: hash("y") },
} as const;

const READS: [string, (reads: Reads) => Promise<unknown>][] = [
  ["anchors", (reads) => reads.anchors([toAnchorId(hash("x"))])],
  ["anchorsBySequence", (reads) => reads.anchorsBySequence([1])],
  ["anchorsOfOrigin", (reads) => reads.anchorsOfOrigin(originAt(0), 0, 5, "ascending")],
  ["anchorsOfOrigin down", (reads) => reads.anchorsOfOrigin(originAt(0), 0, 5, "descending")],
  ["clientEvent", (reads) => reads.clientEvent(CLIENT_ID, "x")],
  ["latestCertificate", (reads) => reads.latestCertificate(originAt(0))],
  ["certificateAt", (reads) => reads.certificateAt(originAt(0), 1)],
  ["acceptedMsOf", (reads) => reads.acceptedMsOf(1)],
  ["sequenceAtOrBefore", (reads) => reads.sequenceAtOrBefore(1)],
  ["records", (reads) => reads.records({ claims: [1], grants: [2] }, [3])],
  ["newestClaim", (reads) => reads.newestClaim(hash("x"), 1)],
  ["grantsBetween", (reads) => reads.grantsBetween(hash("x"), hash("y"), 5)],
  ["claimHistory of an entity", (reads) => reads.claimHistory(HISTORY_OF.entity, -1, 5)],
  ["claimHistory of a pair", (reads) => reads.claimHistory(HISTORY_OF.pair, -1, 5)],
  ["grantHistory of a grantor", (reads) => reads.grantHistory(HISTORY_OF.grantor, -1, 5)],
  ["grantHistory of a grantee", (reads) => reads.grantHistory(HISTORY_OF.grantee, -1, 5)],
  ["grantHistory of both", (reads) => reads.grantHistory(HISTORY_OF.both, -1, 5)],
  ["grantsTo", (reads) => reads.grantsTo(1, { sequence: 2, timeMs: 1 }, 5)],
  ["revocationsOf", (reads) => reads.revocationsOf([1], 2, 5)],
  ["eventsBy event_hash", (reads) => reads.eventsBy({ by: "event_hash", eventHash: hash("x") }, -1, 5)],
  ["eventsBy iris_ref", (reads) => reads.eventsBy({ by: "iris_ref", sequence: 1 }, -1, 5)],
  ["eventsBy grant_ref", (reads) => reads.eventsBy({ by: "grant_ref", sequence: 1 }, -1, 5)],
];

describe("no statement scans a table", () => {
  test.each(READS)("reads: %s", async (_, ask) => {
    const reads = await Reads.open({ url: database.readOnlyUrl });
    const texts = await statementsOf(() => ask(reads));
    await reads.close();
    expect(texts.size).toBe(1);
    expect(await scansOf(texts)).toEqual([]);
    const plans = await Promise.all([...texts.values()].map(planOf));
    expect(plans.flatMap(([root]) => (root === undefined ? [] : sortedRanges(root)))).toEqual([]);
  });

  /** An entity can have many records of other types and with other parties: those must not be looked through. */
  test.each<[string, (reads: Reads) => Promise<unknown>, string]>([
    ["a pair's newest claim", (reads) => reads.newestClaim(hash("x"), 1), "claims_by_pair"],
    ["a pair's claims", (reads) => reads.claimHistory(HISTORY_OF.pair, -1, 5), "claims_by_pair"],
    ["an entity's claims", (reads) => reads.claimHistory(HISTORY_OF.entity, -1, 5), "claims_by_entity"],
    ["a grantor's grants", (reads) => reads.grantHistory(HISTORY_OF.grantor, -1, 5), "grants_by_grantor"],
    ["a grantee's grants", (reads) => reads.grantHistory(HISTORY_OF.grantee, -1, 5), "grants_by_grantee"],
    ["the grants of both", (reads) => reads.grantHistory(HISTORY_OF.both, -1, 5), "grants_by_parties"],
    ["grants in force", (reads) => reads.grantsBetween(hash("x"), hash("y"), 5), "grants_standing grants_by_parties"],
  ])("%s: by the index that holds no others", async (_, ask, indexes) => {
    const reads = await Reads.open({ url: database.readOnlyUrl });
    const [text = ""] = (await statementsOf(() => ask(reads))).values();
    await reads.close();
    const used = (await planOf(text)).map((node) => node["Index Name"] ?? "");
    expect(used.filter((name) => /^(?:claims|grants)_/.test(name)).join(" ")).toBe(indexes);
  });

  test("facts, of every part and of all together", async () => {
    const store = await LedgerStore.open({ url: database.url });
    await store.load();
    const id = toAnchorId(hash("x"));
    const asked = {
      clientEvents: [{ apiClientId: CLIENT_ID, clientEventId: "x" }],
      anchors: [id],
      contents: [hash("x")],
      claimPairs: [hash("x")],
      records: [id],
      grantParties: [{ grantorClaim: id, granteeClaim: id }],
    };
    const texts = await statementsOf(async () => {
      await store.loadFacts(asked);
      for (const [part, value] of Object.entries(asked)) await store.loadFacts({ ...NOTHING_ASKED, [part]: value });
    });
    await store.close();
    // Everything, anchors, client events, contents, claim pairs; the two of grants, one with the anchors it names.
    expect(texts.size).toBe(7);
    expect(await scansOf(texts)).toEqual([]);
  });
});

describe("nor does one that writes", () => {
  test("an entry, of every part", async () => {
    const own = await migratedDatabase(server);
    const texts = await statementsOf(async () => {
      const ledger = await StoredLedgerHarness.started(own.url);
      const [ada, bob] = await holders(ledger, ["ada", "bob"]);
      if (ada === undefined || bob === undefined) throw new Error("two holders were due");
      await accepted(ledger, grantCommand(ada, bob));
      const second = await accepted(ledger, grantCommand(ada, bob, { issuedAt: 1 }));
      await ledger.run([claimCommand("ada", { issuedAt: 1 }), revocationCommand("grant", second)]);
      const { writes } = await ledger.record([event("one", { clientEventId: "id" }), event("two")]);
      await ledger.run([eraseCommand(leafAt(writes.leaves, 0))]);
      await ledger.certify(originAt(0));
      await ledger.store.close();
    });
    const written = new Map([...texts].filter(([name]) => name.startsWith("apply")));
    for (const part of [
      "claims",
      "grants",
      "ended_claims",
      "ended_grants",
      "revocations",
      "erasures",
      "certificates",
    ]) {
      expect([...written.values()].some((text) => text.includes(`${part} AS (`))).toBe(true);
    }
    expect(await scansOf(written)).toEqual([]);
  });

  test("a snapshot, sent and installed", async () => {
    const directory = mkdtempSync(join(tmpdir(), "anchoring-spool-"));
    const [from, to] = [await migratedDatabase(server), await migratedDatabase(server)];
    const { harness } = await live(from, 31, 40);
    await harness.store.close();
    const texts = await statementsOf(async () => {
      const snapshot = await exportSnapshot({ url: from.url, directory, point: null });
      const chunks = await chunksOf(snapshot);
      await installSnapshot({
        signers: "unsigned",
        url: to.url,
        manifest: snapshot.manifest,
        chunks,
        checks: ACCEPT_ALL,
      });
      await snapshot.close();
    });
    rmSync(directory, { recursive: true });
    expect([...texts.keys()].some((name) => name.startsWith("facts"))).toBe(true);
    expect(texts.has("export_leaves")).toBe(true);
    // The leaves that wait in a table of the transaction, which is gone by now, are read once and whole.
    expect(texts.delete("waiting_state_leaves")).toBe(true);
    expect(texts.delete("sorted_state_leaves")).toBe(true);
    expect(await scansOf(texts)).toEqual([]);
  });
});

test("a statement that scans would be noticed", async () => {
  expect(await scansOf(new Map([["by time", "SELECT * FROM state.anchors WHERE accepted_ms = $1"]]))).toHaveLength(1);
  expect(
    await scansOf(new Map([["newest", "SELECT * FROM state.anchors WHERE kind = $1 ORDER BY sequence DESC LIMIT 1"]])),
  ).toHaveLength(1);
});
