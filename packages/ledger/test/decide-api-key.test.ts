import { describe, expect, test } from "@jest/globals";
import { isLiveApiKey, keyIdHex } from "../src/index.ts";
import type { CreateApiKeyCommand, RevokeApiKeyCommand, RotateApiKeyCommand } from "../src/entry/command.ts";
import type { ApiKey } from "../src/index.ts";
import { hash } from "../../../test/worlds/cluster.ts";
import { CREDENTIAL, LedgerHarness, codeOf, event, record } from "../../../test/worlds/ledger-harness.ts";

function create(name: string, more: Partial<CreateApiKeyCommand["key"]> = {}): CreateApiKeyCommand {
  const client = hash("some client").slice(0, 16);
  const key = {
    keyHash: hash(name),
    apiClientId: client,
    label: name,
    scopes: ["write"] as const,
    expiresMs: 0,
    requestsPerSecond: 0,
  };
  return { kind: "create_api_key", key: { ...key, ...more } };
}

test("a key is created with the accepted time of its entry", () => {
  const ledger = LedgerHarness.started();
  expect(ledger.run(create("one"))).toEqual({ kind: "applied" });
  const keyId = hash("one").slice(0, 16);
  expect(ledger.state.apiKeys.get(keyIdHex(keyId))).toEqual({
    keyId,
    keyHash: hash("one"),
    apiClientId: hash("some client").slice(0, 16),
    label: "one",
    scopes: ["write"],
    expiresMs: 0,
    requestsPerSecond: 0,
    createdMs: ledger.state.lastAcceptedMs + 20,
    revokedMs: 0,
    createdBy: { operator: "test", counter: 2 },
    endedBy: null,
  });
});

test("asked for again it is there already", () => {
  const ledger = LedgerHarness.started();
  ledger.run(create("one"));
  expect(ledger.run(create("one"))).toEqual({ kind: "unchanged" });
});

const sameId = hash("one");
const otherHash = new Uint8Array([...sameId.slice(0, 16), ...hash("tail").slice(0, 16)]);

test.each([
  ["another key of the same id", { keyHash: otherHash }],
  ["another client", { keyHash: sameId, apiClientId: CREDENTIAL.apiClientId }],
  ["other scopes", { keyHash: sameId, scopes: ["read"] as const }],
  ["another expiry", { keyHash: sameId, expiresMs: 2_000_000_000_000 }],
  ["another rate", { keyHash: sameId, requestsPerSecond: 5 }],
  ["another label", { keyHash: sameId, label: "other" }],
])("%s is a conflict", (_, more) => {
  const ledger = LedgerHarness.started();
  ledger.run(create("one"));
  expect(ledger.run(create("one", more))).toMatchObject({ kind: "rejected", rejection: { code: "api_key_conflict" } });
});

test("a key that would be born expired is refused", () => {
  const ledger = LedgerHarness.started();
  const outcome = ledger.run(create("one", { expiresMs: ledger.clockMs }));
  expect(outcome).toMatchObject({ rejection: { code: "window_invalid" } });
});

describe("two live keys of a client", () => {
  test("a third is refused, across entries and within one", () => {
    const ledger = LedgerHarness.started();
    ledger.run(create("one"));
    ledger.run(create("two"));
    expect(ledger.run(create("three"))).toMatchObject({ rejection: { code: "api_key_limit" } });
    const other = LedgerHarness.started();
    const group = other.group(create("one"), create("two"), create("three"));
    expect(other.apply(other.entry([group])).outcomes).toMatchObject([
      { commands: [{ kind: "applied" }, { kind: "applied" }, { rejection: { code: "api_key_limit" } }] },
    ]);
  });

  test("an expired one makes room", () => {
    const ledger = LedgerHarness.started();
    ledger.run(create("one", { expiresMs: ledger.clockMs + 15 }));
    ledger.run(create("two"));
    expect(ledger.run(create("three"))).toEqual({ kind: "applied" });
  });
});

test.each<[string, Partial<ApiKey>, number, boolean]>([
  ["no expiry", { expiresMs: 0 }, 10, true],
  ["before its expiry", { expiresMs: 10 }, 9, true],
  ["at its expiry", { expiresMs: 10 }, 10, false],
  ["revoked", { expiresMs: 0, revokedMs: 5 }, 10, false],
])("live: %s", (_, more, nowMs, expected) => {
  const base = { keyId: hash("k").slice(0, 16), keyHash: hash("k"), apiClientId: hash("c").slice(0, 16), label: "" };
  const key: ApiKey = {
    ...base,
    scopes: ["read"],
    expiresMs: 0,
    requestsPerSecond: 0,
    createdMs: 1,
    revokedMs: 0,
    createdBy: { operator: "o", counter: 1 },
    endedBy: null,
    ...more,
  };
  expect(isLiveApiKey(key, nowMs)).toBe(expected);
});

