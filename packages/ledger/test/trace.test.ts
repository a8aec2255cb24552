import { describe, expect, test } from "@jest/globals";
import { EMPTY_SEMANTIC_ANCHOR, LEAF_KIND, bytesToHex } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { parentViolations, rememberVerdicts, traceEvent } from "../src/index.ts";
import type { AsOf, LeafWrite, LoadedLeaf, Trace, TraceInput } from "../src/index.ts";
import { hash } from "./cluster.ts";
import { History, hexIds } from "./history.ts";
import { event } from "./ledger-harness.ts";
import { flipped } from "./precedence.ts";
import { acting, signedEvent } from "./records.ts";
import type { Party } from "./records.ts";

const crypto = rememberVerdicts(nodeCrypto);

/** root → deployer → agent, who acts. */
interface World {
  readonly history: History;
  readonly root: Party;
  readonly deployer: Party;
  readonly agent: Party;
  readonly upper: LeafWrite;
  readonly lower: LeafWrite;
  readonly act: LeafWrite;
}

function worldOf(between: (world: Omit<World, "act">) => void = () => {}): World {
  const history = new History();
  const [root, deployer, agent] = [history.claim("root"), history.claim("deployer"), history.claim("agent")];
  const upper = history.grant(root, deployer, { delegationDepth: 5 });
  const lower = history.grant(deployer, agent, { delegationDepth: 2, parent: upper });
  const before = { history, root, deployer, agent, upper, lower };
  between(before);
  const act = history.event(event("act", { semanticAnchor: acting(agent.claim, lower) }));
  return { ...before, act };
}

function traced(history: History, anchor: LeafWrite, more: Partial<TraceInput> = {}): Trace {
  return traceEvent(history.traceInput(anchor, more), crypto);
}

function reasonsOf(trace: Trace): string[] {
  return trace.reasons.map(({ verdict, code }) => `${verdict} ${code}`);
}

function violationsOf(trace: Trace): string[] {
  return trace.violations.map(({ code }) => code);
}

describe("an act that was authorised", () => {
  test("shows who acted, who delegated, and within what bounds", () => {
    const { history, agent, deployer, root, upper, lower, act } = worldOf();
    const trace = traced(history, act);
    expect(trace).toMatchObject({
      authorisedAtAction: true,
      authorisedNow: true,
      reasons: [],
      actor: { state: "active", actorSignature: "not_checked" },
      boundary: { depth: { granted: 5, used: 1, left: 2 }, window: { notBefore: 0, expiresAt: 0 } },
      rootAuthority: "not_checked",
      possibleParents: [],
      revocations: [],
      isSuspect: false,
      violations: [],
    });
    expect(trace.boundary?.scopeHash).toEqual(hash("scope"));
    expect(trace.actor.claim?.anchorId).toEqual(agent.claim.anchorId);
    const { hops, omitted } = trace.delegation;
    expect(omitted).toBe(0);
    expect(
      hops.map((hop) => hexIds([hop.grant.anchorId, hop.grantorClaim.anchorId, hop.granteeClaim.anchorId])),
    ).toEqual([
      hexIds([lower.anchorId, deployer.claim.anchorId, agent.claim.anchorId]),
      hexIds([upper.anchorId, root.claim.anchorId, deployer.claim.anchorId]),
    ]);
    expect(hops.map(({ grant, witnessIsGrantee }) => [grant.state, witnessIsGrantee])).toEqual([
      ["active", false],
      ["active", false],
    ]);
    expect(trace.references.map(({ field, kind }) => [field, kind])).toEqual([
      ["iris_ref", LEAF_KIND.claim],
      ["grant_ref", LEAF_KIND.grant],
    ]);
  });

  test("a grantee who is the witness is shown as such", () => {
    const history = new History();
    const [root, agent] = [history.claim("root"), history.claim("agent")];
    const grant = history.grant(root, agent, { witness: "agent" });
    const act = history.event(event("act", { semanticAnchor: acting(agent.claim, grant) }));
    expect(traced(history, act).delegation.hops[0]?.witnessIsGrantee).toBe(true);
  });

  test.each([
    ["agent", "pass", []],
    ["mallory", "fail", ["actor_key_mismatch"]],
  ])("signed by %s: %s", (name, actorSignature, violations) => {
    const { history, agent, lower } = worldOf();
    const act = history.event(signedEvent("signed", name, { semanticAnchor: acting(agent.claim, lower) }));
    const trace = traced(history, act);
    expect(trace.actor.actorSignature).toBe(actorSignature);
    expect(violationsOf(trace)).toEqual(violations);
    expect(trace.authorisedAtAction).toBe(true);
  });

  test("a signature that is wrong is a violation", () => {
    const { history, agent } = worldOf();
    const input = signedEvent("signed", "agent", { semanticAnchor: acting(agent.claim, null) });
    if (input.actor === null) throw new Error("not signed");
    const act = history.event({ ...input, actor: { ...input.actor, signature: new Uint8Array(64).fill(1) } });
    const trace = traced(history, act);
    expect(trace.actor.actorSignature).toBe("fail");
    expect(violationsOf(trace)).toEqual(["actor_signature_invalid"]);
  });
});

