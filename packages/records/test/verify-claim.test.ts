import { describe, expect, test } from "@jest/globals";
import { bytesToHex, claimIssuerPayload, claimPayload, toAnchorId } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { CLAIM_CHECKS, rememberVerdicts, verifyClaim } from "../src/index.ts";
import type { ClaimCheckCode, ClaimVerificationInput } from "../src/judge/verify-claim.ts";
import type { AsOf, CheckResult, ClaimRecord } from "../src/index.ts";
import type { LeafWrite } from "@event-anchoring/ledger";
import { NODE_A, hash, sha256 } from "../../../test/worlds/cluster.ts";
import { History } from "./history.ts";
import { flipped } from "../../../test/worlds/precedence.ts";
import { claim, person } from "../../../test/worlds/signed-records.ts";

const crypto = rememberVerdicts(nodeCrypto);

function inputOf(history: History, write: LeafWrite, asOf: AsOf = history.now): ClaimVerificationInput {
  return { ...history.evidence(write, asOf), ...history.recordEvidence([write], asOf) };
}

type Results = Partial<Record<ClaimCheckCode, CheckResult>>;

function judged(input: ClaimVerificationInput): { valid: boolean; state: string | null; results: Results } {
  const { valid, state, checks } = verifyClaim(input, crypto);
  expect(checks.map(({ code }) => code)).toEqual([...CLAIM_CHECKS]);
  expect(checks.every(({ detail }) => detail !== "")).toBe(true);
  return { valid, state, results: Object.fromEntries(checks.map(({ code, result }) => [code, result])) };
}

function detailOf(input: ClaimVerificationInput, code: ClaimCheckCode): string | undefined {
  return verifyClaim(input, crypto).checks.find((check) => check.code === code)?.detail;
}

const GOOD: Results = Object.fromEntries(CLAIM_CHECKS.map((code) => [code, "pass"]));

describe("a good claim", () => {
  test("passes every check, in their order", () => {
    const history = new History();
    const { claim } = history.claim("alice");
    expect(judged(inputOf(history, claim))).toEqual({ valid: true, state: "active", results: GOOD });
  });

  test("stays good when others are revoked and renewed", () => {
    const history = new History();
    const { claim } = history.claim("alice");
    const { claim: other } = history.claim("bob");
    history.revoke(other);
    history.claim("carol");
    expect(judged(inputOf(history, claim)).valid).toBe(true);
  });
});

describe("each check fails alone", () => {
  test.each<[string, ClaimCheckCode, (history: History) => ClaimVerificationInput]>([
    [
      "as_of before the claim",
      "exists",
      (history) => {
        const { claim } = history.claim("alice");
        return { ...inputOf(history, claim), asOf: { sequence: claim.sequence - 1, timeMs: history.clockMs } };
      },
    ],
    [
      "a subject who has signed something else",
      "subject_signature",
      (history) => {
        const { claim: write } = history.claim("alice", {}, signedInPlaceOfSubject());
        return inputOf(history, write);
      },
    ],
    [
      "an issuer who has signed something else",
      "issuer_signature",
      (history) => {
        const { claim } = history.claim("alice", {}, { issuerSignature: new Uint8Array(64).fill(1) });
        return inputOf(history, claim);
      },
    ],
    [
      "another leaf before it",
      "parent",
      (history) => {
        const { claim } = history.claim("alice");
        const input = inputOf(history, claim);
        return { ...input, parent: { anchorId: claim.anchorId, bytes: claim.bytes } };
      },
    ],
    [
      "one cosigner",
      "certificate",
      (history) => {
        history.cosigners.splice(0, 2, NODE_A);
        return inputOf(history, history.claim("alice").claim);
      },
    ],
    [
      "a revocation",
      "revocation",
      (history) => {
        const { claim } = history.claim("alice");
        history.revoke(claim);
        return inputOf(history, claim);
      },
    ],
    [
      "a renewal",
      "superseded",
      (history) => {
        const { claim } = history.claim("alice");
        history.claim("alice", { attributeHash: hash("new") });
        return inputOf(history, claim);
      },
    ],
    [
      "its end",
      "window",
      (history) => {
        const { claim } = history.claim("alice", { expiresAt: history.clockMs + 1_000 });
        return inputOf(history, claim, { sequence: claim.sequence, timeMs: history.clockMs + 990 });
      },
    ],
  ])("%s: %s", (_, code, build) => {
    const { valid, results } = judged(build(new History()));
    expect(valid).toBe(false);
    expect(results).toEqual({ ...GOOD, [code]: "fail" });
  });
});

