import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { LIMITS } from "@event-anchoring/api-contract";
import { claimBody } from "@event-anchoring/testkit/records";
import { startHarness } from "./api-harness.ts";
import type { Harness } from "./api-harness.ts";
import { claimAbout, hex } from "./records.ts";

// A target that is a route's path is looked up; an empty query after it makes the same request one for the router. Two
// equal nodes get the same requests, each in one of the two ways: status, headers and bodies are equal byte for byte,
// and so is what is logged and counted.

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: readonly string[];
  readonly body?: string;
  /** Sent as it is, after the head that the other fields make; absent: by its length. */
  readonly framing?: string;
}

const ONE = "/v1/event-anchors";
const BATCH = `${ONE}/batch`;
const JSON_TYPE = "Content-Type: application/json";

let looked: Harness;
let routed: Harness;
let events: Readonly<Record<string, string>>;
beforeAll(async () => {
  [looked, routed] = await Promise.all([startHarness({ accessLog: "all" }), startHarness({ accessLog: "all" })]);
  const { origin } = looked;
  const event = { origin_fingerprint: origin, event_hash: hex(1) };
  const named = { ...event, client_event_id: "order 7" };
  const items = [{ event_hash: hex(2) }, { event_hash: hex(3), client_event_id: "order 8" }];
  const unknown = { event_hash: hex(4), client_event_id: "order 7" };
  events = {
    plain: JSON.stringify(event),
    named: JSON.stringify(named),
    conflict: JSON.stringify({ ...named, event_hash: hex(9) }),
    "another origin": JSON.stringify({ ...event, origin_fingerprint: hex(200) }),
    "upper case": JSON.stringify({ ...event, event_hash: hex(0xab).toUpperCase() }),
    "a key twice": JSON.stringify(event).replace("{", `{"event_hash":"${hex(5)}",`),
    "no JSON": "{",
    "not UTF-8": "\xff\xfe",
    NUL: `${JSON.stringify(event)}\0`,
    nothing: "",
    batch: JSON.stringify({ origin_fingerprint: origin, events: items }),
    "batch with a conflict": JSON.stringify({ origin_fingerprint: origin, events: [...items, unknown] }),
    "atomic batch with a conflict": JSON.stringify({
      origin_fingerprint: origin,
      events: [...items, unknown],
      atomic: true,
    }),
    "batch of nobody": JSON.stringify({ origin_fingerprint: origin, events: [] }),
    "too much": " ".repeat(LIMITS.bodyBytesMax + 1),
    claim: JSON.stringify(claimBody(claimAbout(looked, "somebody"))),
  };
});
afterAll(async () => {
  await Promise.all([looked.close(), routed.close()]);
});

function head({ method = "POST", path = ONE, headers = [] }: Sent, key: string, mark: string): string {
  const own = headers.some((line) => /^(authorization|x-api-key):/i.test(line)) ? [] : [`Authorization: Bearer ${key}`];
  const lines = [`${method} ${path}${mark} HTTP/1.1`, "Host: x", "X-Request-Id: both", ...own, ...headers];
  const last = headers.some((line) => line.startsWith("Connection:")) ? [] : ["Connection: close"];
  return [...lines, ...last].join("\r\n");
}

function bytesOf(sent: Sent, key: string, mark: string): string {
  const body = sent.body ?? "";
  const type = (sent.headers ?? []).some((line) => line.startsWith("Content-Type:")) ? "" : `${JSON_TYPE}\r\n`;
  return `${head(sent, key, mark)}\r\n${type}${sent.framing ?? `Content-Length: ${body.length}\r\n\r\n${body}`}`;
}

/** Without what is of a moment: the date, and the ids of what is not a request. */
const timeless = (answer: string): string =>
  answer.replaceAll(/^Date: .*$/gm, "Date: now").replaceAll(/[0-9a-f]{12}-[0-9a-z]+/g, "id");

/** What both have answered. */
async function same(sent: Sent): Promise<string> {
  const [one, other] = await Promise.all([
    looked.raw(bytesOf(sent, looked.key, "")),
    routed.raw(bytesOf(sent, routed.key, "?")),
  ]);
  expect(timeless(one)).toBe(timeless(other));
  return one;
}

