import { describe, expect, test } from "@jest/globals";
import { bytesToHex, grantPayload, grantWitnessPayload, toAnchorId } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { GRANT_CHECKS, rememberVerdicts, verifyGrant } from "../src/index.ts";
import type { GrantCheckCode, GrantVerificationInput } from "../src/judge/verify-grant.ts";
import type { AsOf, CheckResult, ClaimRecord, GrantRecord } from "../src/index.ts";
import type { LeafWrite } from "@event-anchoring/ledger";
import { NODE_A, hash, sha256 } from "../../../test/worlds/cluster.ts";
import { History } from "./history.ts";
import { flipped } from "../../../test/worlds/precedence.ts";
import { grant, person } from "../../../test/worlds/signed-records.ts";
import type { Party } from "../../../test/worlds/signed-records.ts";

const crypto = rememberVerdicts(nodeCrypto);

type Results = Partial<Record<GrantCheckCode, CheckResult>>;

/** root → deployer → agent, each link a grant. */
interface World {
  readonly history: History;
  readonly root: Party;
  readonly deployer: Party;
  readonly agent: Party;
  readonly upper: LeafWrite;
  readonly lower: LeafWrite;
}

function worldOf(): World {
  const history = new History();
  const [root, deployer, agent] = [history.claim("root"), history.claim("deployer"), history.claim("agent")];
  const upper = history.grant(root, deployer, { delegationDepth: 2 });
  const lower = history.grant(deployer, agent, { delegationDepth: 1, parent: upper });
  return { history, root, deployer, agent, upper, lower };
}

function inputOf(
  history: History,
  write: LeafWrite,
  { asOf = history.now, trustedRoots = null }: { asOf?: AsOf; trustedRoots?: readonly ClaimRecord[] | null } = {},
): GrantVerificationInput {
  return { ...history.evidence(write, asOf), ...history.recordEvidence([write], asOf), trustedRoots };
}

function judged(input: GrantVerificationInput): { valid: boolean; state: string | null; results: Results } {
  const { valid, state, checks } = verifyGrant(input, crypto);
  expect(checks.map(({ code }) => code)).toEqual([...GRANT_CHECKS]);
  expect(checks.every(({ detail }) => detail !== "")).toBe(true);
  return { valid, state, results: Object.fromEntries(checks.map(({ code, result }) => [code, result])) };
}

function detailOf(input: GrantVerificationInput, code: GrantCheckCode): string | undefined {
  return verifyGrant(input, crypto).checks.find((check) => check.code === code)?.detail;
}

const GOOD: Results = {
  ...Object.fromEntries(GRANT_CHECKS.map((code) => [code, "pass"])),
  root_authority: "not_checked",
};

/** What makes a grant one that somebody else has signed in the grantor's place, and that the witness has seen. */
function signedInPlaceOfGrantor(grantor: Party, grantee: Party, more: Parameters<typeof grant>[2] = {}) {
  const { grant: content } = grant(grantor, grantee, more);
  const payload = grantPayload(content);
  const grantorSignature = person("mallory").sign(payload);
  return {
    grantorSignature,
    witnessSignature: person("witness").sign(grantWitnessPayload(payload, grantorSignature, sha256)),
  };
}

describe("a good grant", () => {
  test("passes every check, in their order", () => {
    const { history, lower, upper } = worldOf();
    for (const write of [lower, upper])
      expect(judged(inputOf(history, write))).toEqual({ valid: true, state: "active", results: GOOD });
    expect(detailOf(inputOf(history, upper), "delegation_chain")).toBe("a root grant");
    expect(detailOf(inputOf(history, lower), "delegation_chain")).toBe(`2 grants to root ${upper.sequence}`);
  });

  test("stays good when its parties renew their claims", () => {
    const { history, lower } = worldOf();
    for (const name of ["root", "deployer", "agent"]) history.claim(name, { attributeHash: hash("new") });
    expect(judged(inputOf(history, lower))).toEqual({ valid: true, state: "active", results: GOOD });
  });
});

