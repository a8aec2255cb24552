import { describe, expect, test } from "@jest/globals";
import {
  LIMITS,
  createBatchSchema,
  createEventSchema,
  latestQuerySchema,
  parseBody,
  parsePath,
  parsePrefer,
  parseQuery,
  anchorPathSchema,
  traceQuerySchema,
  verifyBatchSchema,
  verifyEventSchema,
} from "@event-anchoring/api-contract";
import type { Parsed, ProblemItem } from "@event-anchoring/api-contract";

const hex = (byte: number): string => byte.toString(16).padStart(2, "0").repeat(32);
const bytes = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);

function valueOf<T>(result: Parsed<T>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.problem));
  return result.value;
}

function faultOf(result: Parsed<unknown>): { code: string; items: readonly ProblemItem[] } {
  if (result.ok) throw new Error(`accepted: ${JSON.stringify(result.value)}`);
  return { code: result.problem.code, items: result.problem.errors ?? [] };
}

const create = (body: unknown): Parsed<unknown> => parseBody(createEventSchema, JSON.stringify(body));
const good = { origin_fingerprint: hex(1), event_hash: hex(2) };

describe("POST /v1/event-anchors", () => {
  test("the whole request, in bytes", () => {
    const semantic_anchor = {
      iris_ref: hex(3),
      scroll_ref: "",
      grant_ref: hex(0xab).toUpperCase(),
      bond_ref: null,
      event_data_hash: hex(2),
    };
    expect(valueOf(create({ ...good, semantic_anchor, client_event_id: "order 7" }))).toEqual({
      originFingerprint: bytes(1),
      eventHash: bytes(2),
      semanticAnchor: {
        irisRef: bytes(3),
        scrollRef: bytes(0),
        grantRef: bytes(0xab),
        bondRef: bytes(0),
        yieldRef: bytes(0),
        eventDataHash: bytes(2),
      },
      clientEventId: "order 7",
      actor: null,
    });
  });

  test.each([undefined, null, {}, { iris_ref: null }, { yield_ref: "" }, { bond_ref: hex(0) }])(
    "semantic_anchor %j is empty",
    (semantic_anchor) => {
      const value = valueOf(create({ ...good, semantic_anchor })) as { semanticAnchor: object };
      for (const reference of Object.values(value.semanticAnchor)) expect(reference).toEqual(bytes(0));
    },
  );

  test.each([
    ["no body object", [], "", "wrong_type"],
    ["null", null, "", "wrong_type"],
    ["a string", "x", "", "wrong_type"],
    ["no event_hash", { origin_fingerprint: hex(1) }, "/event_hash", "required"],
    ["no origin", { event_hash: hex(1) }, "/origin_fingerprint", "required"],
    ["null event_hash", { ...good, event_hash: null }, "/event_hash", "wrong_type"],
    ["a number", { ...good, event_hash: 5 }, "/event_hash", "wrong_type"],
    ["a list", { ...good, event_hash: [hex(1)] }, "/event_hash", "wrong_type"],
    ["63 digits", { ...good, event_hash: hex(1).slice(1) }, "/event_hash", "wrong_format"],
    ["65 digits", { ...good, event_hash: `${hex(1)}0` }, "/event_hash", "wrong_format"],
    ["66 digits with 0x", { ...good, event_hash: `0x${hex(1)}` }, "/event_hash", "wrong_format"],
    ["0x instead of digits", { ...good, event_hash: `0x${hex(1).slice(2)}` }, "/event_hash", "wrong_format"],
    ["spaces", { ...good, event_hash: ` ${hex(1).slice(1)}` }, "/event_hash", "wrong_format"],
    ["a newline at the end", { ...good, event_hash: `${hex(1)}\n` }, "/event_hash", "wrong_format"],
    ["letters beyond f", { ...good, event_hash: "zz".repeat(32) }, "/event_hash", "wrong_format"],
    ["full-width digits", { ...good, event_hash: "１".repeat(64) }, "/event_hash", "wrong_format"],
    ["empty event_hash", { ...good, event_hash: "" }, "/event_hash", "wrong_format"],
    ["an unknown field", { ...good, "a/b": 1 }, "/a~1b", "unknown_field"],
    ["constructor", { ...good, constructor: 1 }, "/constructor", "unknown_field"],
    ["camelCase", { ...good, clientEventId: "x" }, "/clientEventId", "unknown_field"],
    ["a bad reference", { ...good, semantic_anchor: { bond_ref: "00" } }, "/semantic_anchor/bond_ref", "wrong_format"],
    ["an unknown reference", { ...good, semantic_anchor: { ref: "" } }, "/semantic_anchor/ref", "unknown_field"],
    ["references as a list", { ...good, semantic_anchor: [] }, "/semantic_anchor", "wrong_type"],
    ["references as text", { ...good, semantic_anchor: "" }, "/semantic_anchor", "wrong_type"],
  ])("%s", (_what, body, pointer, code) => {
    const fault = faultOf(create(body));
    expect(fault.code).toBe("invalid_request");
    expect(fault.items).toEqual([expect.objectContaining({ pointer, code })]);
  });

  test.each(["", "a".repeat(129), "a\tb", "a\u0000b", "é", "\u007f", "a\n", "\u{1f600}"])(
    "client_event_id %j has a code of its own",
    (client_event_id) => {
      const fault = faultOf(create({ ...good, client_event_id }));
      expect(fault.code).toBe("client_event_id_invalid");
      expect(fault.items).toEqual([expect.objectContaining({ pointer: "/client_event_id" })]);
    },
  );

  test.each(["a", " ", "~", "a".repeat(128), "__proto__"])("client_event_id %j is acceptable", (client_event_id) => {
    expect(valueOf(create({ ...good, client_event_id }))).toMatchObject({ clientEventId: client_event_id });
  });

  test("several faults are told together, but not more than a page of them", () => {
    // The first unknown field of an object is named.
    expect(faultOf(create({ event_hash: 1, x: 1, y: 2 })).items).toHaveLength(3);
    const events = Array.from({ length: 500 }, () => ({}));
    expect(faultOf(parseBody(createBatchSchema, JSON.stringify({ events }))).items).toHaveLength(32);
  });
});

