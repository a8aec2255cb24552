/** What a command costs in the state tree, by counts: events cost nothing. */
import { describe, expect, test } from "@jest/globals";
import { stateRootOfLeaves } from "@event-anchoring/protocol";
import type { StateLeaf } from "@event-anchoring/protocol";
import { stateEntriesOf, stateLeafOf, updateStateTree, StatePage } from "../src/index.ts";
import type { Command, EntryDecision } from "../src/index.ts";
import { sha256 } from "../../../test/worlds/cluster.ts";
import { LedgerHarness, event, record } from "../../../test/worlds/ledger-harness.ts";
import { RandomLife } from "../../../test/worlds/random-life.ts";
import { claim, grant, parties, revocation } from "../../../test/worlds/signed-records.ts";

/** A tree beside a ledger, and what each decision changed in it. */
class CountedTree {
  readonly pages = new Map<string, StatePage>([["", StatePage.empty]]);
  readonly leaves = new Map<string, StateLeaf>();

  /** Values and pages that are written. */
  take({ writes }: EntryDecision): { values: number; pages: number } {
    const leaves = stateEntriesOf(writes).map((entry) => stateLeafOf(entry, sha256));
    for (const leaf of leaves) this.leaves.set(Buffer.from(leaf.key).toString("hex"), leaf);
    const { pages } = updateStateTree(this.pages, leaves, sha256);
    for (const [prefix, page] of pages) this.pages.set(prefix, page);
    return { values: leaves.length, pages: pages.size };
  }
}

function decided(ledger: LedgerHarness, command: Command): EntryDecision {
  return ledger.apply(ledger.entry([ledger.group(command)]));
}

describe("what is written to the state tree", () => {
  test("nothing for events, however many", () => {
    const ledger = LedgerHarness.started();
    const tree = new CountedTree();
    const events = Array.from({ length: 500 }, (_, at) => event(`event ${at}`));
    const decision = decided(ledger, record(events));
    expect(decision.writes.leaves).toHaveLength(500);
    expect(tree.take(decision)).toEqual({ values: 0, pages: 0 });
  });

  test("one or two values for a record, and one for each record that it ends", () => {
    const ledger = LedgerHarness.started();
    const tree = new CountedTree();
    const valuesOf = (command: Command): number => tree.take(decided(ledger, command)).values;
    const [ada, bob] = parties(ledger, ["ada", "bob"]);
    if (ada === undefined || bob === undefined) throw new Error("two claims were due");
    expect(valuesOf(claim("carol"))).toBe(2);
    // The claim, its lineage, and the claim before it.
    expect(valuesOf(claim("carol", { issuedAt: 1 }))).toBe(3);
    expect(valuesOf(grant(ada, bob))).toBe(1);
    expect(valuesOf(grant(ada, bob, { issuedAt: 1 }))).toBe(2);
    expect(valuesOf(revocation("claim", bob.claim, { by: "bob" }))).toBe(1);
  });

  test("in a life, what has changed and nothing else", () => {
    const ledger = new LedgerHarness();
    const life = new RandomLife(7, ledger);
    const tree = new CountedTree();
    for (let step = 0; step < 120; step++) {
      const decision = ledger.apply(life.entry(step));
      const { claims, grants, endedClaims, endedGrants, apiKeys, operatorActs, erasures } = decision.writes;
      const records = 2 * claims.length + grants.length + endedClaims.length + endedGrants.length;
      const { values } = tree.take(decision);
      expect(values).toBe(records + apiKeys.length + operatorActs.length + erasures.length);
    }
    expect(tree.leaves.size).toBeGreaterThan(40);
    const root = stateRootOfLeaves(tree.leaves.values(), sha256);
    expect(updateStateTree(tree.pages, [], sha256).rootHash).toEqual(root);
  });
});
