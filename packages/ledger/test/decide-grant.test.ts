import { describe, expect, test } from "@jest/globals";
import {
  LEAF_KIND,
  ZERO_32,
  decodeLeaf,
  grantPayload,
  toAnchorId,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import { grantContentHash } from "../src/decide/content-hash.ts";
import type { LeafWrite, RecordGrantCommand } from "../src/index.ts";
import { NODE_A, NODE_B, NODE_C, hash, sha256, successor } from "../../../test/worlds/cluster.ts";
import { GrantWorld } from "../../../test/worlds/grant-world.ts";
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
import { claim, grant, revocation } from "../../../test/worlds/signed-records.ts";
import type { GrantOptions } from "../../../test/worlds/signed-records.ts";

describe("checks of a grant, in order of precedence", () => {
  const DAY_MS = 86_400_000;
  const now = LedgerHarness.started().clockMs;
  const window = { notBefore: now - DAY_MS, expiresAt: now + DAY_MS };

  /** Everything that can be wrong; what is right is a grant of Bob to Carol under one of Alice to Bob. */
  class Crowded extends GrantWorld {
    readonly parent: LeafWrite;
    readonly endedParent: LeafWrite;
    readonly endedClaim: LeafWrite;
    readonly event: LeafWrite;

    constructor() {
      super();
      this.ledger.run(keyCommand("reader", ["read", "revoke", "admin"]));
      this.ledger.run({
        kind: "trust_root",
        document: successor([{ node: NODE_A }, { node: NODE_B }, { node: NODE_C, origin: "closed" }]),
      });
      this.event = this.ledger.accept(event("an event"));
      this.parent = this.accept(this.alice, this.bob, window);
      this.endedParent = this.accept(this.dave, this.bob, window);
      this.revoke("grant", this.endedParent);
      this.endedClaim = this.ledger.acceptRecord(claim("erin"));
      this.revoke("claim", this.endedClaim);
    }

    defects(): readonly Defect<GrantOptions, RecordGrantCommand>[] {
      const missing = hash("missing");
      return [
        { code: "api_key_invalid", options: { credential: credentialOf("nobody") } },
        { code: "scope_missing", options: { credential: credentialOf("reader") } },
        {
          code: "origin_unknown",
          pointer: "/origin_fingerprint",
          options: { originFingerprint: toOriginFingerprint(missing) },
        },
        { code: "signature_invalid", pointer: "/grantor_signature", spoil: spoilGrantor },
        { code: "signature_invalid", pointer: "/witness_signature", spoil: spoilWitness },
        {
          code: "origin_closed",
          pointer: "/origin_fingerprint",
          options: { originFingerprint: NODE_C.originFingerprint },
        },
        ...this.#badReferences(missing),
        { code: "issued_in_future", pointer: "/issued_at", options: { issuedAt: now + DAY_MS } },
        { code: "window_invalid", pointer: "/not_before", options: { notBefore: now, expiresAt: now } },
        { code: "window_invalid", pointer: "/expires_at", options: { notBefore: 1, expiresAt: 2 } },
        {
          code: "window_outside_parent",
          pointer: "/not_before",
          options: { notBefore: 1, expiresAt: now + 2 * DAY_MS },
        },
        {
          code: "window_outside_parent",
          pointer: "/expires_at",
          options: { notBefore: 0, expiresAt: now + 2 * DAY_MS },
        },
        ...this.#badState(),
      ];
    }

    #badReferences(missing: Uint8Array): readonly Defect<GrantOptions, RecordGrantCommand>[] {
      return (["grantorClaimRef", "granteeClaimRef", "parentGrantRef"] as const).flatMap((field) => {
        const pointer = { grantorClaimRef: "/grantor_claim_ref", granteeClaimRef: "/grantee_claim_ref" };
        const at = field === "parentGrantRef" ? "/parent_grant_ref" : pointer[field];
        const wrongKind = field === "parentGrantRef" ? this.alice.claim : this.event;
        return [
          { code: "reference_not_found", pointer: at, options: { [field]: missing } },
          { code: "reference_wrong_kind", pointer: at, options: { [field]: wrongKind.anchorId } },
        ];
      });
    }

    #badState(): readonly Defect<GrantOptions, RecordGrantCommand>[] {
      const ended = this.endedClaim.anchorId;
      return [
        { code: "claim_not_in_force", pointer: "/grantor_claim_ref", options: { grantorClaimRef: ended } },
        { code: "claim_not_in_force", pointer: "/grantee_claim_ref", options: { granteeClaimRef: ended } },
        {
          code: "grant_not_in_force",
          pointer: "/parent_grant_ref",
          options: { parentGrantRef: this.endedParent.anchorId },
        },
        { code: "grantor_key_mismatch", pointer: "/grantor_public_key", options: { signedBy: "mallory" } },
        { code: "witness_is_grantor", pointer: "/witness_public_key", options: { witness: "dave" } },
        {
          code: "parent_mismatch",
          pointer: "/parent_grant_ref",
          options: { grantorClaimRef: this.dave.claim.anchorId, signedBy: "dave" },
        },
        { code: "depth_exceeded", pointer: "/delegation_depth", options: { delegationDepth: 3 } },
      ];
    }
  }

  function spoilGrantor(command: RecordGrantCommand): RecordGrantCommand {
    return { ...command, grant: { ...command.grant, grantorSignature: flipped(command.grant.grantorSignature) } };
  }

  function spoilWitness(command: RecordGrantCommand): RecordGrantCommand {
    return { ...command, grant: { ...command.grant, witnessSignature: flipped(command.grant.witnessSignature) } };
  }

  test.each(rowsOf(new Crowded().defects()))("%s", (_, { code, pointer, options, spoil }) => {
    const { ledger, bob, carol, parent } = new Crowded();
    const before = ledger.state.nextSequence;
    const outcome = ledger.run(spoil(grant(bob, carol, { parent, delegationDepth: 2, ...options })));
    expect(codeOf(outcome)).toBe(code);
    const rejection = outcome.kind === "records" ? outcome.records[0] : outcome;
    expect(rejection).toMatchObject(pointer === undefined ? {} : { rejection: { pointer } });
    expect(ledger.state.nextSequence).toBe(before);
  });

  test("without a defect it is accepted", () => {
    const { ledger, bob, carol, parent } = new Crowded();
    expect(codeOf(ledger.run(grant(bob, carol, { parent, delegationDepth: 2 })))).toBe("accepted");
  });
});