describe("verdicts and their reasons", () => {
  test.each<[string, (world: World) => LeafWrite, string[]]>([
    ["the claim of who acted", ({ agent }) => agent.claim, ["claim_revoked", "grantee_claim_revoked"]],
    ["the grant", ({ lower }) => lower, ["grant_revoked"]],
    ["its parent", ({ upper }) => upper, ["grant_revoked"]],
    ["the claim between the two", ({ deployer }) => deployer.claim, ["grantor_claim_revoked", "grantee_claim_revoked"]],
    ["the root's claim", ({ root }) => root.claim, ["grantor_claim_revoked"]],
  ])("a revocation of %s after the act leaves it authorised when it happened", (_, target, codes) => {
    const world = worldOf();
    const { history, act } = world;
    const revocation = history.revoke(target(world));
    const trace = traced(history, act);
    expect([trace.authorisedAtAction, trace.authorisedNow]).toEqual([true, false]);
    expect(reasonsOf(trace)).toEqual(codes.map((code) => `now ${code}`));
    for (const reason of trace.reasons) {
      expect(reason.sequence).toBe(revocation.sequence);
      expect(reason.anchorId).toEqual(target(world).anchorId);
    }
    expect(trace.revocations).toMatchObject([
      { anchorId: revocation.anchorId, targetAnchorId: target(world).anchorId, isBeforeAction: false },
    ]);
    expect(violationsOf(trace)).toEqual([]);
    const before = traced(history, act, { asOf: { sequence: revocation.sequence - 1, timeMs: history.clockMs } });
    expect([before.authorisedAtAction, before.authorisedNow]).toEqual([true, true]);
    expect(before.revocations).toEqual([]);
  });

  test("a revocation one sequence before the act leaves nothing authorised", () => {
    const { history, act, lower } = worldOf((world) => world.history.revoke(world.lower));
    expect(act.sequence).toBe(lower.sequence + 2);
    const trace = traced(history, act);
    expect([trace.authorisedAtAction, trace.authorisedNow]).toEqual([false, false]);
    expect(reasonsOf(trace)).toEqual(["at_action grant_revoked", "now grant_revoked"]);
    expect(trace.revocations).toMatchObject([{ isBeforeAction: true }]);
    expect(trace.delegation.hops.map(({ grant }) => grant.state)).toEqual(["revoked", "active"]);
  });

  test("a renewed claim acts no longer, and the grant to its lineage stands", () => {
    const { history, act, agent, lower } = worldOf();
    const renewed = history.claim("agent", { attributeHash: hash("new") });
    const trace = traced(history, act);
    expect([trace.authorisedAtAction, trace.authorisedNow]).toEqual([true, false]);
    expect(trace.reasons).toEqual([
      { verdict: "now", code: "claim_superseded", anchorId: agent.claim.anchorId, sequence: renewed.claim.sequence },
    ]);
    expect(trace.actor.state).toBe("superseded");
    const next = history.event(event("next", { semanticAnchor: acting(renewed.claim, lower) }));
    expect(traced(history, next)).toMatchObject({ authorisedAtAction: true, authorisedNow: true });
  });

  test("a newer grant between the same lineages ends the older, and what hangs on it", () => {
    const { history, act, root, deployer } = worldOf();
    const newer = history.grant(root, deployer, { delegationDepth: 1 });
    const trace = traced(history, act);
    expect([trace.authorisedAtAction, trace.authorisedNow]).toEqual([true, false]);
    expect(trace.reasons).toMatchObject([{ verdict: "now", code: "grant_superseded", sequence: newer.sequence }]);
    expect(trace.delegation.hops.map(({ grant }) => grant.state)).toEqual(["superseded", "superseded"]);
  });

  test("somebody else's grant authorises nothing", () => {
    const { history, deployer, lower } = worldOf();
    const act = history.event(event("other", { semanticAnchor: acting(deployer.claim, lower) }));
    const trace = traced(history, act);
    expect([trace.authorisedAtAction, trace.authorisedNow]).toEqual([false, false]);
    expect(trace.reasons).toMatchObject([
      { verdict: "at_action", code: "actor_not_grantee", anchorId: deployer.claim.anchorId },
      { verdict: "now", code: "actor_not_grantee", sequence: deployer.claim.sequence },
    ]);
  });

  test("a new lineage of the same entity is not the one that was granted to", () => {
    const { history, agent, lower } = worldOf();
    history.revoke(agent.claim);
    const reborn = history.claim("agent", { attributeHash: hash("new") });
    const act = history.event(event("again", { semanticAnchor: acting(reborn.claim, lower) }));
    expect(reasonsOf(traced(history, act))).toEqual([
      "at_action actor_not_grantee",
      "at_action grantee_claim_revoked",
      "now actor_not_grantee",
      "now grantee_claim_revoked",
    ]);
  });

  test("windows are judged at the time of the act, and at as_of", () => {
    const history = new History();
    const [root, agent] = [history.claim("root"), history.claim("agent")];
    const [notBefore, expiresAt] = [history.clockMs + 100, history.clockMs + 200];
    const grant = history.grant(root, agent, { notBefore, expiresAt });
    const act = (at: number): LeafWrite => {
      history.clockMs = at - 10;
      return history.event(event(`at ${at}`, { semanticAnchor: acting(agent.claim, grant) }));
    };
    const acts = [notBefore - 1, notBefore, expiresAt - 1, expiresAt].map(act);
    const verdicts = acts.map((each) => traced(history, each));
    expect(verdicts.map((trace) => trace.authorisedAtAction)).toEqual([false, true, true, false]);
    expect(verdicts.map((trace) => trace.authorisedNow)).toEqual([false, false, false, false]);
    expect(verdicts.map((trace) => trace.reasons[0])).toMatchObject([
      { verdict: "at_action", code: "grant_not_yet_valid", sequence: null },
      { verdict: "now", code: "grant_expired", sequence: null },
      { verdict: "now", code: "grant_expired" },
      { verdict: "at_action", code: "grant_expired" },
    ]);
    expect(verdicts[0]?.boundary?.window).toEqual({ notBefore, expiresAt });
  });

  test.each<[string, (world: World) => LeafWrite, string[]]>([
    ["no iris_ref", ({ history, lower }) => acted(history, null, lower), ["iris_ref_empty"]],
    ["no grant_ref", ({ history, agent }) => acted(history, agent.claim, null), ["grant_ref_empty"]],
    ["neither", ({ history }) => acted(history, null, null), ["iris_ref_empty", "grant_ref_empty"]],
    ["a claim", ({ agent }) => agent.claim, ["not_an_event"]],
    ["a grant", ({ lower }) => lower, ["not_an_event"]],
    ["a revocation", ({ history, lower }) => history.revoke(lower), ["not_an_event"]],
  ])("unknown with %s", (_, build, codes) => {
    const world = worldOf();
    const trace = traced(world.history, build(world));
    expect([trace.authorisedAtAction, trace.authorisedNow]).toEqual(["unknown", "unknown"]);
    expect(reasonsOf(trace)).toEqual([
      ...codes.map((code) => `at_action ${code}`),
      ...codes.map((code) => `now ${code}`),
    ]);
    expect(violationsOf(trace)).toEqual([]);
  });

  test("a grant that is traced itself shows its own delegation", () => {
    const { history, lower, upper } = worldOf();
    const trace = traced(history, lower);
    expect(hexIds(trace.delegation.hops.map(({ grant }) => grant.anchorId))).toEqual(
      hexIds([lower.anchorId, upper.anchorId]),
    );
    expect(trace.boundary?.depth).toEqual({ granted: 5, used: 1, left: 2 });
  });

  function acted(history: History, claim: LeafWrite | null, grant: LeafWrite | null): LeafWrite {
    return history.event(event("act", { semanticAnchor: acting(claim, grant) }));
  }
});