const client = hash("some client").slice(0, 16);

function keyIdOf(name: string): Uint8Array {
  return hash(name).slice(0, 16);
}

function keyOf(ledger: LedgerHarness, name: string): ApiKey {
  const key = ledger.state.apiKeys.get(keyIdHex(keyIdOf(name)));
  if (key === undefined) throw new Error(`no key ${name}`);
  return key;
}

function revoke(name: string): RevokeApiKeyCommand {
  return { kind: "revoke_api_key", keyId: keyIdOf(name) };
}

function rotate(name: string, to: string, more: Partial<RotateApiKeyCommand> = {}): RotateApiKeyCommand {
  const keyId = keyIdOf(name);
  return {
    kind: "rotate_api_key",
    keyId,
    keyHash: hash(to),
    overlapMs: 1000,
    expiresMs: 0,
    ...more,
  };
}

/** Whether a key can write: `accepted`, or why not. */
function tryKey(ledger: LedgerHarness, name: string): string {
  return codeOf(ledger.run(record([event("x")], { credential: { apiClientId: client, keyId: keyIdOf(name) } })));
}

describe("revoking a key", () => {
  test("ends it at its place in the log, also for later commands of its entry", () => {
    const ledger = LedgerHarness.started();
    ledger.run(create("one"));
    const write = record([event("x")], { credential: { apiClientId: client, keyId: keyIdOf("one") } });
    const outcomes = ledger.runTogether(write, revoke("one"), write);
    expect(outcomes.map(codeOf)).toEqual(["accepted", "applied", "api_key_invalid"]);
    expect(tryKey(ledger, "one")).toBe("api_key_invalid");
    expect(keyOf(ledger, "one")).toMatchObject({
      revokedMs: ledger.tables.leaves.at(-1)?.acceptedMs,
      endedBy: { operator: "test", counter: 3 },
    });
  });

  test("again it changes nothing, and its time stays; it does not come back", () => {
    const ledger = LedgerHarness.started();
    ledger.run(create("one"));
    ledger.run(revoke("one"));
    const { revokedMs } = keyOf(ledger, "one");
    expect(ledger.run(revoke("one"))).toEqual({ kind: "unchanged" });
    expect(keyOf(ledger, "one").revokedMs).toBe(revokedMs);
    expect(codeOf(ledger.run(create("one")))).toBe("api_key_conflict");
  });

  test("an unknown key is named as such", () => {
    expect(LedgerHarness.started().run(revoke("none"))).toMatchObject({
      kind: "rejected",
      rejection: { code: "api_key_unknown", pointer: "/key_id" },
    });
  });

  test("makes room for another, in the same entry", () => {
    const ledger = LedgerHarness.started();
    const outcomes = ledger.runTogether(create("one"), create("two"), create("three"), revoke("one"), create("three"));
    expect(outcomes.map(codeOf)).toEqual(["applied", "applied", "api_key_limit", "applied", "applied"]);
  });
});

