import { describe, expect, test } from "@jest/globals";
import { LEAF_KIND, claimPayload, decodeLeaf, toOriginFingerprint } from "@event-anchoring/protocol";
import { claimContentHash } from "../src/decide/content-hash.ts";
import { claimStateAt } from "@event-anchoring/records";
import type { LeafWrite, RecordClaimCommand } from "../src/index.ts";
import type { ClaimRecord } from "@event-anchoring/records";
import { NODE_A, NODE_B, NODE_C, hash, sha256, successor } from "../../../test/worlds/cluster.ts";
import {
  CLIENT_ID,
  LedgerHarness,
  codeOf,
  credentialOf,
  event,
  keyCommand,
} from "../../../test/worlds/ledger-harness.ts";
import { flipped, rowsOf } from "../../../test/worlds/precedence.ts";
import type { Defect } from "../../../test/worlds/precedence.ts";
import { claim, operatorRevocation, person, revocation } from "../../../test/worlds/signed-records.ts";
import type { ClaimOptions } from "../../../test/worlds/signed-records.ts";

const CLOSED_C = successor([{ node: NODE_A }, { node: NODE_B }, { node: NODE_C, origin: "closed" }]);
const ADMIN = credentialOf("admin");

/** A key of every sort; origin C is closed; somebody has a claim by the issuer of this name. */
function crowded(): LedgerHarness {
  const ledger = LedgerHarness.started();
  ledger.run(keyCommand("reader", ["read", "revoke", "admin"]));
  ledger.run(keyCommand("admin", ["write", "revoke", "admin"]));
  ledger.run({ kind: "trust_root", document: CLOSED_C });
  ledger.acceptRecord(claim("somebody"));
  return ledger;
}

function stored(ledger: LedgerHarness, write: LeafWrite): ClaimRecord {
  return ledger.tables.records.claimAt(write.sequence);
}

function stateOf(ledger: LedgerHarness, write: LeafWrite): string {
  const now = { sequence: ledger.state.nextSequence, timeMs: ledger.clockMs };
  return claimStateAt(stored(ledger, write), now);
}

describe("checks of a claim, in order of precedence", () => {
  const defects: readonly Defect<ClaimOptions, RecordClaimCommand>[] = [
    { code: "api_key_invalid", options: { credential: credentialOf("nobody") } },
    { code: "scope_missing", options: { credential: credentialOf("reader") } },
    {
      code: "origin_unknown",
      pointer: "/origin_fingerprint",
      options: { originFingerprint: toOriginFingerprint(hash("nowhere")) },
    },
    { code: "signature_invalid", pointer: "/subject_signature", spoil: subjectSignsNothing },
    { code: "signature_invalid", pointer: "/issuer_signature", spoil: issuerSignsNothing },
    { code: "origin_closed", pointer: "/origin_fingerprint", options: { originFingerprint: NODE_C.originFingerprint } },
    { code: "issued_in_future", pointer: "/issued_at", options: { issuedAt: 2 ** 53 - 1 } },
    { code: "window_invalid", pointer: "/expires_at", options: { expiresAt: 1 } },
    { code: "claim_conflict", pointer: "/issuer_public_key", options: { issuer: "another issuer" } },
  ];

  test.each(rowsOf(defects))("%s", (_, { code, pointer, options, spoil }) => {
    const ledger = crowded();
    const before = ledger.state.nextSequence;
    const outcome = ledger.run(spoil(claim("somebody", { attributeHash: hash("new"), ...options })));
    expect(codeOf(outcome)).toBe(code);
    const rejection = outcome.kind === "records" ? outcome.records[0] : outcome;
    expect(rejection).toMatchObject(pointer === undefined ? {} : { rejection: { pointer } });
    expect(ledger.state.nextSequence).toBe(before);
  });

  test("without a defect it is accepted", () => {
    expect(codeOf(crowded().run(claim("somebody", { attributeHash: hash("new") })))).toBe("accepted");
  });

  function subjectSignsNothing(command: RecordClaimCommand): RecordClaimCommand {
    return { ...command, claim: { ...command.claim, subjectSignature: flipped(command.claim.subjectSignature) } };
  }

  function issuerSignsNothing(command: RecordClaimCommand): RecordClaimCommand {
    return { ...command, claim: { ...command.claim, issuerSignature: flipped(command.claim.issuerSignature) } };
  }
});

describe("times", () => {
  test.each([
    ["issued at the last moment that is allowed", { issuedAt: 300_000 }, "accepted"],
    ["issued a millisecond later", { issuedAt: 300_001 }, "issued_in_future"],
    ["expiring as it is accepted", { expiresAt: 0 }, "window_invalid"],
    ["expiring a millisecond later", { expiresAt: 1 }, "accepted"],
  ])("%s", (_, offsets, code) => {
    const ledger = LedgerHarness.started();
    const acceptedMs = ledger.clockMs + 10;
    const times = Object.fromEntries(Object.entries(offsets).map(([name, offset]) => [name, acceptedMs + offset]));
    expect(codeOf(ledger.run(claim("x", times)))).toBe(code);
  });

  test("a leader whose clock is behind judges by the newest leaf", () => {
    const ledger = LedgerHarness.started();
    const { acceptedMs } = ledger.accept(event("x"));
    ledger.clockMs -= 1_000_000;
    expect(codeOf(ledger.run(claim("x", { expiresAt: acceptedMs })))).toBe("window_invalid");
    expect(codeOf(ledger.run(claim("x", { expiresAt: acceptedMs + 1 })))).toBe("accepted");
  });
});