describe("suspicion", () => {
  test.each([
    [0, false],
    [-1, true],
    [1, false],
  ])("a revocation that suspects from the act's time on, %d ms off: %p", (offset, isSuspect) => {
    const { history, act, lower } = worldOf();
    const suspectSince = offset === 0 ? 0 : act.acceptedMs + offset;
    history.revoke(lower, { suspectSince });
    const trace = traced(history, act);
    expect(trace.isSuspect).toBe(isSuspect);
    expect(trace.authorisedAtAction).toBe(true);
  });

  test("the very moment of the act is suspect", () => {
    const { history, act, root } = worldOf();
    history.revoke(root.claim, { suspectSince: act.acceptedMs });
    expect(traced(history, act).isSuspect).toBe(true);
  });

  test("a second revocation decides nothing and can still cast suspicion", () => {
    const { history, act, lower } = worldOf();
    const first = history.revoke(lower);
    history.revoke(lower, { suspectSince: 1 });
    const trace = traced(history, act);
    expect(trace.isSuspect).toBe(true);
    expect(trace.revocations).toHaveLength(2);
    expect(trace.reasons).toMatchObject([{ code: "grant_revoked", sequence: first.sequence }]);
  });
});

describe("roots", () => {
  test("trusted roots are compared by lineage", () => {
    const { history, act, root, agent } = worldOf();
    const renewed = history.claim("root", { attributeHash: hash("new") });
    const authority = (claims: readonly LeafWrite[]) =>
      traced(history, act, { trustedRoots: claims.map((claim) => history.claimRecord(claim)) }).rootAuthority;
    expect(authority([root.claim])).toBe("pass");
    expect(authority([renewed.claim])).toBe("pass");
    expect(authority([agent.claim])).toBe("fail");
    expect(authority([])).toBe("fail");
  });

  test("grants in force to the root grantor may be its parents", () => {
    const { history, act, root, deployer } = worldOf();
    const [board, council, other] = [history.claim("board"), history.claim("council"), history.claim("other")];
    const [first, second] = [history.grant(board, root), history.grant(council, root)];
    const revoked = history.grant(other, root);
    history.revoke(revoked);
    history.grant(board, deployer);
    const late = { sequence: second.sequence - 1, timeMs: history.clockMs };
    const possible = (asOf: AsOf): string[] => {
      const { records } = history;
      const grants = [revoked, second, first].flatMap(({ sequence }) => records.grant(sequence) ?? []);
      return hexIds(traced(history, act, { asOf, possibleParents: { grants, records } }).possibleParents);
    };
    expect(possible(history.now)).toEqual(hexIds([first.anchorId, second.anchorId]));
    expect(possible(late)).toEqual(hexIds([first.anchorId]));
  });

  test("a chain's own grants, and grants to others, are not its possible parents", () => {
    const { history, act, lower, upper } = worldOf();
    const { records } = history;
    const grants = [lower, upper].flatMap(({ sequence }) => records.grant(sequence) ?? []);
    expect(traced(history, act, { possibleParents: { grants, records } }).possibleParents).toEqual([]);
  });

  test("a hundred are shown", () => {
    const { history, act, root } = worldOf();
    const writes = Array.from({ length: 101 }, (_, at) => history.grant(history.claim(`board ${at}`), root));
    const { records } = history;
    const grants = writes.flatMap(({ sequence }) => records.grant(sequence) ?? []);
    const { possibleParents } = traced(history, act, { possibleParents: { grants, records } });
    expect(hexIds(possibleParents)).toEqual(hexIds(writes.slice(0, 100).map(({ anchorId }) => anchorId)));
  });
});

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

