import { describe, expect, test } from "@jest/globals";
import type { ApiKey, CreateApiKeyCommand } from "../src/index.ts";
import { isLiveApiKey, keyIdHex } from "../src/index.ts";
import { hash } from "./cluster.ts";
import { CREDENTIAL, LedgerHarness } from "./ledger-harness.ts";

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
  return { kind: "create_api_key", operator: "operator", key: { ...key, ...more } };
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
    operator: "operator",
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
    operator: "o",
    ...more,
  };
  expect(isLiveApiKey(key, nowMs)).toBe(expected);
});
