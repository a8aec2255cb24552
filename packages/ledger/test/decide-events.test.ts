import { describe, expect, test } from "@jest/globals";
import {
  EMPTY_SEMANTIC_ANCHOR,
  LEAF_KIND,
  bytesToHex,
  clientEventCommit,
  decodeLeaf,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import type { SemanticAnchor } from "@event-anchoring/protocol";
import { advance } from "../src/index.ts";
import type { Command, CommandOutcome, EventInput, RecordOutcome } from "../src/index.ts";
import { GENESIS_DOCUMENT, NODE_A, NODE_B, NODE_C, hash, sha256, successor } from "../../../test/worlds/cluster.ts";
import {
  CREATE_KEY,
  CREDENTIAL,
  LedgerHarness,
  codeOf,
  credentialOf,
  event,
  keyCommand,
  record,
} from "../../../test/worlds/ledger-harness.ts";

const UNKNOWN_ORIGIN = toOriginFingerprint(hash("unknown origin"));

function refs(references: Partial<SemanticAnchor>): SemanticAnchor {
  return { ...EMPTY_SEMANTIC_ANCHOR, ...references };
}

function itemsOf(outcome: CommandOutcome): readonly RecordOutcome[] {
  if (outcome.kind !== "records") throw new Error(`the batch is ${outcome.kind}`);
  return outcome.records;
}

/** Origin A with an event under the id `used`; origin C closed; an expired key, and one that may only read. */
function crowded(): LedgerHarness {
  const ledger = LedgerHarness.started();
  ledger.accept(event("first", { clientEventId: "used" }));
  ledger.accept(event("on c", { originFingerprint: NODE_C.originFingerprint, clientEventId: "used-on-c" }));
  ledger.run(keyCommand("reader", ["read"]));
  ledger.run(keyCommand("short", ["write"], { expiresMs: ledger.clockMs + 15 }));
  const closed = [{ node: NODE_A }, { node: NODE_B }, { node: NODE_C, origin: "closed" as const }];
  ledger.run({ kind: "trust_root", document: successor(closed) });
  return ledger;
}

describe("checks of an event, in order of precedence", () => {
  const everythingWrong: Partial<EventInput> = {
    originFingerprint: UNKNOWN_ORIGIN,
    clientEventId: "used",
    semanticAnchor: refs({ irisRef: hash("nowhere"), grantRef: hash("nowhere") }),
  };

  test.each([
    ["unknown key", { apiClientId: CREDENTIAL.apiClientId, keyId: hash("none").slice(0, 16) }, "api_key_invalid"],
    ["another client's key", { apiClientId: hash("x").slice(0, 16), keyId: CREDENTIAL.keyId }, "api_key_invalid"],
    ["expired key", credentialOf("short"), "api_key_invalid"],
    ["key without scope", credentialOf("reader"), "scope_missing"],
  ])("%s: the whole command, before anything else", (_, credential, code) => {
    const ledger = crowded();
    const before = ledger.state.nextSequence;
    expect(codeOf(ledger.run(record([event("x", everythingWrong)], { credential })))).toBe(code);
    expect(ledger.state.nextSequence).toBe(before);
  });

  test.each<[string, Partial<EventInput>, string, string | undefined]>([
    ["unknown origin, and all else wrong", everythingWrong, "origin_unknown", "/origin_fingerprint"],
    [
      "conflict before a closed origin and references",
      { ...everythingWrong, originFingerprint: NODE_C.originFingerprint },
      "client_event_id_conflict",
      "/client_event_id",
    ],
    [
      "closed origin before references",
      { ...everythingWrong, originFingerprint: NODE_C.originFingerprint, clientEventId: null },
      "origin_closed",
      "/origin_fingerprint",
    ],
    [
      "first reference that is missing, though a later one has the wrong kind",
      { semanticAnchor: refs({ scrollRef: hash("nowhere"), grantRef: hash("first id") }) },
      "reference_not_found",
      "/semantic_anchor/scroll_ref",
    ],
    [
      "last reference",
      { semanticAnchor: refs({ yieldRef: hash("nowhere") }) },
      "reference_not_found",
      "/semantic_anchor/yield_ref",
    ],
  ])("%s", (_, more, code, pointer) => {
    const ledger = crowded();
    const outcome = ledger.runEvent(event("x", more));
    expect(outcome).toMatchObject({ status: "rejected", rejection: { code, pointer } });
  });

  test("a reference of the wrong kind, in field order", () => {
    const ledger = crowded();
    const { anchorId } = ledger.accept(event("target"));
    const both = refs({ irisRef: anchorId, scrollRef: hash("nowhere") });
    expect(ledger.runEvent(event("x", { semanticAnchor: both }))).toMatchObject({
      rejection: { code: "reference_wrong_kind", pointer: "/semantic_anchor/iris_ref" },
    });
    expect(ledger.runEvent(event("x", { semanticAnchor: refs({ grantRef: anchorId }) }))).toMatchObject({
      rejection: { code: "reference_wrong_kind", pointer: "/semantic_anchor/grant_ref" },
    });
  });

  test("scroll, bond and yield may name an anchor of any kind, and event_data_hash is no reference", () => {
    const ledger = crowded();
    const { anchorId } = ledger.accept(event("target"));
    const anchor = refs({ scrollRef: anchorId, bondRef: anchorId, yieldRef: anchorId, eventDataHash: hash("other") });
    expect(codeOf(ledger.runEvent(event("x", { semanticAnchor: anchor })))).toBe("accepted");
  });

  test("a replay succeeds after its origin was closed", () => {
    const ledger = crowded();
    const again = event("on c", { originFingerprint: NODE_C.originFingerprint, clientEventId: "used-on-c" });
    expect(codeOf(ledger.runEvent(again))).toBe("replayed");
  });

  test("a key that expires is powerless from its time on, by the entry's time", () => {
    const ledger = LedgerHarness.started();
    const expiresMs = ledger.clockMs + 25;
    ledger.run(keyCommand("short", ["write"], { expiresMs }));
    const credential = credentialOf("short");
    expect(codeOf(ledger.run(record([event("in time")], { credential })))).toBe("accepted");
    expect(ledger.clockMs).toBeLessThan(expiresMs);
    ledger.clockMs = expiresMs - 10;
    expect(codeOf(ledger.run(record([event("late")], { credential })))).toBe("api_key_invalid");
  });

  test("a leader whose clock is behind cannot bring an expired key back", () => {
    const ledger = LedgerHarness.started();
    const expiresMs = ledger.clockMs + 25;
    ledger.run(keyCommand("short", ["write"], { expiresMs }));
    ledger.clockMs = expiresMs;
    ledger.accept(event("time passes"));
    ledger.clockMs = expiresMs - 1000;
    const outcome = ledger.run(record([event("late")], { credential: credentialOf("short") }));
    expect(codeOf(outcome)).toBe("api_key_invalid");
  });
});

describe("idempotency", () => {
  test("same content returns the first anchor, whatever origin and salt the retry has", () => {
    const ledger = LedgerHarness.started();
    const first = ledger.accept(event("one", { clientEventId: "id" }));
    const retry = event("one", {
      originFingerprint: NODE_B.originFingerprint,
      clientEventId: "id",
      clientEventSalt: hash("another salt"),
    });
    expect(ledger.runEvent(retry)).toEqual({
      status: "replayed",
      anchorId: first.anchorId,
      originFingerprint: NODE_A.originFingerprint,
      sequence: first.sequence,
    });
    expect(ledger.state.nextSequence).toBe(first.sequence + 1);
  });

  test.each<[string, EventInput]>([
    ["event hash", event("two", { clientEventId: "id" })],
    ["event data hash", event("one", { clientEventId: "id", semanticAnchor: refs({ eventDataHash: hash("d") }) })],
    ["a reference", event("one", { clientEventId: "id", semanticAnchor: refs({ bondRef: hash("d") }) })],
  ])("another %s under the same id is a conflict", (_, other) => {
    const ledger = LedgerHarness.started();
    ledger.accept(event("one", { clientEventId: "id" }));
    expect(codeOf(ledger.runEvent(other))).toBe("client_event_id_conflict");
  });

  test("another API client may use the same id", () => {
    const ledger = LedgerHarness.started();
    ledger.accept(event("one", { clientEventId: "id" }));
    ledger.run(keyCommand("second", ["write"]));
    const outcome = ledger.run(record([event("two", { clientEventId: "id" })], { credential: credentialOf("second") }));
    expect(itemsOf(outcome).map(codeOf)).toEqual(["accepted"]);
  });

  test("without an id, the same content is anchored twice", () => {
    const ledger = LedgerHarness.started();
    const first = ledger.accept(event("one"));
    expect(ledger.accept(event("one")).anchorId).not.toEqual(first.anchorId);
  });

  test("items of one batch replay each other, and conflict with each other", () => {
    const ledger = LedgerHarness.started();
    const batch = [
      event("one", { clientEventId: "id" }),
      event("one", { clientEventId: "id", originFingerprint: NODE_B.originFingerprint }),
      event("two", { clientEventId: "id" }),
    ];
    const items = itemsOf(ledger.run(record(batch)));
    expect(items.map(codeOf)).toEqual(["accepted", "replayed", "client_event_id_conflict"]);
    const [first, second] = items;
    if (first?.status !== "accepted" || second?.status !== "replayed") throw new Error("unexpected");
    expect(second.anchorId).toEqual(first.leaf.anchorId);
  });

  test("an item that was refused leaves its id free for the next one", () => {
    const ledger = LedgerHarness.started();
    const batch = [
      event("one", { clientEventId: "id", originFingerprint: UNKNOWN_ORIGIN }),
      event("two", { clientEventId: "id" }),
    ];
    expect(itemsOf(ledger.run(record(batch))).map(codeOf)).toEqual(["origin_unknown", "accepted"]);
  });

  test("commands of one entry see each other", () => {
    const ledger = LedgerHarness.started();
    const one = record([event("one", { clientEventId: "id" })]);
    const two = record([event("two", { clientEventId: "id" })]);
    const decision = ledger.apply(ledger.entry([ledger.group(one, one), ledger.group(two)]));
    const codes = decision.outcomes.flatMap((outcome) =>
      outcome.status === "decided" ? outcome.commands.flatMap((command) => itemsOf(command).map(codeOf)) : [],
    );
    expect(codes).toEqual(["accepted", "replayed", "client_event_id_conflict"]);
  });
});

describe("batches", () => {
  const mixed = [
    event("good", { clientEventId: "good" }),
    event("bad", { originFingerprint: UNKNOWN_ORIGIN }),
    event("first", { clientEventId: "used" }),
    event("good", { clientEventId: "good" }),
  ];

  test("atomic: one refused item, and nothing is anchored; every item has its own result", () => {
    const ledger = LedgerHarness.started();
    ledger.accept(event("first", { clientEventId: "used" }));
    const decision = ledger.decide(ledger.entry([ledger.group(record(mixed, { atomic: true }))]));
    const [outcome] = decision.outcomes;
    const command = outcome?.status === "decided" ? outcome.commands[0] : undefined;
    expect(command).toMatchObject({ kind: "records", refused: true });
    if (command === undefined) throw new Error("not decided");
    expect(itemsOf(command).map(codeOf)).toEqual(["batch_refused", "origin_unknown", "replayed", "batch_refused"]);
    expect(decision.writes.leaves).toEqual([]);
    expect(decision.writes.clientEvents).toEqual([]);
    expect(decision.certify).toBe(true);
  });

  test("an id in a refused atomic batch stays free", () => {
    const ledger = LedgerHarness.started();
    ledger.run(record(mixed, { atomic: true }));
    expect(codeOf(ledger.runEvent(event("other", { clientEventId: "good" })))).toBe("accepted");
  });

  test("atomic with replays only is not refused", () => {
    const ledger = LedgerHarness.started();
    ledger.accept(event("first", { clientEventId: "used" }));
    const outcome = ledger.run(record([event("first", { clientEventId: "used" })], { atomic: true }));
    expect(outcome).toMatchObject({ kind: "records", refused: false, records: [{ status: "replayed" }] });
  });

  test("not atomic: the good items are anchored", () => {
    const ledger = LedgerHarness.started();
    ledger.accept(event("first", { clientEventId: "used" }));
    expect(itemsOf(ledger.run(record(mixed))).map(codeOf)).toEqual([
      "accepted",
      "origin_unknown",
      "replayed",
      "replayed",
    ]);
  });
});

describe("a batch of 1,000 events", () => {
  test("fits into one entry, however much its events say, and completes its tiles", () => {
    const ledger = LedgerHarness.started();
    const filled = (label: string): SemanticAnchor => refs({ bondRef: target.anchorId, eventDataHash: hash(label) });
    const target = ledger.accept(event("target"));
    const batch = Array.from({ length: 1000 }, (_, at) =>
      event(`e${at}`, { clientEventId: `${at}`.padStart(128, "x"), semanticAnchor: filled(`e${at}`) }),
    );
    const decision = ledger.apply(ledger.entry([ledger.group(record(batch))]));
    expect(decision.writes.leaves).toHaveLength(1000);
    expect(decision.writes.clientEvents).toHaveLength(1000);
    expect(decision.writes.tiles.map(({ level, index }) => [level, index])).toEqual([
      [0, 0],
      [0, 1],
      [0, 2],
    ]);
    expect(ledger.run(record(batch))).toMatchObject({ kind: "records", records: { length: 1000 } });
    expect(ledger.state.nextSequence).toBe(1004);
  });
});

describe("leaves", () => {
  test("hold what was asked, at the next place of their origin", () => {
    const ledger = LedgerHarness.started();
    const anchor = refs({ eventDataHash: hash("x") });
    const first = ledger.accept(event("x", { clientEventId: "id", semanticAnchor: anchor }));
    const leaf = decodeLeaf(first.bytes);
    expect(leaf).toMatchObject({
      kind: LEAF_KIND.event,
      depth: 1,
      sequence: 3,
      acceptedMs: ledger.clockMs,
      eventHash: hash("x"),
      semanticAnchor: anchor,
      clientEventCommit: clientEventCommit(hash("salt x"), "id", sha256),
    });
    const second = decodeLeaf(ledger.accept(event("y")).bytes);
    expect(second).toMatchObject({ depth: 2, sequence: 4, parentAnchorId: first.anchorId });
    expect(second).toMatchObject({ clientEventCommit: new Uint8Array(32) });
  });

  test("time never goes back, though a leader's clock does", () => {
    const ledger = LedgerHarness.started();
    const first = ledger.accept(event("x"));
    ledger.clockMs -= 60_000;
    const second = ledger.accept(event("y"));
    expect(second.acceptedMs).toBe(first.acceptedMs);
    ledger.clockMs = first.acceptedMs + 5;
    expect(ledger.accept(event("z")).acceptedMs).toBe(ledger.clockMs);
  });

  test("sequence has no gaps over origins, depth none within one", () => {
    const ledger = LedgerHarness.started();
    const origins = [NODE_A, NODE_B, NODE_C].map((node) => node.originFingerprint);
    const batch = Array.from({ length: 30 }, (_, at) =>
      event(`e${at}`, { originFingerprint: origins[(at * at) % 3] ?? UNKNOWN_ORIGIN }),
    );
    ledger.run(record(batch));
    const { leaves } = ledger.tables;
    expect(leaves.map((leaf) => leaf.sequence)).toEqual(leaves.map((_, at) => at));
    for (const origin of origins) {
      const own = leaves.filter((leaf) => bytesToHex(leaf.originFingerprint) === bytesToHex(origin));
      expect(own.map((leaf) => leaf.depth)).toEqual(own.map((_, at) => at));
    }
  });

  test("an event may refer to an anchor of an earlier command of its entry, never to one of its own batch", () => {
    const ledger = LedgerHarness.started();
    const entry = ledger.entry([ledger.group(record([event("x")]), record([event("y")]))]);
    const [x] = ledger.decide(entry).writes.leaves;
    if (x === undefined) throw new Error("no leaf");
    const y = event("y", { semanticAnchor: refs({ bondRef: x.anchorId }) });
    const apart = { ...entry, groups: [ledger.group(record([event("x")]), record([y]))] };
    const together = { ...entry, groups: [ledger.group(record([event("x"), y]))] };
    expect(ledger.decide(apart).writes.leaves).toHaveLength(2);
    expect(ledger.decide(together).writes.leaves).toHaveLength(1);
  });
});

describe("groups", () => {
  test("a group proposed twice is decided once, in later entries and in the same one", () => {
    const ledger = LedgerHarness.started();
    const group = ledger.group(record([event("x")]));
    const decision = ledger.apply(ledger.entry([group, group]));
    expect(decision.outcomes.map(({ status }) => status)).toEqual(["decided", "duplicate"]);
    const again = ledger.apply(ledger.entry([group]));
    expect(again.outcomes).toEqual([{ status: "duplicate" }]);
    expect(again.writes.leaves).toEqual([]);
  });

  test.each([
    ["another counter", { counter: 1_000_000 }],
    ["another incarnation", { incarnation: 2 }],
    ["another node", { node: 8n }],
  ])("%s is another group", (_, change) => {
    const ledger = LedgerHarness.started();
    const group = ledger.group(record([event("x")]));
    ledger.apply(ledger.entry([group]));
    const other = { ...group, id: { ...group.id, ...change } };
    expect(ledger.apply(ledger.entry([other])).outcomes).toMatchObject([{ status: "decided" }]);
  });

  test("a group may be decided at its last index and not after it", () => {
    const ledger = LedgerHarness.started();
    const last = { ...ledger.group(record([event("x")])), notAfter: ledger.state.appliedIndex + 1 };
    const late = { ...ledger.group(record([event("y")])), notAfter: ledger.state.appliedIndex };
    const decision = ledger.apply(ledger.entry([last, late]));
    expect(decision.outcomes.map(({ status }) => status)).toEqual(["decided", "expired"]);
    expect(decision.writes.groupIds).toEqual([last.id]);
  });

  test("no id is forgotten while its group could still be decided", () => {
    const ledger = LedgerHarness.started();
    const sentAt = ledger.state.appliedIndex;
    const group = ledger.group(record([event("x")]));
    ledger.apply(ledger.entry([group]));
    const nothing = ledger.entry([]);
    while (ledger.state.appliedIndex < sentAt + 49_999) advance(ledger.state, ledger.decide(nothing));
    expect(ledger.decide(ledger.entry([group])).outcomes).toEqual([{ status: "duplicate" }]);
    for (let step = 0; step < 3; step++) advance(ledger.state, ledger.decide(nothing));
    expect(ledger.state.groupIds.has(group.id)).toBe(false);
    expect(ledger.decide(ledger.entry([group])).outcomes).toEqual([{ status: "expired" }]);
  });
});

test("before genesis every command is refused", () => {
  const ledger = new LedgerHarness();
  const commands: Command[] = [
    record([event("x")]),
    CREATE_KEY,
    { kind: "mark_certify_point" },
    { kind: "trust_root", document: GENESIS_DOCUMENT },
  ];
  for (const command of commands) expect(codeOf(ledger.run(command))).toBe("not_initialised");
  expect(ledger.state.nextSequence).toBe(0);
});