describe("each check fails alone", () => {
  test.each<[string, GrantCheckCode, (world: World) => GrantVerificationInput]>([
    [
      "as_of before the grant",
      "exists",
      ({ history, lower }) => ({
        ...inputOf(history, lower),
        asOf: { sequence: lower.sequence - 1, timeMs: history.clockMs },
      }),
    ],
    [
      "a grantor who has signed something else",
      "grantor_signature",
      ({ history, root, agent }) =>
        inputOf(history, history.grant(root, agent, {}, signedInPlaceOfGrantor(root, agent))),
    ],
    [
      "a witness who has signed something else",
      "witness_signature",
      ({ history, root, agent }) =>
        inputOf(history, history.grant(root, agent, {}, { witnessSignature: new Uint8Array(64).fill(1) })),
    ],
    [
      "a witness who is the grantor",
      "witness_signature",
      ({ history, root, agent }) => inputOf(history, history.grant(root, agent, { witness: "root" })),
    ],
    [
      "a superseded ancestor",
      "delegation_chain",
      ({ history, root, deployer, lower }) => {
        history.grant(root, deployer, { delegationDepth: 2, scopeHash: hash("other") });
        return inputOf(history, lower);
      },
    ],
    [
      "a parent that was granted to somebody else",
      "delegation_chain",
      ({ history, root, agent, upper }) =>
        inputOf(history, history.grant(agent, root, { delegationDepth: 1, parent: upper })),
    ],
    [
      "as many hops left as its parent",
      "delegation_chain",
      ({ history, deployer, root, upper }) =>
        inputOf(history, history.grant(deployer, root, { delegationDepth: 2, parent: upper })),
    ],
    [
      "a window outside its parent's",
      "delegation_chain",
      ({ history, root, agent, deployer }) => {
        const parent = history.grant(root, agent, { delegationDepth: 2, expiresAt: history.clockMs + 1_000 });
        const expiresAt = history.clockMs + 2_000;
        return inputOf(history, history.grant(agent, deployer, { delegationDepth: 1, parent, expiresAt }));
      },
    ],
    [
      "an ancestor that its grantor has not signed",
      "delegation_chain",
      ({ history, root, deployer, agent }) => {
        const forged = signedInPlaceOfGrantor(root, agent, { delegationDepth: 2 });
        const parent = history.grant(root, agent, { delegationDepth: 2 }, forged);
        return inputOf(history, history.grant(agent, deployer, { delegationDepth: 1, parent }));
      },
    ],
    [
      "an ancestor's row that was altered",
      "delegation_chain",
      ({ history, upper, lower }) => inputOf(history.alter(upper, { delegationDepth: 7 }), lower),
    ],
    [
      "another key than the grantor's",
      "grantor_claim",
      ({ history, root, agent }) => inputOf(history, history.grant(root, agent, { signedBy: "mallory" })),
    ],
    [
      "a claim that the grantor's issuer has not signed",
      "grantor_claim",
      ({ history, agent }) => {
        const grantor = history.claim("other", {}, { issuerSignature: new Uint8Array(64).fill(1) });
        return inputOf(history, history.grant(grantor, agent));
      },
    ],
    [
      "a claim of the grantee that has expired",
      "grantee_claim",
      ({ history, root }) => {
        const grantee = history.claim("guest", { expiresAt: history.clockMs + 100 });
        const write = history.grant(root, grantee);
        return inputOf(history, write, { asOf: { sequence: write.sequence, timeMs: history.clockMs + 100 } });
      },
    ],
    [
      "a claim that the grantee has not signed",
      "grantee_claim",
      ({ history, root }) => {
        const grantee = history.claim("other", {}, { issuerSignature: new Uint8Array(64).fill(1) });
        return inputOf(history, history.grant(root, grantee));
      },
    ],
    ["another leaf before it", "parent", ({ history, lower }) => ({ ...inputOf(history, lower), parent: lower })],
    [
      "one cosigner",
      "certificate",
      ({ history, lower }) => {
        history.cosigners.splice(0, 2, NODE_A);
        return inputOf(history, lower);
      },
    ],
    [
      "a revocation",
      "revocation",
      ({ history, lower }) => {
        history.revoke(lower);
        return inputOf(history, lower);
      },
    ],
    [
      "a newer grant between the same lineages",
      "superseded",
      ({ history, deployer, agent, upper, lower }) => {
        history.grant(deployer, agent, { delegationDepth: 0, parent: upper });
        return inputOf(history, lower);
      },
    ],
    [
      "the end of its window",
      "window",
      ({ history, root, agent }) => {
        const write = history.grant(root, agent, { expiresAt: history.clockMs + 1_000 });
        return inputOf(history, write, { asOf: { sequence: write.sequence, timeMs: history.clockMs + 990 } });
      },
    ],
    [
      "a window that has not begun",
      "window",
      ({ history, root, agent }) =>
        inputOf(history, history.grant(root, agent, { notBefore: history.clockMs + 1_000 })),
    ],
    [
      "a root that nobody trusts",
      "root_authority",
      ({ history, lower, agent }) => inputOf(history, lower, { trustedRoots: [history.claimRecord(agent.claim)] }),
    ],
    [
      "no root at all that is trusted",
      "root_authority",
      ({ history, lower }) => inputOf(history, lower, { trustedRoots: [] }),
    ],
  ])("%s: %s", (_, code, build) => {
    const input = build(worldOf());
    const { valid, results } = judged(input);
    expect(valid).toBe(false);
    expect(results).toEqual({ ...GOOD, [code]: "fail" });
  });
});

