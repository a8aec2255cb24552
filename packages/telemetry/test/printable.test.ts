import { describe, expect, test } from "@jest/globals";
import { Writable } from "node:stream";
import { openLog, printable } from "../src/index.ts";

const API_KEY = "ank_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf2envj8";
const PASSWORD = "correct-horse";
const PEM = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v\n-----END PRIVATE KEY-----";
const SEED_HEX = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";

function logged(fields: Record<string, unknown>, message = "something"): string {
  const lines: string[] = [];
  const to = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(chunk.toString());
      done();
    },
  });
  openLog({ level: "debug", node: "n1", process: "api", to }).info(message, fields);
  return lines.join("");
}

function errorWithHeaders(): Error {
  const headers = { authorization: `Bearer ${API_KEY}` };
  const request = { headers, rawHeaders: ["Authorization", `Bearer ${API_KEY}`] };
  return Object.assign(new Error("upstream said no"), { code: "E_REFUSED", request, config: { headers } });
}

describe("no line holds a secret", () => {
  test.each<[string, Record<string, unknown>]>([
    ["the settings of a control plane", { config: { database_url: `postgresql://owner:${PASSWORD}@localhost/a` } }],
    ["an environment", { env: { PGPASSWORD: PASSWORD, ANCHORING_API__DATABASE_URL: `postgres://u:${PASSWORD}@h/d` } }],
    ["the exporter's headers", { env: { OTEL_EXPORTER_OTLP_HEADERS: `authorization=Basic ${PASSWORD}` } }],
    ["the exporter's headers for traces", { OTEL_EXPORTER_OTLP_TRACES_HEADERS: `api-key=${PASSWORD}` }],
    ["a request's headers", { headers: { authorization: `Bearer ${API_KEY}`, "x-api-key": API_KEY } }],
    ["an error that carries a request", { err: errorWithHeaders() }],
    ["an error that quotes a key", { error: new Error(`the key ${API_KEY} is not known`) }],
    ["the cause of a cause", { error: new Error("a", { cause: new Error("b", { cause: errorWithHeaders() }) }) }],
    ["a connection string in an error", { error: new Error(`no route to postgresql://u:${PASSWORD}@10.0.0.1:5432/d`) }],
    ["a private key in PEM", { text: PEM }],
    ["a private key that is cut off", { text: PEM.slice(0, 60) }],
    ["a seed as bytes", { identity: { raw: Buffer.from(SEED_HEX, "hex") } }],
    ["a seed as text", { identity: { log_seed: SEED_HEX } }],
    ["a seed in camel case", { logSeed: SEED_HEX }],
    ["a map of secrets", { held: new Map([["password", PASSWORD]]) }],
    ["a list of keys", { tried: [[API_KEY]] }],
    ["a key as the name of a field", { byKey: { [API_KEY]: 1 } }],
    ["a URL object", { target: new URL(`https://u:${PASSWORD}@collector.example/`) }],
    ["a bearer header as text", { line: `authorization: bearer ${PASSWORD}${PASSWORD}` }],
    ["a cookie", { "set-cookie": PASSWORD }],
  ])("%s", (_what, fields) => {
    const line = logged(fields);
    for (const secret of [API_KEY, PASSWORD, SEED_HEX, "MC4CAQAwBQYDK2Vw"]) expect(line).not.toContain(secret);
    expect(line.endsWith("}\n")).toBe(true);
  });

  test("nor does its message", () => {
    expect(logged({}, `cannot use ${API_KEY}`)).not.toContain(API_KEY);
  });
});

describe("a line", () => {
  test("says when, how grave, which node and process, and what, once each", () => {
    const line = logged({ time: "never", level: "none", message: "other", peer: "n2" });
    const fields = JSON.parse(line) as Record<string, unknown>;
    expect(fields).toMatchObject({ level: "info", node: "n1", process: "api", message: "something", peer: "n2" });
    expect(fields).toMatchObject({ field_time: "never", field_level: "none", field_message: "other" });
    expect(line.match(/"(time|level|message|node|process)":/g)).toHaveLength(5);
  });

  test("keeps of an error what a person needs", () => {
    expect(printable({ error: errorWithHeaders() })).toMatchObject({
      error: { type: "Error", message: "upstream said no", code: "E_REFUSED", stack: expect.stringContaining("at ") },
    });
  });

  test("is written for values that JSON has no form for", () => {
    const loop: Record<string, unknown> = { bytes: new Uint8Array(3), big: 2n ** 70n, at: new Date(Number.NaN) };
    loop["self"] = loop;
    expect(printable({ loop, run: () => 1 })).toEqual({
      loop: { bytes: "[3 bytes]", big: "1180591620717411303424", at: "invalid date", self: "[…]" },
      run: "[function]",
    });
  });

  test("stays short: depth, breadth and length end somewhere", () => {
    let deep: object = {};
    for (let depth = 0; depth < 50; depth++) deep = { deep };
    const wide = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`f${at}`, "x".repeat(20)]));
    expect(logged({ deep, wide, long: "y".repeat(1_000_000) }).length).toBeLessThan(20_000);
  });

  test("keeps ids and names that only sound like secrets", () => {
    const fields = { key_id: "ab12", tokens_used: 3, passed: true, seeds_planted: 1, request_id: "r-1" };
    expect(printable(fields)).toEqual(fields);
  });
});