describe("batches", () => {
  const batch = (body: object) => parseBody(createBatchSchema, JSON.stringify({ origin_fingerprint: hex(1), ...body }));

  test("an item may repeat the origin; atomic is false unless said", () => {
    const value = valueOf(batch({ events: [{ event_hash: hex(2), origin_fingerprint: hex(1) }] }));
    expect(value).toMatchObject({ isAtomic: false, events: [{ eventHash: bytes(2), clientEventId: null }] });
    expect(value.events[0]).not.toHaveProperty("originFingerprint");
  });

  test.each([
    [{}, "/events", "required"],
    [{ events: [] }, "/events", "too_small"],
    [{ events: {} }, "/events", "wrong_type"],
    [{ events: Array.from({ length: 1001 }, () => ({})) }, "/events", "too_large"],
    [{ events: Array.from({ length: 30_000 }, () => 0) }, "/events", "too_large"],
    [{ events: Array.from({ length: 500_000 }, () => 0) }, `/events/${LIMITS.jsonValuesMax - 3}`, "too_many_values"],
    [{ events: [null] }, "/events/0", "wrong_type"],
    [{ events: [{ event_hash: hex(2), origin_fingerprint: hex(3) }] }, "/events/0/origin_fingerprint", "wrong_format"],
    [{ events: [{ event_hash: hex(2) }], atomic: "true" }, "/atomic", "wrong_type"],
    [{ events: [{ event_hash: hex(2) }], atomic: 1 }, "/atomic", "wrong_type"],
  ])("refused: %#", (body, pointer, code) => {
    expect(faultOf(batch(body)).items[0]).toMatchObject({ pointer, code });
  });

  test("a bad client_event_id beside another fault is an invalid request", () => {
    const events = [{ event_hash: hex(2), client_event_id: "" }, { event_hash: "x" }];
    expect(faultOf(batch({ events })).code).toBe("invalid_request");
    expect(faultOf(batch({ events: events.slice(0, 1) })).code).toBe("client_event_id_invalid");
  });

  test("verifying a batch", () => {
    const body = JSON.stringify({ anchors: [{ anchor_id: hex(1) }, { anchor_id: hex(2), event_hash: hex(3) }] });
    expect(valueOf(parseBody(verifyBatchSchema, body))).toEqual({
      asOf: null,
      anchors: [
        { anchorId: bytes(1), eventHash: null },
        { anchorId: bytes(2), eventHash: bytes(3) },
      ],
    });
    for (const bad of ['{"anchors":[]}', '{"anchors":["' + hex(1) + '"]}', "{}", '{"anchors":[{}]}']) {
      expect(faultOf(parseBody(verifyBatchSchema, bad)).code).toBe("invalid_request");
    }
  });
});