describe("what is revoked fails what it ends, and never passes as not revoked", () => {
  test.each<[string, GrantCheckCode, (world: World) => GrantVerificationInput]>([
    [
      "a revoked ancestor",
      "delegation_chain",
      ({ history, upper, lower }) => {
        history.revoke(upper);
        return inputOf(history, lower);
      },
    ],
    [
      "a revoked claim of an ancestor's grantor",
      "delegation_chain",
      ({ history, root, lower }) => {
        history.revoke(root.claim);
        return inputOf(history, lower);
      },
    ],
    [
      "a revoked claim of the grantor",
      "grantor_claim",
      ({ history, root, upper }) => {
        history.revoke(root.claim);
        return inputOf(history, upper);
      },
    ],
    [
      "the end of the grantor's lineage",
      "grantor_claim",
      ({ history, root, upper }) => {
        const renewed = history.claim("root", { attributeHash: hash("new") });
        history.revoke(renewed.claim);
        expect(root.claim.sequence).toBeLessThan(renewed.claim.sequence);
        return inputOf(history, upper);
      },
    ],
    [
      "a revoked claim of the grantee",
      "grantee_claim",
      ({ history, agent, lower }) => {
        history.revoke(agent.claim);
        return inputOf(history, lower);
      },
    ],
  ])("%s: %s", (_, code, build) => {
    const { valid, results } = judged(build(worldOf()));
    expect(valid).toBe(false);
    expect(results).toEqual({ ...GOOD, [code]: "fail", revocation: "fail" });
  });
});

describe("trusted roots", () => {
  test("a claim of the root grantor's lineage is enough, whichever", () => {
    const { history, root, agent, lower } = worldOf();
    const renewed = history.claim("root", { attributeHash: hash("new") });
    const [old, young, other] = [root, renewed, agent].map(({ claim }) => history.claimRecord(claim));
    for (const trustedRoots of [[old], [young], [other, young]]) {
      const input = inputOf(history, lower, { trustedRoots: trustedRoots.filter((each) => each !== undefined) });
      expect(judged(input)).toMatchObject({ valid: true, results: { root_authority: "pass" } });
    }
  });

  test("a claim of the same entity in another respect is another root", () => {
    const { history, lower } = worldOf();
    const { claim } = history.claim("root", { attributeType: 2 });
    const input = inputOf(history, lower, { trustedRoots: [history.claimRecord(claim)] });
    expect(judged(input).results.root_authority).toBe("fail");
  });
});

