/** Chains of a thousand grants: what is loaded of them is whole, in one statement, however deep. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { advance, decideEntry, factsNeeded } from "@event-anchoring/ledger";
import { grantForceAt, grantStateOf } from "@event-anchoring/records";
import type { Command, EntryDecision, LeafWrite } from "@event-anchoring/ledger";
import type { AsOf } from "@event-anchoring/records";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { Reads } from "../../src/index.ts";
import { migratedDatabase, refusalOf, sql, startTestPostgres, superuserUrl } from "../support/database.ts";
import type { TestDatabase, TestPostgres } from "../support/database.ts";
import { FullKnowledge } from "../support/random-history.ts";
import { claimCommand, grantCommand, leafAt, outcomeOf, revocationCommand } from "../support/records.ts";
import type { Holder } from "../support/records.ts";
import { NOTHING_ASKED, StoredLedgerHarness } from "../support/stored-ledger.ts";

const LINKS = 1_000;

let server: TestPostgres;
let database: TestDatabase;
let ledger: StoredLedgerHarness;
let reads: Reads;
const people: Holder[] = [];
const grants: LeafWrite[] = [];
const known = new FullKnowledge();

/** Decides from memory: to load a chain for each link that is added to it would take a minute. */
async function run(commands: readonly Command[]): Promise<EntryDecision> {
  const entry = ledger.entry(commands);
  const committed = { index: ledger.state.appliedIndex + 1, term: 3, entry };
  const decision = decideEntry(ledger.state, committed, known.facts, nodeCrypto);
  await ledger.store.apply({ decision, confState: null });
  advance(ledger.state, decision);
  known.learn(decision);
  return decision;
}

function personAt(at: number): Holder {
  const person = people.at(at);
  if (person === undefined) throw new RangeError(`nobody is ${at}`);
  return person;
}

/** One link below the chain as it is. */
function nextLink(at: number): Command {
  const parent = grants.at(-1);
  const options = { delegationDepth: 2 * LINKS - at, ...(parent === undefined ? {} : { parent }) };
  return grantCommand(personAt(at), personAt(at + 1), options);
}

beforeAll(async () => {
  server = await startTestPostgres();
  database = await migratedDatabase(server);
  ledger = await StoredLedgerHarness.started(database.url, (decision) => known.learn(decision));
  for (let at = 0; at < LINKS + 2; at += 501) {
    const names = Array.from({ length: 501 }, (_, more) => `p${at + more}`);
    const { writes } = await run(names.map((name) => claimCommand(name)));
    people.push(...names.map((name, position) => ({ name, claim: leafAt(writes.leaves, position) })));
  }
  for (let at = 0; at < LINKS; at++) grants.push(leafAt((await run([nextLink(at)])).writes.leaves, 0));
  reads = await Reads.open({ url: database.readOnlyUrl });
}, 120_000);

afterAll(async () => {
  await reads.close();
  await ledger.store.close();
  await server.close();
});

function positionOf({ sequence, acceptedMs }: LeafWrite): AsOf {
  return { sequence, timeMs: acceptedMs };
}

describe("a chain of a thousand grants", () => {
  test("is loaded to its root with the facts of the next link, which is accepted", async () => {
    const entry = ledger.entry([nextLink(LINKS)]);
    const facts = await ledger.store.loadFacts(factsNeeded(entry, ledger.state));
    const lowest = facts.records.grant(leafAt(grants, -1).sequence);
    if (lowest === null) throw new Error("the lowest grant was due");
    const force = grantForceAt(lowest, positionOf(leafAt(grants, -1)), facts.records);
    expect(force).toMatchObject({ isComplete: true, faults: [] });
    expect(force.chain.map(({ sequence }) => sequence)).toEqual(grants.map(({ sequence }) => sequence).reverse());
    const committed = { index: ledger.state.appliedIndex + 1, term: 3, entry };
    const decision = decideEntry(ledger.state, committed, facts, nodeCrypto);
    expect(outcomeOf(decision)).toMatchObject({ records: [{ status: "accepted" }] });
    expect(decision.writes.grants).toMatchObject([{ links: LINKS + 1 }]);
  });

  test("of which several links are asked for is loaded once", async () => {
    const ids = [10, 500, 999, 998].map((at) => leafAt(grants, at).anchorId);
    const { records } = await ledger.store.loadFacts({ ...NOTHING_ASKED, records: ids });
    for (const grant of grants) expect(records.grant(grant.sequence)).toEqual(known.book.grant(grant.sequence));
    expect(grants.length).toBe(LINKS);
  });

  test("ends everywhere below a revocation at the top, and stands as before in the past", async () => {
    const before = leafAt(grants, -1);
    const revocation = leafAt((await run([revocationCommand("grant", leafAt(grants, 3))])).writes.leaves, 0);
    const positions = [before.sequence, revocation.sequence];
    const { records } = await reads.records({ claims: [], grants: [before.sequence] }, positions);
    const lowest = records.grant(before.sequence);
    if (lowest === null) throw new Error("the lowest grant was due");
    expect(grantStateOf(grantForceAt(lowest, positionOf(before), records))).toBe("active");
    const after = grantForceAt(lowest, positionOf(revocation), records);
    expect(grantStateOf(after)).toBe("revoked");
    expect(after).toMatchObject({
      isComplete: true,
      faults: [{ code: "grant_revoked", sequence: revocation.sequence }],
    });
    const refused = await ledger.decide(ledger.entry([nextLink(LINKS)]));
    expect(outcomeOf(refused)).toMatchObject({ records: [{ rejection: { code: "grant_not_in_force" } }] });
  });

  test.each([
    ["a grant of it is missing", () => `DELETE FROM state.grants WHERE sequence = ${leafAt(grants, 400).sequence}`],
    ["a claim of it is missing", () => `DELETE FROM state.claims WHERE sequence = ${personAt(400).claim.sequence}`],
    ["the leaf of one is missing", () => `DELETE FROM state.anchors WHERE sequence = ${leafAt(grants, 7).sequence}`],
    [
      "an id is cut short",
      () => `UPDATE state.anchors SET anchor_id = '\\x00' WHERE sequence = ${leafAt(grants, 7).sequence}`,
    ],
  ])("is damaged, not shorter, when %s", async (_, damage) => {
    const url = superuserUrl(server, database);
    const kept = ["grants", "claims", "anchors"];
    for (const table of kept) await sql(url, `CREATE TABLE kept_${table} AS TABLE state.${table}`);
    await sql(url, damage());
    const { anchorId, sequence } = leafAt(grants, -1);
    expect(await refusalOf(ledger.store.loadFacts({ ...NOTHING_ASKED, records: [anchorId] }))).toBe("corrupt");
    expect(await refusalOf(reads.records({ claims: [], grants: [sequence] }, [sequence]))).toBe("corrupt");
    for (const table of kept) {
      await sql(
        url,
        `TRUNCATE state.${table}; INSERT INTO state.${table} TABLE kept_${table}; DROP TABLE kept_${table}`,
      );
    }
  });
});
