import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { DecodeError } from "@event-anchoring/protocol";
import type { ConfState } from "raft-ts";
import { bigintArray, byteaArray, prefixArray, smallintArray, textArray } from "../../src/postgres/binary-array.ts";
import { COLUMN_TYPES } from "../../src/postgres/connection.ts";
import { StoreError } from "../../src/index.ts";
import { decodeCosignatures, encodeCosignatures } from "../../src/tables/certificates.ts";
import { decodeGroupIds, encodeGroupIds } from "../../src/tables/group-ids.ts";
import { decodeConfState, encodeConfState, raftIdFromSigned, raftIdToSigned } from "../../src/log/raft-codec.ts";
import { toStoreError } from "../../src/postgres/sqlstate.ts";
import type { Phase } from "../../src/postgres/sqlstate.ts";
import { startTestPostgres } from "../support/database.ts";
import type { TestPostgres } from "../support/database.ts";

describe("binary arrays, as the server reads them", () => {
  let server: TestPostgres;
  let client: pg.Client;

  beforeAll(async () => {
    server = await startTestPostgres();
    client = new pg.Client({ connectionString: server.url(), types: COLUMN_TYPES });
    await client.connect();
  });

  afterAll(async () => {
    await client.end();
    await server.close();
  });

  async function elements(type: string, array: Buffer): Promise<unknown[]> {
    const { rows } = await client.query<{ one: unknown }>(`SELECT unnest($1::${type}[]) AS one`, [array]);
    return rows.map(({ one }) => one);
  }

  test("every value comes back", async () => {
    const integers = [0, 1, 2 ** 31, 2 ** 32, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER];
    expect(await elements("bigint", bigintArray([null, ...integers, null]))).toEqual([null, ...integers, null]);
    expect(await elements("bigint", bigintArray(integers))).toEqual(integers);
    expect(await elements("smallint", smallintArray([0, 255, 32_767]))).toEqual([0, 255, 32_767]);
    const bytes = [new Uint8Array(0), Uint8Array.of(0, 255), null, new Uint8Array(5000).fill(7)];
    expect(await elements("bytea", byteaArray(bytes))).toEqual(bytes);
    const texts = ["", "ascii", null, "Zürich — 東京"];
    expect(await elements("text", textArray(texts))).toEqual(texts);
    const prefix = Uint8Array.of(0, 0, 0, 1, 0, 0, 0, 2, 99, 99);
    expect(await elements("bigint", prefixArray([prefix, null]))).toEqual([2 ** 32 + 2, null]);
  });

  test("empty ones are empty", async () => {
    const empty: [string, Buffer][] = [
      ["bigint", bigintArray([])],
      ["smallint", smallintArray([])],
      ["bytea", byteaArray([])],
      ["text", textArray([])],
    ];
    for (const [type, array] of empty) expect(await elements(type, array)).toEqual([]);
  });

  test("a column beyond 2^53 − 1 is an error, not another number", async () => {
    await expect(client.query("SELECT 9007199254740993::bigint")).rejects.toThrow(StoreError);
  });
});

test.each([-1, 0.5, Number.NaN, 2 ** 53, Number.POSITIVE_INFINITY])("%p is in no array", (value) => {
  expect(() => bigintArray([value])).toThrow(RangeError);
  expect(() => smallintArray([value])).toThrow(RangeError);
});

test("a value beyond its column is in no array", () => {
  expect(() => smallintArray([32_768])).toThrow(RangeError);
});

test("raft ids keep all 64 bits", () => {
  for (const id of [0n, 1n, 2n ** 63n, 2n ** 64n - 1n]) {
    expect(raftIdFromSigned(String(raftIdToSigned(id)))).toBe(id);
  }
});

describe("codecs of single columns", () => {
  const confState: ConfState = {
    voters: [1n, 2n ** 64n - 1n],
    votersOutgoing: [3n],
    learners: [],
    learnersNext: [4n],
    autoLeave: true,
  };
  const cosignatures = [{ nodeId: "a", timeS: 1_800_000_000, signature: new Uint8Array(64).fill(9) }];
  const groups = [
    { node: 2n ** 64n - 1n, incarnation: 3, counter: 4 },
    { node: 1n, incarnation: 0, counter: 0 },
  ];

  test("give back what they were given", () => {
    expect(decodeConfState(encodeConfState(confState))).toEqual(confState);
    expect(decodeCosignatures(encodeCosignatures(cosignatures))).toEqual(cosignatures);
    expect(decodeGroupIds(encodeGroupIds(groups), 7)).toEqual(groups.map((group) => ({ ...group, index: 7 })));
  });

  const whole: [string, Uint8Array, (bytes: Uint8Array) => unknown][] = [
    ["membership", encodeConfState(confState), decodeConfState],
    ["cosignatures", encodeCosignatures(cosignatures), decodeCosignatures],
    ["group ids", encodeGroupIds(groups), (bytes) => decodeGroupIds(bytes, 1)],
  ];

  test.each(whole)("%s: every shorter text and one byte more are refused", (name, bytes, decode) => {
    for (let length = 1; length < bytes.length; length++) {
      // Group ids have a fixed width: a whole number of them is a shorter, legal list.
      if (name === "group ids" && length % 24 === 0) continue;
      expect(() => decode(bytes.subarray(0, length))).toThrow(DecodeError);
    }
    expect(() => decode(Buffer.concat([bytes, Buffer.alloc(1)]))).toThrow(DecodeError);
  });

  test("an auto-leave flag is 0 or 1", () => {
    const bytes = encodeConfState(confState);
    bytes[bytes.length - 1] = 2;
    expect(() => decodeConfState(bytes)).toThrow(DecodeError);
  });
});

describe("errors of the server", () => {
  function serverError(code: string, severity: string): Error {
    return Object.assign(new Error("from the server"), { code, severity });
  }

  test.each<[string, string, Phase, string]>([
    ["53100", "ERROR", "write", "full"],
    ["53100", "ERROR", "commit", "unknown_outcome"],
    ["53100", "PANIC", "write", "unknown_outcome"],
    ["53200", "ERROR", "write", "unavailable"],
    ["57P01", "FATAL", "write", "unknown_outcome"],
    ["57P01", "FATAL", "read", "unavailable"],
    ["57P03", "FATAL", "read", "unavailable"],
    ["57014", "ERROR", "read", "unavailable"],
    ["40P01", "ERROR", "write", "unavailable"],
    ["58030", "ERROR", "read", "unavailable"],
    ["XX001", "ERROR", "read", "corrupt"],
    ["XX002", "ERROR", "read", "corrupt"],
    ["23505", "ERROR", "write", "out_of_order"],
    ["42P01", "ERROR", "read", "schema"],
    ["42501", "ERROR", "read", "schema"],
    ["3D000", "FATAL", "read", "schema"],
  ])("%s %s while a %s is under way is %s", (state, severity, phase, code) => {
    const cause = serverError(state, severity);
    const error = toStoreError(cause, phase, "work");
    expect([error.code, error.cause]).toEqual([code, cause]);
  });

  test("of the socket are unknown for writes, unavailable for reads", () => {
    const cause = Object.assign(new Error("connect ECONNRESET"), { code: "ECONNRESET" });
    expect(toStoreError(cause, "write", "work").code).toBe("unknown_outcome");
    expect(toStoreError(cause, "commit", "work").code).toBe("unknown_outcome");
    expect(toStoreError(cause, "read", "work").code).toBe("unavailable");
  });

  test("of our own keep their code", () => {
    const error = new StoreError("corrupt", "a row");
    expect(toStoreError(error, "commit", "work")).toBe(error);
  });
});
