import { beforeEach, describe, expect, test } from "@jest/globals";
import { apiKeyIdentity, formatApiKey } from "@event-anchoring/control-contract";
import type { ApiKey } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { KeyTable } from "../src/key-table.ts";

const SECRET = new Uint8Array(32).fill(3);
const TEXT = formatApiKey(SECRET);

function apiKey(fields: Partial<ApiKey> = {}): ApiKey {
  return {
    ...apiKeyIdentity(SECRET, nodeCrypto.sha256),
    apiClientId: new Uint8Array(16),
    label: "test",
    scopes: ["read"],
    expiresMs: 0,
    createdMs: 0,
    revokedMs: 0,
    operator: "test",
    ...fields,
  };
}

let nowMs: number;
let own: readonly ApiKey[];
let confirmed: readonly ApiKey[] | Error;
let confirmations: number;
let table: KeyTable;

beforeEach(() => {
  nowMs = 1000;
  own = [];
  confirmed = [];
  confirmations = 0;
  table = new KeyTable({
    load: async () => own,
    loadConfirmed: async () => {
      confirmations += 1;
      if (confirmed instanceof Error) throw confirmed;
      return confirmed;
    },
    // A pause of the table passes on its own clock.
    clock: { nowMs: () => nowMs, monotonicMs: () => (nowMs += 60) },
    sha256: nodeCrypto.sha256,
  });
});

describe("a key that this node's tables lack", () => {
  test("is found if the cluster has it: the node lags, the client is not to blame", async () => {
    confirmed = [apiKey()];
    expect(await table.find(TEXT)).toMatchObject({ label: "test" });
  });

  test("is unknown only once a confirmed table says so", async () => {
    expect(await table.find(TEXT)).toBeNull();
    expect(confirmations).toBe(1);
  });

  test("is not denied while nothing can be confirmed: the error is the answer", async () => {
    confirmed = new Error("no leader");
    await expect(table.find(TEXT)).rejects.toThrow("no leader");
  });

  test("costs one confirmation however many ask at once", async () => {
    const found = await Promise.all(Array.from({ length: 20 }, () => table.find(TEXT)));
    expect(found).toEqual(Array.from({ length: 20 }, () => null));
    expect(confirmations).toBe(1);
  });
});

describe("a key that the tables have", () => {
  test("needs no confirmation", async () => {
    own = [apiKey()];
    expect(await table.find(TEXT)).toMatchObject({ label: "test" });
    expect(confirmations).toBe(0);
  });

  test.each([
    ["revoked", { revokedMs: 1 }],
    ["expired", { expiresMs: 1 }],
    ["of another secret", { keyHash: new Uint8Array(32).fill(9) }],
  ])("is refused if it is %s", async (_what, fields) => {
    own = [apiKey(fields)];
    expect(await table.find(TEXT)).toBeNull();
  });

  test("is refused if its text is malformed, before any table is asked", async () => {
    expect(await table.find(`${TEXT}x`)).toBeNull();
    expect(confirmations).toBe(0);
  });
});