describe("positions and cascades", () => {
  test.each<[string, (world: World) => LeafWrite, string]>([
    ["itself", ({ lower }) => lower, "revoked"],
    ["its parent", ({ upper }) => upper, "revoked"],
    ["its grantee's claim", ({ agent }) => agent.claim, "revoked"],
    ["its grantor's claim", ({ deployer }) => deployer.claim, "revoked"],
    ["its root's claim", ({ root }) => root.claim, "revoked"],
  ])("good one sequence before the revocation of %s, and no longer at it", (_, target, state) => {
    const world = worldOf();
    const { history, lower } = world;
    const revocation = history.revoke(target(world));
    const before = { sequence: revocation.sequence - 1, timeMs: history.clockMs };
    expect(judged(inputOf(history, lower, { asOf: before }))).toEqual({ valid: true, state: "active", results: GOOD });
    expect(judged(inputOf(history, lower))).toMatchObject({ valid: false, state, results: { revocation: "fail" } });
  });

  test("the check `revocation` names the claim that is revoked", () => {
    const { history, agent, lower } = worldOf();
    const revocation = history.revoke(agent.claim);
    const { checks } = verifyGrant(inputOf(history, lower), crypto);
    const { detail } = checks.find(({ code }) => code === "revocation") ?? { detail: "" };
    expect(detail).toContain(`the claim of its grantee, ${bytesToHex(agent.claim.anchorId)}`);
    expect(detail).toContain(`at sequence ${revocation.sequence}`);
  });

  test("a renewed claim that is revoked revokes the grant as well", () => {
    const { history, lower } = worldOf();
    const renewed = history.claim("agent", { attributeHash: hash("new") });
    expect(judged(inputOf(history, lower)).valid).toBe(true);
    history.revoke(renewed.claim);
    expect(judged(inputOf(history, lower)).results.revocation).toBe("fail");
  });

  test("a new lineage does not revive what hangs on the old one", () => {
    const { history, agent, lower } = worldOf();
    history.revoke(agent.claim);
    history.claim("agent", { attributeHash: hash("new") });
    expect(judged(inputOf(history, lower)).results).toEqual({ ...GOOD, grantee_claim: "fail", revocation: "fail" });
  });

  test("a window is inherited, its ends included on one side and not on the other", () => {
    const history = new History();
    const [root, deployer, agent] = [history.claim("root"), history.claim("deployer"), history.claim("agent")];
    const [notBefore, expiresAt] = [history.clockMs + 1_000, history.clockMs + 2_000];
    const upper = history.grant(root, deployer, { delegationDepth: 2, notBefore, expiresAt });
    const lower = history.grant(deployer, agent, { delegationDepth: 1, parent: upper });
    for (const [timeMs, valid, state] of [
      [notBefore - 1, false, "active"],
      [notBefore, true, "active"],
      [expiresAt - 1, true, "active"],
      [expiresAt, false, "expired"],
    ] as const) {
      const verified = judged(inputOf(history, lower, { asOf: { sequence: lower.sequence, timeMs } }));
      expect(verified).toMatchObject({ valid, state, results: { window: valid ? "pass" : "fail" } });
    }
  });
});