/** What makes a claim about alice one that somebody else has signed in her place, and that the issuer vouches for. */
function signedInPlaceOfSubject(): { subjectSignature: Uint8Array; issuerSignature: Uint8Array } {
  const { claim: content } = claim("alice");
  const payload = claimPayload(content);
  const subjectSignature = person("mallory").sign(payload);
  const issuerSignature = person("issuer").sign(claimIssuerPayload(payload, subjectSignature, sha256));
  return { subjectSignature, issuerSignature };
}

describe("positions", () => {
  test("a claim is good one sequence before it is revoked, and no longer at its revocation", () => {
    const history = new History();
    const { claim: write } = history.claim("alice");
    const revocation = history.revoke(write);
    const before = { sequence: revocation.sequence - 1, timeMs: history.clockMs };
    expect(judged(inputOf(history, write, before))).toEqual({ valid: true, state: "active", results: GOOD });
    expect(judged(inputOf(history, write, history.at(revocation)))).toMatchObject({ valid: false, state: "revoked" });
    expect(detailOf(inputOf(history, write, before), "revocation")).toContain(
      `revoked later, at sequence ${revocation.sequence}`,
    );
    expect(detailOf(inputOf(history, write), "revocation")).toContain(bytesToHex(revocation.anchorId));
  });

  test("the first revocation is the one that is named", () => {
    const history = new History();
    const { claim: write } = history.claim("alice");
    const first = history.revoke(write);
    history.revoke(write, { suspectSince: 1 });
    expect(detailOf(inputOf(history, write), "revocation")).toContain(bytesToHex(first.anchorId));
  });

  test("a claim is good one sequence before it is renewed, and its renewal is good from there on", () => {
    const history = new History();
    const { claim: old } = history.claim("alice");
    const { claim: renewed } = history.claim("alice", { attributeHash: hash("new") });
    const before = { sequence: renewed.sequence - 1, timeMs: history.clockMs };
    expect(judged(inputOf(history, old, before)).valid).toBe(true);
    expect(judged(inputOf(history, old))).toMatchObject({ valid: false, state: "superseded" });
    expect(judged(inputOf(history, renewed)).valid).toBe(true);
    expect(detailOf(inputOf(history, old), "superseded")).toBe(`superseded at sequence ${renewed.sequence}`);
  });

  test.each([
    [-1, true, "active"],
    [0, false, "expired"],
    [1, false, "expired"],
  ])("%d ms from its end: valid %p", (offset, valid, state) => {
    const history = new History();
    const expiresAt = history.clockMs + 1_000;
    const { claim: write } = history.claim("alice", { expiresAt });
    const asOf = { sequence: write.sequence, timeMs: expiresAt + offset };
    expect(judged(inputOf(history, write, asOf))).toMatchObject({ valid, state });
  });

  test("revoked outweighs superseded, and superseded outweighs expired", () => {
    const history = new History();
    const { claim: write } = history.claim("alice", { expiresAt: history.clockMs + 20 });
    history.claim("alice", { attributeHash: hash("new") });
    history.event();
    expect(judged(inputOf(history, write))).toMatchObject({
      state: "superseded",
      results: { superseded: "fail", window: "fail", revocation: "pass" },
    });
    history.revoke(write);
    expect(judged(inputOf(history, write))).toMatchObject({ state: "revoked", results: { revocation: "fail" } });
  });
});

