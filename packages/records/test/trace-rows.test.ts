import { describe, expect, test } from "@jest/globals";
import { EMPTY_SEMANTIC_ANCHOR, LEAF_KIND, bytesToHex } from "@event-anchoring/protocol";
import { parentViolations, traceEvent } from "../src/index.ts";
import type { LoadedLeaf } from "../src/index.ts";
import type { LeafWrite } from "@event-anchoring/ledger";
import { hash } from "../../../test/worlds/cluster.ts";
import { History, hexIds } from "./history.ts";
import { event } from "../../../test/worlds/ledger-harness.ts";
import { flipped } from "../../../test/worlds/precedence.ts";
import { acting } from "../../../test/worlds/signed-records.ts";
import { crypto, reasonsOf, traced, violationsOf, worldOf } from "./traced-world.ts";
import type { World } from "./traced-world.ts";

describe("rows are not believed", () => {
  test.each<[string, (world: World) => void, string[]]>([
    ["more hops", ({ history, upper }) => history.alter(upper, { delegationDepth: 9 }), ["record_differs"]],
    ["a longer life", ({ history, agent }) => history.alter(agent.claim, { expiresAt: 1 }), ["record_differs"]],
    [
      "another key",
      ({ history, root }) => history.alter(root.claim, { subjectPublicKey: hash("x") }),
      ["record_differs"],
    ],
    ["no revocation", ({ history, lower }) => history.revoke(lower, { isRecorded: false }), ["record_differs"]],
    ["a revocation that is none", ({ history, lower }) => history.alter(lower, { revokedAt: 8 }), ["record_differs"]],
    [
      "another lineage",
      ({ history, upper }) => history.alter(upper, { granteeLineage: 3 }),
      ["record_differs", "delegation_broken"],
    ],
  ])("a record with %s is named, and no verdict rests on it", (_, spoil, codes) => {
    const world = worldOf();
    spoil(world);
    const trace = traced(world.history, world.act);
    expect([trace.authorisedAtAction, trace.authorisedNow]).toEqual(["unknown", "unknown"]);
    expect(new Set(violationsOf(trace))).toEqual(new Set(codes));
    expect(reasonsOf(trace)).toContain("at_action records_not_loaded");
  });

  test.each<[string, (world: World) => LeafWrite]>([
    ["the iris claim", ({ agent }) => agent.claim],
    ["the grant", ({ lower }) => lower],
    ["a parent", ({ upper }) => upper],
    ["the root's claim", ({ root }) => root.claim],
  ])("without the record of %s nothing is known", (_, target) => {
    const world = worldOf();
    const trace = traced(world.history.lose(target(world)), world.act);
    expect([trace.authorisedAtAction, trace.authorisedNow]).toEqual(["unknown", "unknown"]);
    expect(trace.reasons).toMatchObject([
      { verdict: "at_action", code: "records_not_loaded" },
      { verdict: "now", code: "records_not_loaded" },
    ]);
  });

  test("a claim of the delegation that does not know its revocation is named", () => {
    const { history, act, root } = worldOf();
    const revocation = history.revoke(root.claim, { isRecorded: false });
    const trace = traced(history, act);
    expect(trace.violations).toMatchObject([{ code: "record_differs", anchorId: root.claim.anchorId }]);
    expect(trace.revocations).toMatchObject([{ anchorId: revocation.anchorId }]);
    expect(trace.authorisedAtAction).toBe("unknown");
  });

  test("a row among the revocations that revokes something else, or nothing, or later, is left out", () => {
    const { history, act, lower } = worldOf();
    const other = history.revoke(history.claim("other").claim, { suspectSince: 1 });
    const asOf = history.now;
    const late = history.revoke(lower, { suspectSince: 1 });
    const trace = traced(history, act, { asOf, revocations: [other, act, late] });
    expect(trace).toMatchObject({ revocations: [], isSuspect: false, violations: [], authorisedNow: true });
  });

  test("a leaf of the delegation that was altered is a violation, and is not shown", () => {
    const { history, act, upper, lower } = worldOf();
    const input = history.traceInput(act);
    const leaves = input.leaves.map((row): LoadedLeaf =>
      row.anchorId === upper.anchorId ? { ...row, bytes: flipped(row.bytes) } : row,
    );
    const trace = traceEvent({ ...input, leaves }, crypto);
    expect(violationsOf(trace)).toEqual(["record_differs"]);
    expect(hexIds(trace.delegation.hops.map(({ grant }) => grant.anchorId))).toEqual(hexIds([lower.anchorId]));
    expect(trace.delegation.omitted).toBe(1);
    expect(trace.authorisedAtAction).toBe("unknown");
  });

  test("a grant that its grantor has not signed authorises nothing that is known", () => {
    const history = new History();
    const [root, agent] = [history.claim("root"), history.claim("agent")];
    const grant = history.grant(root, agent, {}, { witnessSignature: new Uint8Array(64).fill(1) });
    const act = history.event(event("act", { semanticAnchor: acting(agent.claim, grant) }));
    const trace = traced(history, act);
    expect(violationsOf(trace)).toEqual(["signature_invalid"]);
    expect(trace.authorisedAtAction).toBe("unknown");
  });

  test("a reference of the wrong kind authorises nothing", () => {
    const { history, agent } = worldOf();
    const act = history.event(event("act", { semanticAnchor: acting(agent.claim, agent.claim) }));
    const trace = traced(history, act);
    expect(trace.authorisedAtAction).toBe(false);
    expect(reasonsOf(trace)).toEqual(["at_action reference_wrong_kind", "now reference_wrong_kind"]);
    expect(violationsOf(trace)).toEqual(["reference_wrong_kind"]);
  });

  test("a reference to a younger anchor, or to none, is a violation and leads nowhere", () => {
    const { history, agent, lower } = worldOf();
    const act = history.event(event("act", { semanticAnchor: acting(agent.claim, lower) }));
    const input = history.traceInput(act);
    const fact = input.references.get(bytesToHex(lower.anchorId));
    if (fact === undefined) throw new Error("no reference");
    const younger = new Map([...input.references, [bytesToHex(lower.anchorId), { ...fact, sequence: act.sequence }]]);
    for (const references of [younger, new Map()]) {
      const trace = traceEvent({ ...input, references }, crypto);
      expect(violationsOf(trace)).toContain("reference_missing");
      expect(trace.authorisedAtAction).toBe("unknown");
      expect(reasonsOf(trace)).toContain("at_action records_not_loaded");
      expect(trace.delegation.hops).toEqual([]);
    }
  });

  test("rows that make a cycle are followed to nowhere", () => {
    const { history, act, upper, lower } = worldOf();
    history.alter(upper, { parent: lower.sequence });
    const trace = traced(history, act);
    expect(trace.authorisedAtAction).toBe("unknown");
    expect(violationsOf(trace)).toContain("delegation_broken");
    expect(trace.boundary).toBeNull();
    expect(trace.delegation.hops).toHaveLength(2);
  });
});

