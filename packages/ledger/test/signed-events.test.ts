/** Events of kind 6, and references from events to claims and grants. */
import { describe, expect, test } from "@jest/globals";
import { LEAF_KIND, decodeLeaf, toOriginFingerprint } from "@event-anchoring/protocol";
import { eventContentHash } from "../src/index.ts";
import type { EventInput, LeafWrite } from "../src/index.ts";
import { NODE_A, NODE_B, NODE_C, hash, sha256, successor } from "../../../test/worlds/cluster.ts";
import { GrantWorld } from "../../../test/worlds/grant-world.ts";
import { LedgerHarness, codeOf, event, record } from "../../../test/worlds/ledger-harness.ts";
import { flipped, rowsOf } from "../../../test/worlds/precedence.ts";
import type { Defect } from "../../../test/worlds/precedence.ts";
import { acting, claim, person, revocation, signedEvent } from "../../../test/worlds/signed-records.ts";

/** Origin C is closed; a client event id is used; Alice grants to Bob. */
class World extends GrantWorld {
  readonly given: LeafWrite;

  constructor() {
    super();
    this.ledger.accept(event("first", { clientEventId: "used" }));
    this.given = this.accept(this.alice, this.bob);
    this.ledger.run({
      kind: "trust_root",
      document: successor([{ node: NODE_A }, { node: NODE_B }, { node: NODE_C, origin: "closed" }]),
    });
  }
}

describe("checks of a signed event, in order of precedence", () => {
  const defects: readonly Defect<EventInput, EventInput>[] = [
    {
      code: "origin_unknown",
      pointer: "/origin_fingerprint",
      options: { originFingerprint: toOriginFingerprint(hash("nowhere")) },
    },
    { code: "signature_invalid", pointer: "/actor_signature", spoil: spoilActor },
    { code: "client_event_id_conflict", pointer: "/client_event_id", options: { clientEventId: "used" } },
    { code: "origin_closed", pointer: "/origin_fingerprint", options: { originFingerprint: NODE_C.originFingerprint } },
    {
      code: "reference_not_found",
      pointer: "/semantic_anchor/iris_ref",
      options: { semanticAnchor: { ...acting(null, null), irisRef: hash("missing"), grantRef: hash("missing") } },
    },
    {
      code: "reference_not_found",
      pointer: "/semantic_anchor/grant_ref",
      options: { semanticAnchor: { ...acting(null, null), grantRef: hash("missing") } },
    },
  ];

  function spoilActor(input: EventInput): EventInput {
    if (input.actor === null) throw new Error("nobody has signed");
    return { ...input, actor: { ...input.actor, signature: flipped(input.actor.signature) } };
  }

  test.each(rowsOf(defects))("%s", (_, { code, pointer, options, spoil }) => {
    const { ledger } = new World();
    const before = ledger.state.nextSequence;
    expect(ledger.runEvent(spoil(signedEvent("x", "bob", options)))).toMatchObject({
      status: "rejected",
      rejection: { code, pointer },
    });
    expect(ledger.state.nextSequence).toBe(before);
  });

  test("without a defect it is accepted, and says who acted", () => {
    const { ledger, bob, given } = new World();
    const input = signedEvent("x", "bob", { clientEventId: "new", semanticAnchor: acting(bob.claim, given) });
    const leaf = decodeLeaf(ledger.accept(input).bytes);
    expect(leaf).toMatchObject({
      kind: LEAF_KIND.signedEvent,
      eventHash: hash("x"),
      semanticAnchor: input.semanticAnchor,
      actorPublicKey: person("bob").publicKey,
      actorSignature: input.actor?.signature,
    });
    if (leaf.kind !== LEAF_KIND.signedEvent) throw new Error("not signed");
    const fact = [...ledger.tables.clientEvents.values()].at(-1);
    expect(fact?.contentHash).toEqual(eventContentHash(leaf, sha256));
  });

  test("whether the actor is who the claim says is recorded, not required", () => {
    const { ledger, bob, given } = new World();
    const input = signedEvent("x", "mallory", { semanticAnchor: acting(bob.claim, given) });
    expect(codeOf(ledger.runEvent(input))).toBe("accepted");
  });
});

