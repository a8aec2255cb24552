import { describe, expect, test } from "@jest/globals";
import {
  LEAF_KIND,
  REVOCATION_AUTHORITIES,
  REVOCATION_REASONS,
  concatBytes,
  decodeLeaf,
  clientRevoker,
  revocationPayload,
  toAnchorId,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import type { OriginStatus } from "@event-anchoring/protocol";
import { SCOPES, contentHashOfRecord } from "../src/index.ts";
import type { Credential, LeafWrite, RecordRevocationCommand } from "../src/index.ts";
import { NODE_A, NODE_B, NODE_C, hash, sha256, successor } from "../../../test/worlds/cluster.ts";
import { GrantWorld } from "../../../test/worlds/grant-world.ts";
import { CLIENT_ID, CREDENTIAL, codeOf, credentialOf, event, keyCommand } from "../../../test/worlds/ledger-harness.ts";
import { flipped, rowsOf } from "../../../test/worlds/precedence.ts";
import type { Defect } from "../../../test/worlds/precedence.ts";
import { claim, person, revocation } from "../../../test/worlds/signed-records.ts";
import type { RevocationOptions } from "../../../test/worlds/signed-records.ts";

/** A key of the API client that has recorded everything, for revoking. */
const OWN = { apiClientId: CLIENT_ID, keyId: credentialOf("own").keyId };
/** A key of another API client that may do whatever a key may do. */
const STRANGER = credentialOf("stranger");
const onA = NODE_A.originFingerprint;
const onB = NODE_B.originFingerprint;
const onC = NODE_C.originFingerprint;

/** Keys of every sort, a grant, an event, and two claims in origin C, which comes to an end. */
class World extends GrantWorld {
  readonly given: LeafWrite;
  readonly event: LeafWrite;
  readonly onC: LeafWrite;

  constructor(statusOfC: OriginStatus = "active") {
    super();
    const { ledger } = this;
    ledger.run(keyCommand("own", ["revoke"], { apiClientId: CLIENT_ID }));
    ledger.run(keyCommand("stranger", SCOPES));
    ledger.run(keyCommand("reader", ["read", "admin"]));
    this.given = this.accept(this.alice, this.bob);
    this.event = ledger.accept(event("an event"));
    this.onC = ledger.acceptRecord(claim("carl", { originFingerprint: onC }));
    if (statusOfC !== "active") this.end(statusOfC);
  }

  /** Origin C is moved to another status. */
  end(origin: OriginStatus): void {
    this.ledger.run({
      kind: "trust_root",
      document: successor([{ node: NODE_A }, { node: NODE_B }, { node: NODE_C, origin, status: "retired" }]),
    });
  }

  revocationCode(kind: "claim" | "grant", target: LeafWrite, options: RevocationOptions = {}): string {
    return codeOf(this.ledger.run(revocation(kind, target, options)));
  }
}

describe("checks of a revocation, in order of precedence", () => {
  const nowhere = toOriginFingerprint(hash("nowhere"));
  type RevocationDefect = Defect<RevocationOptions, RecordRevocationCommand>;

  function aim(target: Uint8Array): (command: RecordRevocationCommand) => RecordRevocationCommand {
    return (command) => ({
      ...command,
      revocation: { ...command.revocation, targetAnchorId: toAnchorId(target) },
    });
  }

  /** The claim of Carl is in origin C, which is lost: the named origin counts. */
  function defects(world: World): readonly RevocationDefect[] {
    return [
      { code: "api_key_invalid", options: { credential: credentialOf("nobody") } },
      { code: "scope_missing", options: { credential: credentialOf("reader") } },
      { code: "reference_not_found", pointer: "/anchor_id", spoil: aim(hash("missing")) },
      { code: "reference_wrong_kind", pointer: "/anchor_id", spoil: aim(world.event.anchorId) },
      { code: "origin_unknown", pointer: "/origin_fingerprint", options: { originFingerprint: nowhere } },
      { code: "origin_mismatch", pointer: "/origin_fingerprint", options: { targetOriginFingerprint: onB } },
      { code: "signature_invalid", pointer: "/revoker_public_key", options: { by: "alice" } },
      { code: "signature_invalid", pointer: "/revoker_signature", spoil: spoilSignature },
      { code: "origin_closed", pointer: "/origin_fingerprint", options: { originFingerprint: null } },
      { code: "issued_in_future", pointer: "/issued_at", options: { issuedAt: 2 ** 53 - 1 } },
    ];
  }

  function spoilSignature(command: RecordRevocationCommand): RecordRevocationCommand {
    const { signer } = command.revocation;
    if (signer === null) throw new Error("nobody has signed");
    const spoiled = { ...signer, signature: flipped(signer.signature) };
    return { ...command, revocation: { ...command.revocation, signer: spoiled } };
  }

  test.each(rowsOf(defects(new World("lost"))))("%s", (_, { code, pointer, options, spoil }) => {
    const { ledger, onC: target } = new World("lost");
    const before = ledger.state.nextSequence;
    const good = { by: "carl", originFingerprint: onA };
    const outcome = ledger.run(spoil(revocation("claim", target, { ...good, ...options })));
    expect(codeOf(outcome)).toBe(code);
    const rejection = outcome.kind === "records" ? outcome.records[0] : outcome;
    expect(rejection).toMatchObject(pointer === undefined ? {} : { rejection: { pointer } });
    expect(ledger.state.nextSequence).toBe(before);
  });

  /** As a client that no party helps: what is in the place of signatures is whose record it is. */
  function unsignedDefects(world: World): readonly RevocationDefect[] {
    return [
      ...defects(world).slice(0, 6),
      { code: "not_own_record", pointer: "/anchor_id", options: { credential: STRANGER } },
      ...defects(world).slice(8),
    ];
  }

  test.each(rowsOf(unsignedDefects(new World("lost"))))("unsigned, %s", (_, { code, pointer, options, spoil }) => {
    const { ledger, onC: target } = new World("lost");
    const before = ledger.state.nextSequence;
    const good = { credential: OWN, originFingerprint: onA };
    const outcome = ledger.run(spoil(revocation("claim", target, { ...good, ...options })));
    expect(codeOf(outcome)).toBe(code);
    const rejection = outcome.kind === "records" ? outcome.records[0] : outcome;
    expect(rejection).toMatchObject(pointer === undefined ? {} : { rejection: { pointer } });
    expect(ledger.state.nextSequence).toBe(before);
  });

  test("a stranger is refused before it is said that the same was revoked already", () => {
    const { ledger, alice } = new World();
    const first = revocation("claim", alice.claim, { credential: OWN });
    expect(codeOf(ledger.run(first))).toBe("accepted");
    expect(codeOf(ledger.run(first))).toBe("replayed");
    expect(codeOf(ledger.run({ ...first, credential: STRANGER }))).toBe("not_own_record");
  });

  test("without a defect it is accepted", () => {
    const { ledger, onC: target } = new World("lost");
    expect(codeOf(ledger.run(revocation("claim", target, { by: "carl", originFingerprint: onA })))).toBe("accepted");
  });
});

describe("who may revoke", () => {
  test.each<[string, "claim" | "grant", string | undefined, Credential, string]>([
    ["the issuer", "claim", "issuer", CREDENTIAL, "issuer"],
    ["the subject", "claim", "alice", CREDENTIAL, "subject"],
    ["the grantor", "grant", "alice", CREDENTIAL, "grantor"],
    ["the witness", "grant", "witness", CREDENTIAL, "witness"],
    ["the API client that recorded it", "claim", undefined, OWN, "operator"],
    ["the API client that recorded it, a grant", "grant", undefined, OWN, "operator"],
    ["a party by a key that may only revoke", "grant", "alice", OWN, "grantor"],
    ["a party by a key of another API client", "claim", "alice", STRANGER, "subject"],
  ])("%s", (_, kind, by, credential, authority) => {
    const world = new World();
    const target = kind === "claim" ? world.alice.claim : world.given;
    const options = { credential, ...(by === undefined ? {} : { by }) };
    const leaf = decodeLeaf(world.ledger.acceptRecord(revocation(kind, target, options)).bytes);
    if (leaf.kind !== LEAF_KIND.revocation) throw new Error("no revocation");
    expect(REVOCATION_AUTHORITIES[leaf.authority]).toBe(authority);
    const { apiClientId } = credential;
    expect(leaf.revoker).toEqual(by === undefined ? clientRevoker(apiClientId, sha256) : person(by).publicKey);
    expect(leaf.signature.some((byte) => byte !== 0)).toBe(by !== undefined);
  });

  test.each<[string, "claim" | "grant", RevocationOptions, string]>([
    ["a key without the scope revoke, unsigned", "claim", {}, "scope_missing"],
    ["another API client with every scope, unsigned", "claim", { credential: STRANGER }, "not_own_record"],
    ["another API client with every scope, unsigned, a grant", "grant", { credential: STRANGER }, "not_own_record"],
    ["a stranger", "claim", { by: "mallory" }, "signature_invalid"],
    ["the grantee of a grant", "grant", { by: "bob" }, "signature_invalid"],
    ["the issuer of the grantor's claim", "grant", { by: "issuer" }, "signature_invalid"],
    ["the witness of a grant by the claim that it stands on", "claim", { by: "witness" }, "signature_invalid"],
    [
      "the API client that recorded it with a stranger's signature",
      "claim",
      { by: "mallory", credential: OWN },
      "signature_invalid",
    ],
  ])("not %s", (_, kind, options, code) => {
    const world = new World();
    expect(world.revocationCode(kind, kind === "claim" ? world.alice.claim : world.given, options)).toBe(code);
  });

  test("a subject who issued the claim to itself is recorded as its issuer", () => {
    const world = new World();
    const own = world.ledger.acceptRecord(claim("self", { issuer: "self" }));
    const leaf = decodeLeaf(world.ledger.acceptRecord(revocation("claim", own, { by: "self" })).bytes);
    expect(leaf).toMatchObject({ authority: REVOCATION_AUTHORITIES.indexOf("issuer") });
  });
});

describe("what is signed", () => {
  test.each<[string, RevocationOptions]>([
    ["another origin than the target's", { signedOrigin: onB }],
    ["another cluster's origin", { signedOrigin: toOriginFingerprint(hash("another cluster's origin")) }],
  ])("not over %s", (_, options) => {
    const world = new World();
    expect(world.revocationCode("claim", world.alice.claim, { by: "alice", ...options })).toBe("signature_invalid");
  });

  test.each<[string, Partial<RecordRevocationCommand["revocation"]>]>([
    ["reason", { reason: 1 }],
    ["suspect_since", { suspectSince: 1 }],
    ["issued_at", { issuedAt: 1 }],
  ])("every field: another %s makes the signature bad", (_, change) => {
    const world = new World();
    const command = revocation("claim", world.alice.claim, { by: "alice" });
    const changed = { ...command, revocation: { ...command.revocation, ...change } };
    expect(codeOf(world.ledger.run(changed))).toBe("signature_invalid");
  });

  test("a signature for one target does not revoke another", () => {
    const world = new World();
    const { signer } = revocation("claim", world.alice.claim, { by: "issuer" }).revocation;
    const command = revocation("claim", world.bob.claim, { by: "issuer" });
    expect(codeOf(world.ledger.run({ ...command, revocation: { ...command.revocation, signer } }))).toBe(
      "signature_invalid",
    );
  });
});

describe("where it goes", () => {
  test.each<[string, OriginStatus, RevocationOptions, string]>([
    ["into the target's origin", "active", {}, "accepted"],
    ["which may be named", "active", { originFingerprint: onC }, "accepted"],
    ["and no other one", "active", { originFingerprint: onA }, "origin_mismatch"],
    ["also once it is closed", "closed", {}, "accepted"],
    ["also once it is closed and named", "closed", { originFingerprint: onC }, "accepted"],
    ["and still no other one", "closed", { originFingerprint: onA }, "origin_mismatch"],
    ["not into a lost one", "lost", {}, "origin_closed"],
    ["not even if it is named", "lost", { originFingerprint: onC }, "origin_closed"],
    ["but into an active one that is named", "lost", { originFingerprint: onB }, "accepted"],
  ])("%s", (_, status, options, code) => {
    const world = new World(status);
    const command = revocation("claim", world.onC, { by: "carl", ...options });
    expect(codeOf(world.ledger.run(command))).toBe(code);
    if (code !== "accepted") return;
    const last = world.ledger.tables.leaves.at(-1);
    expect(last?.originFingerprint).toEqual(status === "lost" ? onB : onC);
    expect(world.claimState(world.onC)).toBe("revoked");
  });

  test("not into a closed origin for a target in a lost one", () => {
    const world = new GrantWorld();
    const target = world.ledger.acceptRecord(claim("carl", { originFingerprint: onC }));
    const members = [{ node: NODE_A }, { node: NODE_B, origin: "closed" as const }];
    world.ledger.run({
      kind: "trust_root",
      document: successor([...members, { node: NODE_C, origin: "lost", status: "retired" }]),
    });
    const command = revocation("claim", target, { by: "carl", originFingerprint: onB });
    expect(codeOf(world.ledger.run(command))).toBe("origin_closed");
  });
});

describe("what it does", () => {
  test("the leaf says everything, and the target ends at its sequence", () => {
    const world = new World();
    const { alice, ledger } = world;
    const write = ledger.acceptRecord(
      revocation("claim", alice.claim, { by: "alice", reason: 1, suspectSince: 7, issuedAt: 9 }),
    );
    expect(decodeLeaf(write.bytes)).toMatchObject({
      kind: LEAF_KIND.revocation,
      originFingerprint: onA,
      targetAnchorId: alice.claim.anchorId,
      reason: REVOCATION_REASONS.indexOf("key_compromise"),
      suspectSince: 7,
      issuedAt: 9,
    });
    expect(world.claimRecord(alice.claim).revokedAt).toBe(write.sequence);
    expect(ledger.tables.records.revocations).toEqual([{ sequence: write.sequence, target: alice.claim.sequence }]);
  });

  test("any state may be revoked: superseded, expired, revoked; the first one decides", () => {
    const world = new World();
    const { ledger, alice } = world;
    world.renew(alice);
    const first = ledger.acceptRecord(revocation("claim", alice.claim, { by: "alice" }));
    const second = ledger.acceptRecord(revocation("claim", alice.claim, { by: "issuer", reason: 1 }));
    expect(world.claimRecord(alice.claim)).toMatchObject({ revokedAt: first.sequence });
    expect(world.claimRecord(alice.claim).supersededAt).not.toBeNull();
    expect(ledger.tables.records.revocations.map(({ sequence }) => sequence)).toEqual([
      first.sequence,
      second.sequence,
    ]);
    const short = ledger.acceptRecord(claim("short", { expiresAt: ledger.clockMs + 15 }));
    ledger.clockMs += 1000;
    expect(world.claimState(short)).toBe("expired");
    ledger.acceptRecord(revocation("claim", short, { by: "short" }));
    expect(world.claimState(short)).toBe("revoked");
  });

  test("two in one entry: the earlier one decides", () => {
    const world = new World();
    const { ledger, alice } = world;
    const byBoth = ["alice", "issuer"].map((by) => revocation("claim", alice.claim, { by }));
    expect(ledger.runTogether(...byBoth).map(codeOf)).toEqual(["accepted", "accepted"]);
    const [first] = ledger.tables.records.revocations;
    expect(world.claimRecord(alice.claim).revokedAt).toBe(first?.sequence);
  });

  test("its target stood in the ledger before its entry", () => {
    const { ledger } = new World();
    const late = claim("late");
    const entry = ledger.entry([ledger.group(late)]);
    const [leaf] = ledger.decide(entry).writes.leaves;
    if (leaf === undefined) throw new Error("no leaf");
    const [outcome] = ledger.apply({
      ...entry,
      groups: [ledger.group(late, revocation("claim", leaf, { by: "late" }))],
    }).outcomes;
    const commands = outcome?.status === "decided" ? outcome.commands : [];
    expect(commands.map(codeOf)).toEqual(["accepted", "reference_not_found"]);
  });

  test("a target is of the kind of the route", () => {
    const world = new World();
    expect(world.revocationCode("grant", world.alice.claim, { by: "alice" })).toBe("reference_wrong_kind");
    expect(world.revocationCode("claim", world.given, { by: "alice" })).toBe("reference_wrong_kind");
  });
});

describe("idempotency", () => {
  test("the same revocation by the same revoker is one record, also once its origin is lost", () => {
    const world = new World();
    const command = revocation("claim", world.onC, { by: "carl" });
    const first = world.ledger.acceptRecord(command);
    const { anchorId, originFingerprint, sequence } = first;
    const replay = { status: "replayed", anchorId, originFingerprint, sequence };
    expect(world.ledger.run(command)).toMatchObject({ records: [replay] });
    world.end("lost");
    expect(world.ledger.run(command)).toMatchObject({ records: [replay] });
  });

  test.each<[string, RevocationOptions]>([
    ["another reason", { by: "alice", reason: 2 }],
    ["another suspect_since", { by: "alice", suspectSince: 2 }],
    ["another issued_at", { by: "alice", issuedAt: 2 }],
    ["another signer", { by: "issuer" }],
    ["no signer", { credential: OWN }],
  ])("%s is another record", (_, options) => {
    const world = new World();
    world.ledger.acceptRecord(revocation("claim", world.alice.claim, { by: "alice" }));
    expect(world.revocationCode("claim", world.alice.claim, options)).toBe("accepted");
  });

  test("who revokes unsigned is the API client, not its key", () => {
    const world = new World();
    const { ledger, alice } = world;
    ledger.run({ kind: "revoke_api_key", keyId: CREDENTIAL.keyId });
    ledger.run(keyCommand("second", ["revoke"], { apiClientId: CLIENT_ID }));
    ledger.acceptRecord(revocation("claim", alice.claim, { credential: OWN }));
    const second = { ...OWN, keyId: credentialOf("second").keyId };
    expect(world.revocationCode("claim", alice.claim, { credential: second })).toBe("replayed");
  });

  test("its content hash is made of what the leaf and its target say", () => {
    const world = new World();
    const { ledger, alice } = world;
    const command = revocation("claim", alice.claim, { by: "alice", reason: 1 });
    const write = ledger.acceptRecord(command);
    const leaf = decodeLeaf(write.bytes);
    if (leaf.kind !== LEAF_KIND.revocation) throw new Error("no revocation");
    const payload = revocationPayload({ ...command.revocation, originFingerprint: onA });
    const expected = sha256(concatBytes(payload, Uint8Array.of(1), person("alice").publicKey));
    const book = { find: () => ({ originFingerprint: onA }) };
    expect(contentHashOfRecord(leaf, book, sha256)).toEqual(expected);
    expect(contentHashOfRecord(leaf, { find: () => null }, sha256)).toBeNull();
    const stored = [...ledger.tables.contents.values()].find(({ sequence }) => sequence === write.sequence);
    expect(stored).toMatchObject({ contentHash: expected, anchorId: write.anchorId });
  });
});