describe("rotating a key", () => {
  test("the new key has what the old one had, but for its secret and its expiry", () => {
    const ledger = LedgerHarness.started();
    ledger.run(create("old", { label: "l", scopes: ["read", "revoke"], requestsPerSecond: 9 }));
    const expiresMs = ledger.clockMs + 1_000_000;
    expect(ledger.run(rotate("old", "new", { expiresMs }))).toEqual({ kind: "applied" });
    expect(keyOf(ledger, "new")).toEqual({
      ...keyOf(ledger, "old"),
      keyId: keyIdOf("new"),
      keyHash: hash("new"),
      expiresMs,
      createdMs: ledger.clockMs,
      createdBy: { operator: "test", counter: ledger.acts.counter },
      endedBy: null,
    });
  });

  test("both are good for the overlap, and then one", () => {
    const ledger = LedgerHarness.started();
    ledger.run(create("old"));
    ledger.run(rotate("old", "new", { overlapMs: 1000 }));
    const { expiresMs } = keyOf(ledger, "old");
    expect(expiresMs).toBe(ledger.clockMs + 1000);
    ledger.clockMs = expiresMs - 21;
    expect(tryKey(ledger, "old")).toBe("accepted");
    expect(tryKey(ledger, "new")).toBe("accepted");
    expect(tryKey(ledger, "old")).toBe("api_key_invalid");
    expect(tryKey(ledger, "new")).toBe("accepted");
  });

  test("without overlap the old key ends at once, for later commands of the entry as well", () => {
    const ledger = LedgerHarness.started();
    ledger.run(create("old"));
    const by = (name: string): ReturnType<typeof record> =>
      record([event("x")], { credential: { apiClientId: client, keyId: keyIdOf(name) } });
    const outcomes = ledger.runTogether(by("new"), rotate("old", "new", { overlapMs: 0 }), by("old"), by("new"));
    expect(outcomes.map(codeOf)).toEqual(["api_key_invalid", "applied", "api_key_invalid", "accepted"]);
  });

  test.each<[string, number, number]>([
    ["never gives the old key longer than it had", 5000, 3000],
    ["shortens what it had", 2000, 2000],
    ["never reaches beyond what a number holds", 2 ** 53 - 1, 3000],
  ])("the overlap %s", (_, overlapMs, expected) => {
    const ledger = LedgerHarness.started();
    const acceptedMs = ledger.clockMs + 20;
    ledger.run(create("old", { expiresMs: acceptedMs + 3000 }));
    ledger.run(rotate("old", "new", { overlapMs }));
    expect(keyOf(ledger, "old").expiresMs).toBe(acceptedMs + expected);
  });

  test("a key without expiry gets the longest there is, and no longer", () => {
    const ledger = LedgerHarness.started();
    ledger.run(create("old"));
    ledger.run(rotate("old", "new", { overlapMs: 2 ** 53 - 1 }));
    expect(keyOf(ledger, "old").expiresMs).toBe(2 ** 53 - 1);
  });

  test("asked for again it is there already, also once the old key has ended", () => {
    const ledger = LedgerHarness.started();
    ledger.run(create("old"));
    ledger.run(rotate("old", "new"));
    const before = keyOf(ledger, "old");
    ledger.clockMs += 100_000;
    expect(ledger.run(rotate("old", "new"))).toEqual({ kind: "unchanged" });
    expect(keyOf(ledger, "old")).toEqual(before);
  });

  test.each<[string, (ledger: LedgerHarness) => unknown, RotateApiKeyCommand, string, string]>([
    [
      "of nothing, and all else wrong",
      () => null,
      rotate("none", "taken", { expiresMs: 1 }),
      "api_key_unknown",
      "/key_id",
    ],
    [
      "to a key that is taken, of a revoked one",
      (l) => l.run(revoke("old")),
      rotate("old", "taken", { expiresMs: 1 }),
      "api_key_conflict",
      "/key_hash",
    ],
    ["to itself", () => null, rotate("old", "old", { expiresMs: 1 }), "api_key_conflict", "/key_hash"],
    [
      "of a revoked one, to one born expired",
      (l) => l.run(revoke("old")),
      rotate("old", "new", { expiresMs: 1 }),
      "api_key_invalid",
      "/key_id",
    ],
    [
      "of an expired one",
      (l) => (l.clockMs += 2_000_000),
      rotate("old", "new", { expiresMs: 1 }),
      "api_key_invalid",
      "/key_id",
    ],
    [
      "to one born expired, beyond the limit",
      (l) => l.run(create("beside")),
      rotate("old", "new", { expiresMs: 1 }),
      "window_invalid",
      "/expires_ms",
    ],
    ["beside a second live key", (l) => l.run(create("beside")), rotate("old", "new"), "api_key_limit", "/key_id"],
  ])("%s is refused", (_, prepare, command, code, pointer) => {
    const ledger = LedgerHarness.started();
    ledger.run(create("old", { expiresMs: ledger.clockMs + 1_000_000 }));
    ledger.run(create("taken", { apiClientId: hash("other client").slice(0, 16) }));
    prepare(ledger);
    const before = [...ledger.state.apiKeys.values()];
    expect(ledger.run(command)).toMatchObject({ kind: "rejected", rejection: { code, pointer } });
    expect([...ledger.state.apiKeys.values()]).toEqual(before);
  });

  test("beside a second live key it works without overlap", () => {
    const ledger = LedgerHarness.started();
    ledger.run(create("old"));
    ledger.run(create("beside"));
    expect(ledger.run(rotate("old", "new", { overlapMs: 0 }))).toEqual({ kind: "applied" });
    expect(["old", "beside", "new"].map((name) => tryKey(ledger, name))).toEqual([
      "api_key_invalid",
      "accepted",
      "accepted",
    ]);
  });
});