describe("what the actor signs", () => {
  test.each<[string, Partial<EventInput>]>([
    ["origin", { originFingerprint: NODE_B.originFingerprint }],
    ["event hash", { eventHash: hash("another") }],
    ["references", { semanticAnchor: { ...acting(null, null), eventDataHash: hash("another") } }],
  ])("another %s makes the signature bad", (_, change) => {
    const { ledger } = new World();
    expect(codeOf(ledger.runEvent({ ...signedEvent("x", "bob"), ...change }))).toBe("signature_invalid");
  });

  test("neither the client event id nor its salt", () => {
    const { ledger } = new World();
    const named = { ...signedEvent("x", "bob"), clientEventId: "id", clientEventSalt: hash("salt") };
    expect(codeOf(ledger.runEvent(named))).toBe("accepted");
  });

  test("one bad signature refuses its item, and an atomic batch", () => {
    const { ledger } = new World();
    const bad = { ...signedEvent("x", "bob"), eventHash: hash("another") };
    const batch = [signedEvent("y", "bob"), bad];
    expect(ledger.run(record(batch, { atomic: true }))).toMatchObject({
      refused: true,
      records: [{ rejection: { code: "batch_refused" } }, { rejection: { code: "signature_invalid" } }],
    });
    expect(ledger.run(record(batch))).toMatchObject({
      records: [{ status: "accepted" }, { rejection: { code: "signature_invalid" } }],
    });
  });
});

describe("idempotency", () => {
  const named = { clientEventId: "id" };

  test.each<[string, EventInput, EventInput, string]>([
    ["the same actor", signedEvent("x", "bob", named), signedEvent("x", "bob", named), "replayed"],
    ["another actor", signedEvent("x", "bob", named), signedEvent("x", "alice", named), "client_event_id_conflict"],
    ["signed, then unsigned", signedEvent("x", "bob", named), event("x", named), "client_event_id_conflict"],
    ["unsigned, then signed", event("x", named), signedEvent("x", "bob", named), "client_event_id_conflict"],
    [
      "the same, signed for another origin",
      signedEvent("x", "bob", named),
      signedEvent("x", "bob", { ...named, originFingerprint: NODE_B.originFingerprint }),
      "replayed",
    ],
  ])("%s", (_, first, second, code) => {
    const { ledger } = new World();
    ledger.accept(first);
    expect(codeOf(ledger.runEvent(second))).toBe(code);
  });

  test("a bad signature does not replay", () => {
    const { ledger } = new World();
    const first = signedEvent("x", "bob", named);
    ledger.accept(first);
    const actor = { publicKey: person("bob").publicKey, signature: person("bob").sign(hash("something else")) };
    expect(codeOf(ledger.runEvent({ ...first, actor }))).toBe("signature_invalid");
  });
});

describe("events by what they name", () => {
  test("an event may name a claim of an earlier command of its entry", () => {
    const ledger = LedgerHarness.started();
    const late = claim("late");
    const entry = ledger.entry([ledger.group(late)]);
    const [leaf] = ledger.decide(entry).writes.leaves;
    if (leaf === undefined) throw new Error("no leaf");
    const acts = record([event("x", { semanticAnchor: acting(leaf, null) })]);
    const { writes } = ledger.apply({ ...entry, groups: [ledger.group(late, acts)] });
    expect(writes.leaves.map(({ kind }) => kind)).toEqual([LEAF_KIND.claim, LEAF_KIND.event]);
  });

  test("an unauthorised act is recorded too: a revoked claim, and a grant that has ended", () => {
    const { ledger, bob, given } = new World();
    ledger.acceptRecord(revocation("claim", bob.claim, { by: "bob" }));
    expect(codeOf(ledger.runEvent(event("x", { semanticAnchor: acting(bob.claim, given) })))).toBe("accepted");
  });

  test.each<[string, (world: World) => EventInput["semanticAnchor"], string]>([
    ["a grant as iris", ({ given }) => acting(given, null), "/semantic_anchor/iris_ref"],
    ["a claim as grant", ({ bob }) => acting(null, bob.claim), "/semantic_anchor/grant_ref"],
  ])("%s is of the wrong kind", (_, anchorOf, pointer) => {
    const world = new World();
    expect(world.ledger.runEvent(event("x", { semanticAnchor: anchorOf(world) }))).toMatchObject({
      rejection: { code: "reference_wrong_kind", pointer },
    });
  });
});