describe("what is anchored", () => {
  test("is the grant with its signatures, and what is derived of it", () => {
    const world = new GrantWorld();
    const { ledger, alice, bob, carol } = world;
    const root = world.accept(alice, bob, { notBefore: 5, expiresAt: ledger.clockMs + 1000 });
    const command = grant(bob, carol, { parent: root, delegationDepth: 0 });
    const child = ledger.acceptRecord(command);
    expect(decodeLeaf(child.bytes)).toMatchObject({
      kind: LEAF_KIND.grant,
      sequence: child.sequence,
      ...command.grant,
    });
    expect(world.record(child)).toEqual({
      anchorId: child.anchorId,
      recordedBy: CLIENT_ID,
      originFingerprint: NODE_A.originFingerprint,
      sequence: child.sequence,
      grantorClaim: bob.claim.sequence,
      granteeClaim: carol.claim.sequence,
      grantorLineage: bob.claim.sequence,
      granteeLineage: carol.claim.sequence,
      grantorFingerprint: hash("entity bob"),
      granteeFingerprint: hash("entity carol"),
      parent: root.sequence,
      links: 2,
      delegationDepth: 0,
      notBefore: 5,
      expiresAt: ledger.tables.records.grantAt(root.sequence).expiresAt,
      grantorPublicKey: command.grant.grantorPublicKey,
      witnessPublicKey: command.grant.witnessPublicKey,
      supersededAt: null,
      revokedAt: null,
    });
    expect(world.record(root)).toMatchObject({ parent: null, links: 1, notBefore: 5 });
  });

  test("a grant may be in another origin than what it names", () => {
    const world = new GrantWorld();
    expect(world.code(world.alice, world.bob, { originFingerprint: NODE_B.originFingerprint })).toBe("accepted");
  });
});