describe("what is anchored", () => {
  test("is the claim with its signatures, and what is derived of it", () => {
    const ledger = LedgerHarness.started();
    const command = claim("x", { issuedAt: 5, expiresAt: ledger.clockMs + 100_000, attributeType: 0xffff_ffff });
    const write = ledger.acceptRecord(command);
    const leaf = decodeLeaf(write.bytes);
    expect(leaf).toMatchObject({ kind: LEAF_KIND.claim, depth: 1, sequence: 3, ...command.claim });
    expect(stored(ledger, write)).toEqual({
      anchorId: write.anchorId,
      recordedBy: CLIENT_ID,
      originFingerprint: NODE_A.originFingerprint,
      sequence: 3,
      entityFingerprint: hash("entity x"),
      attributeType: 0xffff_ffff,
      subjectPublicKey: person("x").publicKey,
      issuerPublicKey: person("issuer").publicKey,
      expiresAt: command.claim.expiresAt,
      lineage: 3,
      supersededAt: null,
      revokedAt: null,
    });
  });

  test("a subject may issue a claim to itself", () => {
    expect(codeOf(LedgerHarness.started().run(claim("x", { issuer: "x" })))).toBe("accepted");
  });
});

describe("idempotency", () => {
  test("the same payload is the same claim, whatever has become of it and of its origin", () => {
    const ledger = LedgerHarness.started();
    const command = claim("x", { originFingerprint: NODE_C.originFingerprint });
    const first = ledger.acceptRecord(command);
    const { anchorId, originFingerprint, sequence } = first;
    const replay = { status: "replayed", anchorId, originFingerprint, sequence };
    expect(ledger.run(command)).toEqual({ kind: "records", refused: false, records: [replay] });
    ledger.acceptRecord(claim("x", { attributeHash: hash("renewed") }));
    expect(stateOf(ledger, first)).toBe("superseded");
    ledger.run({ kind: "trust_root", document: CLOSED_C });
    expect(codeOf(ledger.run(command))).toBe("replayed");
    expect(stateOf(ledger, first)).toBe("superseded");
  });

  test("a revoked claim does not come back by its own bytes; a new issued_at is a new claim", () => {
    const ledger = LedgerHarness.started();
    const first = ledger.acceptRecord(claim("x"));
    ledger.run(keyCommand("admin", ["revoke"]));
    ledger.acceptRecord(operatorRevocation("claim", first));
    expect(codeOf(ledger.run(claim("x")))).toBe("replayed");
    expect(stateOf(ledger, first)).toBe("revoked");
    const again = ledger.acceptRecord(claim("x", { issuedAt: 1 }));
    expect(stateOf(ledger, again)).toBe("active");
    expect(stored(ledger, again).lineage).toBe(again.sequence);
  });

  test("bad signatures do not replay", () => {
    const ledger = LedgerHarness.started();
    const command = claim("x");
    ledger.acceptRecord(command);
    const { issuerSignature } = claim("y").claim;
    expect(codeOf(ledger.run({ ...command, claim: { ...command.claim, issuerSignature } }))).toBe("signature_invalid");
  });

  test("two of one entry replay each other", () => {
    const ledger = LedgerHarness.started();
    const outcomes = ledger.runTogether(claim("x"), claim("x"), claim("x", { attributeType: 2 }));
    expect(outcomes.map(codeOf)).toEqual(["accepted", "replayed", "accepted"]);
  });

  test("the content is everything that is signed", () => {
    const { claim: base } = claim("x");
    expect(claimContentHash(base, sha256)).toEqual(sha256(claimPayload(base)));
    const others: ClaimOptions[] = [
      { originFingerprint: NODE_B.originFingerprint },
      { entityFingerprint: hash("e") },
      { attributeType: 2 },
      { attributeHash: hash("a") },
      { issuedAt: 1 },
      { expiresAt: 1 },
      { issuer: "y" },
    ];
    for (const other of others)
      expect(claimContentHash(claim("x", other).claim, sha256)).not.toEqual(claimContentHash(base, sha256));
  });
});