describe("parents", () => {
  function rows(count: number): { history: History; anchor: LeafWrite; parents: LeafWrite[] } {
    const history = new History();
    const writes = Array.from({ length: count + 1 }, () => history.event());
    const [anchor, ...parents] = writes.reverse();
    if (anchor === undefined) throw new Error("no leaf");
    return { history, anchor, parents };
  }

  test("a page that follows from leaf to leaf has no violations", () => {
    const { history, anchor, parents } = rows(3);
    expect(violationsOf(traced(history, anchor, { parents, beforeParents: null }))).toEqual([]);
    expect(parentViolations(parents, null, crypto)).toEqual([]);
  });

  test.each<[string, (parents: LoadedLeaf[]) => LoadedLeaf[]]>([
    ["a gap", (parents) => parents.slice(1)],
    ["another order", (parents) => [...parents].reverse()],
    [
      "an altered row",
      ([first, ...rest]) => (first === undefined ? [] : [{ ...first, bytes: flipped(first.bytes) }, ...rest]),
    ],
  ])("%s among the parents is a violation", (_, change) => {
    const { history, anchor, parents } = rows(3);
    expect(violationsOf(traced(history, anchor, { parents: change(parents), beforeParents: null }))).toContain(
      "parent_link_broken",
    );
  });

  test("the last of a page is held against the leaf beyond it, if that is given", () => {
    const { history, anchor, parents } = rows(3);
    const page = parents.slice(0, 1);
    const broken = (beforeParents: LeafWrite | null): string[] =>
      violationsOf(traced(history, anchor, { parents: page, beforeParents }));
    expect(broken(parents[1] ?? null)).toEqual([]);
    expect(broken(null)).toEqual([]);
    expect(broken(parents[2] ?? null)).toEqual(["parent_link_broken"]);
  });

  test("an anchor without its parent is a violation, unless it is the first", () => {
    const { history, anchor } = rows(1);
    expect(violationsOf(traced(history, anchor, { beforeParents: null }))).toEqual(["parent_link_broken"]);
    const [genesis] = history.leaves;
    if (genesis === undefined) throw new Error("no genesis");
    expect(violationsOf(traced(history, genesis, { beforeParents: null }))).toEqual([]);
  });

  test("references are listed in field order, with what they name", () => {
    const { history, anchor } = rows(1);
    const semanticAnchor = { ...EMPTY_SEMANTIC_ANCHOR, bondRef: anchor.anchorId, yieldRef: anchor.anchorId };
    const act = history.event(event("x", { semanticAnchor }));
    const names = { anchorId: anchor.anchorId, exists: true, kind: LEAF_KIND.event };
    expect(traced(history, act).references).toEqual([
      { field: "bond_ref", ...names },
      { field: "yield_ref", ...names },
    ]);
  });
});