describe("idempotency", () => {
  test("the same payload is the same grant, though its claims, its parent and its origin have ended", () => {
    const world = new GrantWorld();
    const { ledger, alice, bob, carol } = world;
    const parent = world.accept(alice, bob);
    const command = grant(bob, carol, { parent, delegationDepth: 1, originFingerprint: NODE_C.originFingerprint });
    const first = ledger.acceptRecord(command);
    world.revoke("grant", parent);
    world.revoke("claim", carol.claim);
    world.revoke("grant", first);
    ledger.run({
      kind: "trust_root",
      document: successor([{ node: NODE_A }, { node: NODE_B }, { node: NODE_C, origin: "closed" }]),
    });
    const { anchorId, originFingerprint, sequence } = first;
    const replay = { status: "replayed", anchorId, originFingerprint, sequence };
    expect(ledger.run(command)).toMatchObject({ records: [replay] });
    expect(world.state(first)).toBe("revoked");
  });

  test("the content is everything that is signed", () => {
    const { alice, bob, carol } = new GrantWorld();
    const { grant: base } = grant(alice, bob);
    expect(grantContentHash(base, sha256)).toEqual(sha256(grantPayload(base)));
    const others: GrantOptions[] = [
      { originFingerprint: NODE_B.originFingerprint },
      { grantorClaimRef: carol.claim.anchorId },
      { granteeClaimRef: carol.claim.anchorId },
      { parentGrantRef: hash("p") },
      { scopeHash: hash("s") },
      { delegationDepth: 2 },
      { issuedAt: 1 },
      { notBefore: 1 },
      { expiresAt: 1 },
      { witness: "another" },
      { signedBy: "another" },
    ];
    for (const other of others)
      expect(grantContentHash(grant(alice, bob, other).grant, sha256)).not.toEqual(grantContentHash(base, sha256));
  });
});

describe("references", () => {
  test("what the same entry appends is not there yet", () => {
    const world = new GrantWorld();
    const { ledger, alice } = world;
    const late = claim("late");
    const entry = ledger.entry([ledger.group(late)]);
    const [leaf] = ledger.decide(entry).writes.leaves;
    if (leaf === undefined) throw new Error("no leaf");
    const both = { ...entry, groups: [ledger.group(late, grant(alice, { name: "late", claim: leaf }))] };
    const [outcome] = ledger.apply(both).outcomes;
    const commands = outcome?.status === "decided" ? outcome.commands : [];
    expect(commands.map(codeOf)).toEqual(["accepted", "reference_not_found"]);
    expect(world.code(alice, { name: "late", claim: leaf })).toBe("accepted");
  });

  test("claims that are not named count for nothing: an empty reference is none", () => {
    const { ledger, alice, bob } = new GrantWorld();
    for (const field of ["grantorClaimRef", "granteeClaimRef"]) {
      const outcome = ledger.run(grant(alice, bob, { [field]: toAnchorId(ZERO_32) }));
      expect(codeOf(outcome)).toBe("reference_not_found");
    }
  });

  test("a superseded claim is not in force: the newest of the lineage has to be named", () => {
    const world = new GrantWorld();
    const { alice, bob } = world;
    const renewed = world.renew(alice);
    expect(world.code(alice, bob)).toBe("claim_not_in_force");
    expect(world.code(bob, alice)).toBe("claim_not_in_force");
    expect(world.code(renewed, bob)).toBe("accepted");
  });

  test("an expired claim is not in force from its time on", () => {
    const world = new GrantWorld();
    const { ledger, bob } = world;
    const expiresAt = ledger.clockMs + 1000;
    const frank = { name: "frank", claim: ledger.acceptRecord(claim("frank", { expiresAt })) };
    ledger.clockMs = expiresAt - 11;
    expect(world.code(frank, bob, { issuedAt: 1 })).toBe("accepted");
    expect(world.code(frank, bob, { issuedAt: 2 })).toBe("claim_not_in_force");
  });

  test("what another command of the entry has ended is ended", () => {
    const world = new GrantWorld();
    const { ledger, alice, bob } = world;
    const end = revocation("claim", alice.claim, { by: "issuer" });
    const outcomes = ledger.runTogether(grant(alice, bob), end, grant(alice, bob, { issuedAt: 1 }));
    expect(outcomes.map(codeOf)).toEqual(["accepted", "accepted", "claim_not_in_force"]);
  });
});

