import { expect, test } from "@jest/globals";
import type { SentRequest } from "../src/index.ts";
import { FakeTransport, clientOf } from "./fake-transport.ts";
import { exampleOf } from "./openapi-examples.ts";

// What `onRequest` is told: every request, and no secret.

const KEY = "secret-key-of-the-test";
const HASH = "ab".repeat(32);
const LIMITS = { status: 200, json: exampleOf("GET /v1/limits", 200) };

test("every try is told, with how it has ended", async () => {
  const told: SentRequest[] = [];
  const transport = new FakeTransport({ fails: "unreachable", wasSent: false }, { status: 503, json: {} }, LIMITS);
  const { client } = clientOf(transport, { apiKey: KEY, onRequest: (sent) => void told.push(sent) });
  await client.limits();
  const requestId = transport.requests[0]?.headers["x-request-id"];
  const request = { method: "GET", path: "/v1/limits", durationMs: 0, requestId };
  expect(told).toEqual([
    { ...request, attempt: 1, endpoint: "https://a.example", status: null, failure: "unreachable" },
    { ...request, attempt: 2, endpoint: "https://b.example/base", status: 503, failure: null },
    { ...request, attempt: 3, endpoint: "https://c.example", status: 200, failure: null },
  ]);
});

test("neither the API key nor a body is told, whatever the service answers", async () => {
  const told: SentRequest[] = [];
  const quoting = { status: 500, json: { detail: KEY }, headers: { "x-request-id": KEY } };
  const transport = new FakeTransport(quoting);
  const { client } = clientOf(transport, { apiKey: KEY, onRequest: (sent) => void told.push(sent) });
  await expect(client.createEventAnchor(HASH, { clientEventId: "order-4711" })).rejects.toThrow();
  expect(transport.requests[0]?.headers["authorization"]).toContain(KEY);
  expect(told.length).toBeGreaterThan(1);
  const all = JSON.stringify(told);
  for (const secret of [KEY, HASH, "order-4711"]) expect(all).not.toContain(secret);
});

test("what the hook throws ends the call, and is no failure of the transport", async () => {
  const transport = new FakeTransport(LIMITS);
  const onRequest = (): void => {
    throw new RangeError("the log is full");
  };
  await expect(clientOf(transport, { onRequest }).client.limits()).rejects.toThrow(RangeError);
  expect(transport.requests).toHaveLength(1);
});