describe("rows are not believed", () => {
  test.each<[string, Partial<ClaimRecord>, string]>([
    ["a longer life", { expiresAt: 0 }, "expires_at"],
    ["another subject key", { subjectPublicKey: hash("key") }, "subject_public_key"],
    ["another issuer key", { issuerPublicKey: hash("key") }, "issuer_public_key"],
    ["another entity", { entityFingerprint: hash("other") }, "entity_fingerprint"],
    ["another attribute", { attributeType: 2 }, "attribute_type"],
    ["a lineage that is yet to begin", { lineage: 999 }, "lineage"],
    ["another anchor", { anchorId: toAnchorId(hash("other")) }, "hashes to"],
    ["a revocation that is none", { revokedAt: 1 }, "revoked at 1"],
    ["a successor that is none", { supersededAt: 2 }, "superseded at 2"],
  ])("a record with %s fails `leaf`, and nothing rests on it", (_, change, said) => {
    const history = new History();
    const { claim: write } = history.claim("alice", { expiresAt: history.clockMs + 1_000_000 });
    history.alter(write, change);
    const input = inputOf(history, write);
    const { valid, state, results } = judged(input);
    expect({ valid, state }).toEqual({ valid: false, state: null });
    expect(results).toEqual({ ...GOOD, leaf: "fail", revocation: "not_checked", superseded: "not_checked" });
    expect(detailOf(input, "leaf")).toContain(said);
  });

  test("a revocation that the record does not know is one all the same", () => {
    const history = new History();
    const { claim: write } = history.claim("alice");
    const revocation = history.revoke(write, { isRecorded: false });
    expect(judged(inputOf(history, write)).results).toEqual({ ...GOOD, revocation: "fail" });
    expect(judged(inputOf(history, write, { sequence: revocation.sequence - 1, timeMs: 0 })).valid).toBe(true);
  });

  test("a renewal that the record does not know is one all the same", () => {
    const history = new History();
    const { claim: write } = history.claim("alice");
    history.claim("alice", { attributeHash: hash("new") });
    history.alter(write, { supersededAt: null });
    expect(judged(inputOf(history, write)).results).toEqual({ ...GOOD, superseded: "fail" });
  });

  test("without a record no ending is told, and nothing is valid", () => {
    const history = new History();
    const { claim: write } = history.claim("alice");
    history.lose(write);
    expect(judged(inputOf(history, write))).toEqual({
      valid: false,
      state: null,
      results: { ...GOOD, revocation: "not_checked", superseded: "not_checked" },
    });
  });

  test("an altered leaf fails `leaf` and is not looked at any further", () => {
    const history = new History();
    const { claim: write } = history.claim("alice");
    const input = inputOf(history, write);
    const { valid, results } = judged({ ...input, receipt: { ...input.receipt, leaf: flipped(write.bytes) } });
    expect(valid).toBe(false);
    expect(results).toMatchObject({ leaf: "fail", issuer_signature: "fail", inclusion: "not_checked" });
  });

  test.each<[string, (history: History) => LeafWrite]>([
    ["an event", (history) => history.event()],
    ["a grant", (history) => history.grant(history.claim("alice"), history.claim("bob"))],
  ])("%s is no claim", (_, build) => {
    const history = new History();
    const input = inputOf(history, build(history));
    expect(judged(input)).toMatchObject({
      valid: false,
      state: null,
      results: { leaf: "fail", exists: "not_checked" },
    });
    expect(detailOf(input, "leaf")).toContain("is no claim");
  });

  test("bytes that are no leaf", () => {
    const history = new History();
    const { claim: write } = history.claim("alice");
    const input = inputOf(history, write);
    const receipt = { ...input.receipt, leaf: write.bytes.slice(1) };
    expect(judged({ ...input, receipt })).toMatchObject({
      valid: false,
      results: { leaf: "fail", window: "not_checked" },
    });
  });
});