describe("lineages", () => {
  const entityFingerprint = hash("one entity");

  test("renewals continue a lineage, also once the newest has expired", () => {
    const ledger = LedgerHarness.started();
    const first = ledger.acceptRecord(claim("x", { expiresAt: ledger.clockMs + 15 }));
    ledger.clockMs += 100;
    expect(stateOf(ledger, first)).toBe("expired");
    const second = ledger.acceptRecord(claim("x", { issuedAt: 2 }));
    const third = ledger.acceptRecord(claim("x", { issuedAt: 3 }));
    expect([first, second, third].map((write) => stored(ledger, write).lineage)).toEqual(
      Array.from({ length: 3 }, () => first.sequence),
    );
    expect(stored(ledger, first).supersededAt).toBe(second.sequence);
    expect(stored(ledger, second).supersededAt).toBe(third.sequence);
    expect(stored(ledger, third).supersededAt).toBeNull();
  });

  test("another subject key may follow in a lineage: a person changes keys", () => {
    const ledger = LedgerHarness.started();
    const first = ledger.acceptRecord(claim("old key", { entityFingerprint }));
    const second = ledger.acceptRecord(claim("new key", { entityFingerprint }));
    expect(stored(ledger, second).lineage).toBe(first.sequence);
  });

  test("another attribute, or another entity, is another lineage, whoever issues it", () => {
    const ledger = LedgerHarness.started();
    ledger.acceptRecord(claim("x", { entityFingerprint }));
    const attribute = ledger.acceptRecord(claim("x", { entityFingerprint, attributeType: 2, issuer: "other" }));
    const entity = ledger.acceptRecord(claim("x", { entityFingerprint: hash("another"), issuer: "other" }));
    for (const write of [attribute, entity]) expect(stored(ledger, write).lineage).toBe(write.sequence);
  });

  test("pairs are those of the whole cluster, not of an origin", () => {
    const ledger = LedgerHarness.started();
    const first = ledger.acceptRecord(claim("x"));
    const second = ledger.acceptRecord(claim("x", { originFingerprint: NODE_B.originFingerprint }));
    expect(stored(ledger, second).lineage).toBe(first.sequence);
    expect(stored(ledger, first).supersededAt).toBe(second.sequence);
  });

  test("within one entry", () => {
    const ledger = LedgerHarness.started();
    ledger.runTogether(claim("x"), claim("x", { issuedAt: 1 }), claim("x", { issuedAt: 2, issuer: "other" }));
    const claims = [...ledger.tables.records.claims.values()];
    expect(claims.map(({ sequence, lineage, supersededAt }) => [sequence, lineage, supersededAt])).toEqual([
      [3, 3, 4],
      [4, 3, null],
    ]);
  });
});

describe("taking over a pair", () => {
  /** One claim by `issuer`, and whether it was revoked. */
  function claimed(isRevoked: boolean): LedgerHarness {
    const ledger = LedgerHarness.started();
    const first = ledger.acceptRecord(claim("x"));
    ledger.run(keyCommand("admin", ["write", "admin"]));
    if (isRevoked) ledger.acceptRecord(revocation("claim", first, { by: "issuer" }));
    return ledger;
  }

  test.each<[string, boolean, ClaimOptions, string]>([
    ["the same issuer renews", false, {}, "accepted"],
    ["another issuer does not", false, { issuer: "other" }, "claim_conflict"],
    [
      "another issuer does not with admin either: revoke first",
      false,
      { issuer: "other", credential: ADMIN },
      "claim_conflict",
    ],
    ["after a revocation the same issuer begins anew", true, {}, "accepted"],
    ["after a revocation another issuer does not", true, { issuer: "other" }, "claim_conflict"],
    ["after a revocation another issuer does with admin", true, { issuer: "other", credential: ADMIN }, "accepted"],
  ])("%s", (_, isRevoked, options, code) => {
    const ledger = claimed(isRevoked);
    expect(codeOf(ledger.run(claim("x", { issuedAt: 1, ...options })))).toBe(code);
  });

  test("an expired claim still protects its pair", () => {
    const ledger = LedgerHarness.started();
    ledger.acceptRecord(claim("x", { expiresAt: ledger.clockMs + 15 }));
    ledger.clockMs += 1000;
    expect(codeOf(ledger.run(claim("x", { issuer: "other" })))).toBe("claim_conflict");
  });

  test("revoking a superseded claim does not open the pair", () => {
    const ledger = LedgerHarness.started();
    const first = ledger.acceptRecord(claim("x"));
    const second = ledger.acceptRecord(claim("x", { issuedAt: 1 }));
    ledger.acceptRecord(revocation("claim", first, { by: "issuer" }));
    ledger.run(keyCommand("admin", ["write", "admin"]));
    expect(codeOf(ledger.run(claim("x", { issuer: "other", credential: ADMIN })))).toBe("claim_conflict");
    const third = ledger.acceptRecord(claim("x", { issuedAt: 2 }));
    expect(stored(ledger, third).lineage).toBe(first.sequence);
    expect(stored(ledger, second).supersededAt).toBe(third.sequence);
  });

  test("a revocation and a takeover in one entry, in their order", () => {
    const ledger = claimed(false);
    const [target] = ledger.tables.leaves.slice(-1);
    if (target === undefined) throw new Error("no claim");
    const takeover = claim("x", { issuer: "other", credential: ADMIN });
    const outcomes = ledger.runTogether(takeover, revocation("claim", target, { by: "issuer" }), takeover);
    expect(outcomes.map(codeOf)).toEqual(["claim_conflict", "accepted", "accepted"]);
    const [, taken] = [...ledger.tables.records.claims.values()];
    expect(taken?.lineage).toBe(taken?.sequence);
  });
});