describe("a chain of 10,000 grants", () => {
  const LINKS = 10_000;

  /** Every party has a claim; signatures of what is not shown are left out. */
  function chained(): { history: History; act: LeafWrite; leafGrant: LeafWrite; root: Party } {
    const history = new History();
    const unsigned = { subjectSignature: new Uint8Array(64), issuerSignature: new Uint8Array(64) };
    const ungranted = { grantorSignature: new Uint8Array(64), witnessSignature: new Uint8Array(64) };
    const root = history.claim("party", { entityFingerprint: hash("entity 0") }, unsigned);
    let grantor = root;
    let parent: LeafWrite | undefined;
    for (let link = 1; link <= LINKS; link++) {
      const isShown = link >= LINKS - 1_000;
      const options = { entityFingerprint: hash(`entity ${link}`) };
      const grantee = history.claim("party", options, isShown ? {} : unsigned);
      const delegation = { delegationDepth: LINKS - link, ...(parent === undefined ? {} : { parent }) };
      parent = history.grant(grantor, grantee, delegation, isShown ? {} : ungranted);
      grantor = grantee;
    }
    if (parent === undefined) throw new Error("no chain");
    const act = history.event(event("act", { semanticAnchor: acting(grantor.claim, parent) }));
    return { history, act, leafGrant: parent, root };
  }

  const { history, act, root } = chained();

  test("is judged whole and shown as far as a trace shows it, within a second beside its signatures", () => {
    const input = history.traceInput(act);
    const verified = { count: 0 };
    const counting = {
      sha256: nodeCrypto.sha256,
      ed25519Verify: (...args: Parameters<typeof nodeCrypto.ed25519Verify>) => {
        verified.count += 1;
        return crypto.ed25519Verify(...args);
      },
    };
    const trace = traceEvent(input, counting);
    expect(trace).toMatchObject({ authorisedAtAction: true, authorisedNow: true, violations: [] });
    expect([trace.delegation.hops.length, trace.delegation.omitted]).toEqual([1_000, 9_000]);
    expect(trace.boundary?.depth).toEqual({ granted: LINKS - 1, used: LINKS - 1, left: 0 });
    // Two of each hop shown, two of each claim that these name.
    expect(verified.count).toBe(2 * 1_000 + 2 * 1_001);
    // What they cost is the machine's; all the rest is ours.
    const startMs = performance.now();
    traceEvent(input, crypto);
    expect(performance.now() - startMs).toBeLessThan(1_000);
  });

  test("falls with its root", () => {
    const revocation = history.revoke(root.claim);
    const trace = traced(history, act);
    expect([trace.authorisedAtAction, trace.authorisedNow]).toEqual([true, false]);
    expect(trace.reasons).toMatchObject([{ code: "grantor_claim_revoked", sequence: revocation.sequence }]);
    expect(trace.delegation.hops.every(({ grant }) => grant.state === "revoked")).toBe(true);
    const late = traced(history, act, { asOf: { sequence: act.sequence, timeMs: history.clockMs } });
    expect(late.authorisedNow).toBe(true);
  });
});