const chunked = (body: string): string =>
  `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

/** In this order: what one has recorded, the next ones meet. */
const SENT: readonly (readonly [what: string, expected: number, sent: Sent & { readonly event?: string }])[] = [
  ["an event", 201, { event: "plain" }],
  ["an event with an id", 201, { event: "named" }],
  ["the same again", 200, { event: "named" }],
  ["its id for another", 409, { event: "conflict" }],
  ["at once", 202, { event: "plain", headers: ["Prefer: respond-async"] }],
  ["with time to wait", 201, { event: "plain", headers: ["Prefer: wait=2"] }],
  ["in chunks", 201, { event: "plain", framing: "chunked" }],
  ["after 100-continue", 201, { event: "plain", headers: ["Expect: 100-continue"] }],
  ["with another expectation", 400, { event: "plain", headers: ["Expect: 200-ok"] }],
  ["with the key as X-API-Key", 201, { event: "plain", headers: ["X-API-Key: KEY"] }],
  ["with two keys", 401, { event: "plain", headers: ["X-API-Key: KEY", "Authorization: Bearer other"] }],
  ["without a key", 401, { event: "plain", headers: ["Authorization: none"] }],
  ["without a key, and no JSON", 401, { event: "no JSON", headers: ["Authorization: none"] }],
  ["of another origin", 409, { event: "another origin" }],
  ["in upper case", 201, { event: "upper case" }],
  ["a key twice", 400, { event: "a key twice" }],
  ["no JSON", 400, { event: "no JSON" }],
  ["not UTF-8", 400, { event: "not UTF-8" }],
  ["NUL at the end", 400, { event: "NUL" }],
  ["no body", 400, { event: "nothing" }],
  ["a body that is too large", 413, { event: "too much" }],
  ["a length that is too large", 413, { framing: `Content-Length: ${LIMITS.bodyBytesMax + 1}\r\n\r\n` }],
  ["another media type", 415, { event: "plain", headers: ["Content-Type: text/plain"] }],
  ["compressed", 415, { event: "plain", headers: ["Content-Encoding: gzip"] }],
  ["two lengths", 400, { framing: "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}" }],
  ["a length and chunks", 400, { framing: `Content-Length: 2\r\n${chunked("{}")}` }],
  ["a chunk that is none", 400, { framing: "Transfer-Encoding: chunked\r\n\r\nzz\r\n" }],
  ["too many headers", 431, { event: "plain", headers: Array.from({ length: 70 }, (_, at) => `X-${at}: 1`) }],
  ["a batch", 200, { path: BATCH, event: "batch" }],
  ["a batch with a conflict", 200, { path: BATCH, event: "batch with a conflict" }],
  ["an atomic batch with a conflict", 409, { path: BATCH, event: "atomic batch with a conflict" }],
  ["a batch of nobody", 400, { path: BATCH, event: "batch of nobody" }],
  ["a claim", 201, { path: "/v1/claim-anchors", event: "claim" }],
  ["an event as a claim", 400, { path: "/v1/claim-anchors", event: "plain" }],
  ["an event as a grant", 400, { path: "/v1/grant-anchors", event: "plain" }],
  ["the latest", 200, { method: "GET", path: `${ONE}/latest` }],
  ["the latest, without a key", 401, { method: "GET", path: `${ONE}/latest`, headers: ["Authorization: none"] }],
  ["the head of the latest", 200, { method: "HEAD", path: `${ONE}/latest` }],
  ["a method that is none", 405, { method: "DELETE" }],
  ["a list without a filter", 400, { method: "GET" }],
  ["the limits", 200, { method: "GET", path: "/v1/limits" }],
  ["a route that is none", 404, { method: "GET", path: `${ONE}/` }],
];

test.each(SENT)("%s: %i, and all of it alike", async (_what, expected, { event, ...sent }) => {
  const body = event === undefined ? "" : (events[event] ?? "");
  const headers = (sent.headers ?? []).map((line) => line.replace("KEY", looked.key));
  const framing = sent.framing === "chunked" ? { framing: chunked(body) } : {};
  const answer = await same({ ...sent, headers, body, ...framing });
  const statuses = [...answer.matchAll(/^HTTP\/1\.1 ([0-9]{3})/gm)].map(([, status]) => Number(status));
  expect(statuses.at(-1)).toBe(expected);
});

test("requests on one connection are answered in their order, alike", async () => {
  const [first, second] = [events["plain"], events["batch"]];
  const open = { headers: ["Connection: keep-alive"] };
  const requests = (key: string, mark: string): string =>
    bytesOf({ ...open, ...(first === undefined ? {} : { body: first }) }, key, mark) +
    bytesOf({ path: BATCH, ...(second === undefined ? {} : { body: second }) }, key, mark);
  const [one, other] = await Promise.all([looked.raw(requests(looked.key, "")), routed.raw(requests(routed.key, "?"))]);
  expect(timeless(one)).toBe(timeless(other));
  expect(one.match(/HTTP\/1\.1 20[01]/g)).toHaveLength(2);
});

/** Without what is of a moment. */
function requestLines({ logged }: Harness): object[] {
  return logged.flatMap(({ fields }) => ("duration_ms" in fields ? [{ ...fields, duration_ms: 0 }] : []));
}

async function counted(harness: Harness): Promise<readonly string[]> {
  const { text } = await harness.metrics();
  return text
    .split("\n")
    .filter((line) => /^anchoring_api_(request_seconds_count|problems_total|requests_in)/.test(line));
}

test("what is logged and counted is alike too", async () => {
  expect(requestLines(looked).length).toBeGreaterThan(SENT.length / 2);
  const sorted = (lines: object[]): string[] => lines.map((line) => JSON.stringify(line)).sort();
  expect(sorted(requestLines(looked))).toEqual(sorted(requestLines(routed)));
  expect((await counted(looked)).length).toBeGreaterThan(10);
  expect(await counted(looked)).toEqual(await counted(routed));
});