describe("rows are not believed", () => {
  test.each<[string, Partial<GrantRecord>, string]>([
    ["more hops", { delegationDepth: 9 }, "delegation_depth"],
    ["a longer life", { expiresAt: 1 }, "expires_at"],
    ["an earlier begin", { notBefore: 1 }, "not_before"],
    ["another grantor", { grantorClaim: 5 }, "grantor_claim_ref"],
    ["another grantee", { granteeClaim: 3 }, "grantee_claim_ref"],
    ["another lineage of the grantor", { grantorLineage: 3 }, "grantor_claim_ref"],
    ["another lineage of the grantee", { granteeLineage: 3 }, "grantee_claim_ref"],
    ["no parent", { parent: null, links: 1 }, "parent_grant_ref"],
    ["fewer links", { links: 1 }, "parent_grant_ref"],
    ["another grantor key", { grantorPublicKey: hash("key") }, "grantor_public_key"],
    ["another witness", { witnessPublicKey: hash("key") }, "witness_public_key"],
    ["another anchor", { anchorId: toAnchorId(hash("other")) }, "hashes to"],
    ["a revocation that is none", { revokedAt: 7 }, "revoked at 7"],
    ["a successor that is none", { supersededAt: 7 }, "superseded at 7"],
  ])("a record with %s fails `leaf`, and nothing rests on it", (_, change, said) => {
    const { history, lower } = worldOf();
    const input = inputOf(history.alter(lower, change), lower);
    const { valid, state, results } = judged(input);
    expect({ valid, state }).toEqual({ valid: false, state: null });
    expect(results).toMatchObject({ leaf: "fail", delegation_chain: "not_checked", revocation: "not_checked" });
    expect(detailOf(input, "leaf")).toContain(said);
  });

  test.each<[string, (world: World) => History, GrantCheckCode]>([
    ["the grantor's claim", ({ history, deployer }) => history.lose(deployer.claim), "grantor_claim"],
    ["the grantee's claim", ({ history, agent }) => history.lose(agent.claim), "grantee_claim"],
    ["the parent", ({ history, upper }) => history.lose(upper), "delegation_chain"],
    ["a claim of the root", ({ history, root }) => history.lose(root.claim), "delegation_chain"],
  ])("without %s there is no verdict on it, and nothing is valid", (_, lose, code) => {
    const world = worldOf();
    const { valid, results } = judged(inputOf(lose(world), world.lower));
    expect(valid).toBe(false);
    expect(results[code]).toBe("not_checked");
    expect(Object.values(results)).not.toContain("fail");
  });

  test("without the record itself nothing that needs it is said", () => {
    const { history, lower } = worldOf();
    const trustedRoots: ClaimRecord[] = [];
    expect(judged(inputOf(history.lose(lower), lower, { trustedRoots }))).toMatchObject({
      valid: false,
      state: null,
      results: { leaf: "pass", window: "not_checked", root_authority: "not_checked" },
    });
  });

  test("a leaf of the chain that was altered fails the chain", () => {
    const { history, upper, lower } = worldOf();
    const input = inputOf(history, lower);
    const leaves = input.leaves.map((row) =>
      row.anchorId === upper.anchorId ? { anchorId: row.anchorId, bytes: flipped(row.bytes) } : row,
    );
    expect(judged({ ...input, leaves }).results).toEqual({ ...GOOD, delegation_chain: "fail" });
  });

  test("a swapped pair of records is told from the leaves", () => {
    const { history, upper, lower } = worldOf();
    const [a, b] = [history.records.grant(upper.sequence), history.records.grant(lower.sequence)];
    if (a === null || b === null) throw new Error("no records");
    history.alter(upper, { ...b, sequence: a.sequence }).alter(lower, { ...a, sequence: b.sequence });
    expect(judged(inputOf(history, lower))).toMatchObject({ valid: false, results: { leaf: "fail" } });
  });

  test("rows that make a cycle are followed to nowhere", () => {
    const { history, upper, lower } = worldOf();
    history.alter(upper, { parent: lower.sequence });
    expect(judged(inputOf(history, lower))).toMatchObject({ valid: false, results: { delegation_chain: "fail" } });
    expect(judged(inputOf(history.alter(lower, { parent: lower.sequence }), lower)).valid).toBe(false);
  });

  test("a renewal of a party that its record does not know ends nothing, and is not overlooked", () => {
    const { history, root, upper } = worldOf();
    history.claim("root", { attributeHash: hash("new") });
    history.alter(root.claim, { supersededAt: null });
    expect(judged(inputOf(history, upper)).results).toEqual({ ...GOOD, grantor_claim: "fail" });
  });

  test.each<[string, (history: History) => LeafWrite]>([
    ["an event", (history) => history.event()],
    ["a claim", (history) => history.claim("alice").claim],
  ])("%s is no grant", (_, build) => {
    const history = new History();
    const input = inputOf(history, build(history));
    expect(judged(input)).toMatchObject({
      valid: false,
      state: null,
      results: { leaf: "fail", exists: "not_checked" },
    });
    expect(detailOf(input, "leaf")).toContain("is no grant");
  });
});

describe("long chains", () => {
  test("all links are judged, and what is not shown is counted", () => {
    const history = new History();
    const parties = Array.from({ length: 1_102 }, (_, at) => history.claim(`person ${at}`));
    let parent: LeafWrite | undefined;
    for (const [at, grantor] of parties.entries()) {
      const grantee = parties[at + 1];
      if (grantee === undefined) break;
      const delegationDepth = parties.length - at;
      parent = history.grant(grantor, grantee, { delegationDepth, ...(parent === undefined ? {} : { parent }) });
    }
    if (parent === undefined) throw new Error("no chain");
    const input = inputOf(history, parent);
    expect(judged(input)).toEqual({ valid: true, state: "active", results: GOOD });
    const { hops, omitted } = verifyGrant(input, crypto).delegation;
    expect([hops.length, omitted]).toEqual([1_000, 101]);
    expect(bytesToHex(hops[0]?.grant.anchorId ?? hash("none"))).toBe(bytesToHex(parent.anchorId));
    const [first] = parties;
    if (first === undefined) throw new Error("nobody");
    history.revoke(first.claim);
    expect(judged(inputOf(history, parent))).toEqual({
      valid: false,
      state: "revoked",
      results: { ...GOOD, delegation_chain: "fail", revocation: "fail" },
    });
  });
});