describe("as_of", () => {
  const inBody = (as_of: unknown) => parseBody(verifyEventSchema, JSON.stringify({ anchor_id: hex(1), as_of }));
  const inQuery = (as_of: string) => parseQuery(traceQuerySchema, `as_of=${as_of}`);

  test("a number is a sequence and a string is a time; in a query digits are a sequence", () => {
    expect(valueOf(inBody(7)).asOf).toEqual({ kind: "sequence", sequence: 7 });
    expect(valueOf(inBody("1970-01-01T00:00:01Z")).asOf).toEqual({ kind: "time", timeMs: 1000 });
    expect(valueOf(inBody(null)).asOf).toBeNull();
    expect(valueOf(inQuery("0")).asOf).toEqual({ kind: "sequence", sequence: 0 });
    expect(valueOf(inQuery("1970-01-01T01:00:00+01:00")).asOf).toEqual({ kind: "time", timeMs: 0 });
    expect(valueOf(inQuery("1970-01-01T01:00:00%2B01:00")).asOf).toEqual({ kind: "time", timeMs: 0 });
  });

  test.each(["7", "", "now", "1970-01-01", [], {}, true])("refused in a body: %j", (asOf) => {
    expect(faultOf(inBody(asOf)).items[0]).toMatchObject({ pointer: "/as_of" });
  });

  test.each(["", "07", "-1", "1.0", "1e3", "0x1", "9007199254740992", "99999999999999999999", "now", " 1"])(
    "refused in a query: %j",
    (asOf) => {
      expect(faultOf(inQuery(asOf)).items[0]).toMatchObject({ parameter: "as_of" });
    },
  );
});

describe("queries and paths", () => {
  test("nothing is needed, everything may be given", () => {
    expect(valueOf(parseQuery(latestQuerySchema, ""))).toEqual({
      originFingerprint: null,
      fromSize: null,
      growth: null,
    });
    expect(valueOf(parseQuery(latestQuerySchema, `origin_fingerprint=${hex(0xaa).toUpperCase()}&from_size=3`))).toEqual(
      {
        originFingerprint: bytes(0xaa),
        fromSize: 3,
        growth: null,
      },
    );
    expect(valueOf(parseQuery(latestQuerySchema, "after_size=7&wait=30"))).toMatchObject({
      growth: { afterSize: 7, waitS: 30 },
    });
    expect(valueOf(parseQuery(traceQuerySchema, `trusted_roots=${hex(1)},${hex(2)}&limit=5&cursor=9`))).toEqual({
      asOf: null,
      trustedRoots: [bytes(1), bytes(2)],
      cursor: 9,
      hopsBefore: 0,
      limit: 5,
      wantsProof: false,
    });
  });

  test.each([
    "after_size=1",
    "wait=1",
    "after_size=1&wait=31",
    "after_size=1&wait=-1",
    "after_size=0&wait=1",
    "from_size",
    "from_size=",
    "from_size=0",
    "from_size=01",
    "from_size=1&from_size=1",
    "from_size=1&from%5fsize=1",
    "from_size=%",
    "from_size=%ff",
    "from_size[]=1",
    "__proto__=1",
    "other=1",
    "&",
    "origin_fingerprint=00",
    `origin_fingerprint=${hex(1)}%00`,
  ])("refused: %s", (search) => {
    expect(faultOf(parseQuery(latestQuerySchema, search)).code).toBe("invalid_request");
  });

  test("an id of a path is 64 hex digits and nothing else", () => {
    expect(valueOf(parsePath(anchorPathSchema, { anchor_id: hex(1) })).anchorId).toEqual(bytes(1));
    for (const bad of ["", "latest", "../../metrics", `${hex(1)}/x`, hex(1).slice(2), ["a"], undefined]) {
      expect(faultOf(parsePath(anchorPathSchema, { anchor_id: bad })).items[0]).toMatchObject({
        parameter: "anchor_id",
      });
    }
  });
});

describe("Prefer", () => {
  test.each([
    [undefined, null, false],
    ["", null, false],
    ["wait=7", 7, false],
    ["respond-async, wait=7", 7, true],
    ["Respond-Async", null, true],
    ["wait=31", 30, false],
    ["wait = 4", 4, false],
    ["wait=0", null, false],
    ["wait=-1", null, false],
    ["wait=1.5", null, false],
    ["wait=99999999999999", null, false],
    ["wait=3, wait=9", 3, false],
    ["return=minimal", null, false],
    ["respond-asynchronously", null, false],
    ["Witnessed, wait=7", 7, false, true],
    ["witnessed=yes", null, false],
  ])("%j", (header, waitSeconds, respondAsync, witnessed = false) => {
    expect(parsePrefer(header)).toEqual({ waitSeconds, respondAsync, witnessed });
  });
});