describe("windows", () => {
  const at = LedgerHarness.started().clockMs;
  const parentWindow = { notBefore: at - 1000, expiresAt: at + 100_000 };

  test.each<[string, GrantOptions, string]>([
    ["none of its own", {}, "accepted"],
    ["exactly the parent's", parentWindow, "accepted"],
    ["beginning a millisecond early", { notBefore: parentWindow.notBefore - 1 }, "window_outside_parent"],
    ["ending a millisecond late", { expiresAt: parentWindow.expiresAt + 1 }, "window_outside_parent"],
    ["beginning as the parent ends", { notBefore: parentWindow.expiresAt }, "window_outside_parent"],
    ["beginning a millisecond before the parent ends", { notBefore: parentWindow.expiresAt - 1 }, "accepted"],
    ["beginning and ending at once", { notBefore: at + 500, expiresAt: at + 500 }, "window_invalid"],
    ["a window of one millisecond", { notBefore: at + 5000, expiresAt: at + 5001 }, "accepted"],
  ])("under a parent: %s", (_, options, code) => {
    const world = new GrantWorld();
    const parent = world.accept(world.alice, world.bob, parentWindow);
    expect(world.code(world.bob, world.carol, { parent, delegationDepth: 0, ...options })).toBe(code);
  });

  test("a bound that the parent has inherited binds as one of its own", () => {
    const world = new GrantWorld();
    const { alice, bob, carol, dave } = world;
    const root = world.accept(alice, bob, { ...parentWindow, delegationDepth: 3 });
    const middle = world.accept(bob, carol, { parent: root, delegationDepth: 2 });
    const beyond = { parent: middle, delegationDepth: 1, expiresAt: parentWindow.expiresAt + 1 };
    expect(world.code(carol, dave, beyond)).toBe("window_outside_parent");
    const inside = world.accept(carol, dave, { parent: middle, delegationDepth: 1, expiresAt: at + 50_000 });
    expect(world.record(inside)).toMatchObject({ notBefore: parentWindow.notBefore, expiresAt: at + 50_000, links: 3 });
  });

  test("an end before the parent begins leaves nothing", () => {
    const world = new GrantWorld();
    const later = { notBefore: at + 50_000, expiresAt: at + 100_000 };
    const parent = world.accept(world.alice, world.bob, later);
    const options = { parent, delegationDepth: 0, expiresAt: later.notBefore };
    expect(world.code(world.bob, world.carol, options)).toBe("window_outside_parent");
  });

  test("nothing is granted under a parent whose window has not begun, or is over", () => {
    const world = new GrantWorld();
    const { ledger, alice, bob, carol } = world;
    const parent = world.accept(alice, bob, { notBefore: ledger.clockMs + 1000, expiresAt: ledger.clockMs + 2000 });
    const child = { parent, delegationDepth: 0 };
    ledger.clockMs += 979;
    expect(world.code(bob, carol, child)).toBe("grant_not_in_force");
    ledger.clockMs -= 10;
    expect(world.code(bob, carol, child)).toBe("grant_not_in_force");
    expect(world.code(bob, carol, child)).toBe("accepted");
    ledger.clockMs += 1000;
    expect(world.code(bob, carol, { ...child, issuedAt: 1 })).toBe("grant_not_in_force");
  });
});
