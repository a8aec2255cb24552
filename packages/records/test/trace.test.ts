import { describe, expect, test } from "@jest/globals";
import { LEAF_KIND } from "@event-anchoring/protocol";
import type { AsOf } from "../src/index.ts";
import type { LeafWrite } from "@event-anchoring/ledger";
import { hash } from "../../../test/worlds/cluster.ts";
import { History, hexIds } from "./history.ts";
import { event } from "../../../test/worlds/ledger-harness.ts";
import { acting, signedEvent } from "../../../test/worlds/signed-records.ts";
import { reasonsOf, traced, violationsOf, worldOf } from "./traced-world.ts";
import type { World } from "./traced-world.ts";

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

  test("signed by its actor: proven", () => {
    const { history, agent, lower } = worldOf();
    const act = history.event(signedEvent("signed", "agent", { semanticAnchor: acting(agent.claim, lower) }));
    expect(traced(history, act)).toMatchObject({
      isActorProven: true,
      actor: { actorSignature: "pass" },
      authorisedAtAction: true,
      violations: [],
    });
  });

  test("signed by nobody: it may be authorised, and the actor is not proven", () => {
    const { history, agent, lower } = worldOf();
    const act = history.event(event("unsigned", { semanticAnchor: acting(agent.claim, lower) }));
    expect(traced(history, act)).toMatchObject({ isActorProven: false, authorisedAtAction: true });
  });

  test("signed with another key than the actor's: recorded, and never authorised", () => {
    const { history, agent, lower } = worldOf();
    const act = history.event(signedEvent("signed", "mallory", { semanticAnchor: acting(agent.claim, lower) }));
    const trace = traced(history, act);
    expect(trace).toMatchObject({
      isActorProven: false,
      actor: { actorSignature: "fail" },
      authorisedAtAction: false,
      authorisedNow: false,
      reasons: [
        { verdict: "at_action", code: "actor_key_mismatch", anchorId: agent.claim.anchorId },
        { verdict: "now", code: "actor_key_mismatch", anchorId: agent.claim.anchorId },
      ],
    });
    expect(violationsOf(trace)).toEqual(["actor_key_mismatch"]);
  });

  test("signed with another key, and no grant is named: not authorised whatever is missing", () => {
    const { history, agent } = worldOf();
    const act = history.event(signedEvent("signed", "mallory", { semanticAnchor: acting(agent.claim, null) }));
    const trace = traced(history, act);
    expect([trace.authorisedAtAction, trace.authorisedNow]).toEqual([false, false]);
    expect(trace.reasons.map(({ code }) => code).slice(0, 2)).toEqual(["actor_key_mismatch", "grant_ref_empty"]);
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
