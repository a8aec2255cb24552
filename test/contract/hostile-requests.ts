/** Requests that are none: what a client can get wrong, or would like to be misread. */
import { LIMITS } from "@event-anchoring/api-contract";

/** Targets of which none is a path of the API. @param id of an anchor that exists */
export function nearMisses(id: string): readonly string[] {
  return [
    "/v1/event-anchorsXYZ",
    "/v1/event-anchors:verifyX",
    "/v1/event-anchors%253Averify",
    "/v1/event-anchors:VERIFY",
    "/v1/Event-Anchors:verify",
    "/V1/limits",
    "/v1/limits/",
    "/v1//limits",
    "/v1/./limits",
    "/v1/x/../limits",
    "//v1/limits",
    "/v1/limits%00",
    "/v1/limits;a=1",
    "/v1",
    "/verify/",
    "/metrics",
    "/v1/event-anchors/",
    `/v1/event-anchors/${id}/`,
    `/v1/event-anchors/${id}/trace/x`,
    `/v1/event-anchors/${id}/TRACE`,
    `/v1/event-anchors/${id}/metrics`,
    `/v1/event-anchor/${id}`,
    `/v1/claim-anchors/${id}`,
    "/docs/",
    "/docs/a/b",
    `/v1/origins/${id}`,
    `/v1/origins/${id}/checkpoint/`,
    `/v1/origins/${id}/tile`,
    `/v1/origins/${id}/tile/`,
    `/v1/origins/${id}/tile/0`,
    `/v1/origins/${id}/tiles/0/000`,
    "/openapi.JSON",
    "/healthz/",
    "/healthzX",
    "*",
  ];
}

/** @param id of an anchor that exists */
export function badIds(id: string): readonly string[] {
  const encoded = ["%2f", "..%2f..%2fmetrics", `${id}%2ftrace`, `${id}%00`, "%ff", "%", "%E0%A4%A", "latest%20"];
  return [...encoded, "x", ".", `0x${id.slice(2)}`, id.slice(1), `${id}0`];
}

/** Ways to write a tile's place that are not the one. */
export const BAD_TILES: readonly string[] = [
  "0",
  "0000",
  "000.p/0",
  "000.p/01",
  "000.p/256",
  "000.p",
  "000.p%2f1",
  "x000/001",
  "x001%2f001",
  "x001",
  "x001//001",
  "001/001",
  "000/",
  "%00",
];

export const BAD_QUERIES: readonly string[] = [
  "?&",
  "?a",
  "?limit=1&limit=1",
  "?limit=1&%6cimit=2",
  "?__proto__=1",
  "?limit[]=1",
  "?%=1",
  "?limit=%zz",
];

export const OTHER_MEDIA_TYPES: readonly string[] = [
  "text/plain",
  "application/x-www-form-urlencoded",
  "application/jsonx",
  "application/json; charset=latin1",
  "multipart/form-data; boundary=x",
  "",
];

/** JSON that two parsers could read differently, and text that is no JSON. None has more than a body may have. */
export const BAD_JSON: readonly string[] = [
  " ",
  "{",
  "{}{}",
  "nul",
  "\ufeff{}",
  '{"anchor_id":1,"anchor_id":2}',
  '{"a":1,"\\u0061":2}',
  '{"__proto__":{}}',
  '{"\\u005f_proto__":1}',
  '{"as_of":1e400}',
  '{"as_of":1e2}',
  '{"as_of":1.0}',
  '{"as_of":-0}',
  '{"as_of":01}',
  '{"as_of":9007199254740993}',
  '{"as_of":NaN}',
  '{"client_event_id":"\\ud800"}',
  "{'a':1}",
  '{"a":1,}',
  "[".repeat(30_000),
  '{"a":'.repeat(10_000),
];

/** More than a body may have, unless it is a batch's. */
export const DEEP_JSON = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;

export const BAD_HTTP: readonly string[] = [
  "GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  "GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
  "GET /health z HTTP/1.1\r\nHost: a\r\n\r\n",
  "GET /healthz HTTP/9.9\r\nHost: a\r\n\r\n",
  "\u0016\u0003\u0001\u0002\u0000",
  "GET /healthz HTTP/1.1\r\nHost: a\r\nA b: c\r\n\r\n",
  `GET /healthz HTTP/1.1\r\nHost: a\r\nA: ${"a".repeat(LIMITS.headerBytesMax)}\r\n\r\n`,
];

/** What stands for a key and is none. @param good one that is */
export function badKeys(good: string, other: string): readonly Readonly<Record<string, string>>[] {
  return [
    {},
    { authorization: "" },
    { authorization: "Bearer" },
    { authorization: "Bearer x" },
    { authorization: `Basic ${good}` },
    { authorization: `Bearer ${good}x` },
    { authorization: `Bearer ${good}`, "x-api-key": other },
    { "x-api-key": "" },
  ];
}
