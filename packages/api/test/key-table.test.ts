import { beforeEach, describe, expect, test } from "@jest/globals";
import { apiKeyIdentity, formatApiKey } from "@event-anchoring/control-contract";
import type { ApiKey } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { until } from "@event-anchoring/testkit";
import { KeyTable } from "../src/access/key-table.ts";
import { silentLogger } from "./api-harness.ts";

const SECRET = new Uint8Array(32).fill(3);
const TEXT = formatApiKey(SECRET);

function apiKey(fields: Partial<ApiKey> = {}): ApiKey {
  return {
    ...apiKeyIdentity(SECRET, nodeCrypto.sha256),
    apiClientId: new Uint8Array(16),
    label: "test",
    scopes: ["read"],
    expiresMs: 0,
    requestsPerSecond: 0,
    createdMs: 0,
    revokedMs: 0,
    createdBy: { operator: "test", counter: 1 },
    endedBy: null,
    ...fields,
  };
}

let nowMs: number;
/** How far the clock moves whenever it is looked at: the pauses of the table pass on its own clock. */
let tickMs: number;
/** What the cluster has; an error: it cannot be asked. */
let cluster: readonly ApiKey[] | Error;
let loads: number;
let warnings: number;
let table: KeyTable;

beforeEach(() => {
  nowMs = 1000;
  tickMs = 60;
  cluster = [];
  loads = 0;
  warnings = 0;
  table = new KeyTable({
    load: async () => {
      loads += 1;
      if (cluster instanceof Error) throw cluster;
      return cluster;
    },
    clock: { wallMs: () => nowMs, monotonicMs: () => (nowMs += tickMs) },
    logger: { ...silentLogger, warn: () => (warnings += 1) },
    sha256: nodeCrypto.sha256,
  });
});

describe("a key that the table lacks", () => {
  test("is found if the cluster has it by now", async () => {
    expect(await table.find(TEXT)).toBeNull();
    cluster = [apiKey()];
    expect(await table.find(TEXT)).toMatchObject({ label: "test" });
  });

  test("is unknown only once a table says so that was asked for after the key came", async () => {
    let answer: (keys: readonly ApiKey[]) => void = () => undefined;
    const answers: Promise<readonly ApiKey[]>[] = [new Promise((resolve) => (answer = resolve))];
    const slow = new KeyTable({
      load: () => answers.shift() ?? Promise.resolve([apiKey()]),
      clock: { wallMs: () => nowMs, monotonicMs: () => (nowMs += tickMs) },
      logger: silentLogger,
      sha256: nodeCrypto.sha256,
    });
    const early = slow.find(formatApiKey(new Uint8Array(32).fill(4)));
    const late = slow.find(TEXT);
    answer([]);
    expect(await early).toBeNull();
    expect(await late).toMatchObject({ label: "test" });
  });

  test("is not denied while the cluster cannot be asked: the error is the answer", async () => {
    expect(await table.find(TEXT)).toBeNull();
    cluster = new Error("no leader");
    await expect(table.find(TEXT)).rejects.toThrow("no leader");
  });

  test("costs two questions at most, however many ask at once", async () => {
    tickMs = 10;
    const found = await Promise.all(Array.from({ length: 20 }, () => table.find(TEXT)));
    expect(found).toEqual(Array.from({ length: 20 }, () => null));
    expect(loads).toBeLessThanOrEqual(2);
  });
});

describe("a key that the table has", () => {
  test("needs no question while the table is young, and one beside it when it grows old", async () => {
    tickMs = 1;
    cluster = [apiKey()];
    await table.find(TEXT);
    await table.find(TEXT);
    expect(loads).toBe(1);
    nowMs += 500;
    expect(await table.find(TEXT)).toMatchObject({ label: "test" });
    expect(loads).toBe(2);
  });

  test("is refused within a second of its revocation, also on a process that nobody has asked since", async () => {
    tickMs = 1;
    cluster = [apiKey()];
    expect(await table.find(TEXT)).not.toBeNull();
    cluster = [apiKey({ revokedMs: 1 })];
    nowMs += 1000;
    expect(await table.find(TEXT)).toBeNull();
  });

  test("is refused within a second of its revocation on a busy process", async () => {
    tickMs = 1;
    cluster = [apiKey()];
    await table.find(TEXT);
    cluster = [apiKey({ revokedMs: 1 })];
    const revokedAt = nowMs;
    let refusedAt = 0;
    while (refusedAt === 0) {
      nowMs += 50;
      if ((await table.find(TEXT)) === null) refusedAt = nowMs;
    }
    expect(refusedAt - revokedAt).toBeLessThan(1000);
  });

  test("is good for a second at most while the cluster cannot be asked, and the log says why", async () => {
    tickMs = 1;
    cluster = [apiKey()];
    await table.find(TEXT);
    cluster = new Error("no leader");
    nowMs += 900;
    expect(await table.find(TEXT)).not.toBeNull();
    await until("the failure is logged", () => warnings === 1);
    nowMs += 100;
    await expect(table.find(TEXT)).rejects.toThrow("no leader");
  });

  test("a table that comes later than it may be used is not used", async () => {
    tickMs = 1;
    const late = new KeyTable({
      load: async () => {
        nowMs += 1001;
        return [apiKey()];
      },
      clock: { wallMs: () => nowMs, monotonicMs: () => (nowMs += tickMs) },
      logger: silentLogger,
      sha256: nodeCrypto.sha256,
    });
    await expect(late.find(TEXT)).rejects.toMatchObject({ code: "deadline_exceeded" });
  });

  test.each([
    ["revoked", { revokedMs: 1 }],
    ["expired", { expiresMs: 1 }],
    ["of another secret", { keyHash: new Uint8Array(32).fill(9) }],
  ])("is refused if it is %s", async (_what, fields) => {
    cluster = [apiKey(fields)];
    expect(await table.find(TEXT)).toBeNull();
  });

  test("is refused if its text is malformed, before anybody is asked", async () => {
    expect(await table.find(`${TEXT}x`)).toBeNull();
    expect(loads).toBe(0);
  });
});
