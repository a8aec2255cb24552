import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  LIMITS,
  RFC_3339_MS_MAX,
  parseBody,
  parsePath,
  parseQuery,
  parseRfc3339,
  routeOf,
} from "@event-anchoring/api-contract";
import type { RouteId } from "@event-anchoring/api-contract";
import { openApiDocument } from "../../packages/api-contract/src/openapi/document.ts";
import { OpenApiReader, ValueMaker, spoiled } from "@event-anchoring/testkit/openapi";
import type { JsonObject, Operation, Parameter } from "@event-anchoring/testkit/openapi";

// What the OpenAPI document says of a request against what the service's own parsers do with it. Both come from the
// same schemas; this holds the few rules that one of them could say otherwise than the other.

const RUNS = 300;
/** Another one to look elsewhere: CONTRACT_SEED=7 npm run jest -- test/contract */
const SEED = Number(process.env["CONTRACT_SEED"] ?? 42);

const reader = new OpenApiReader(openApiDocument());
const values = new ValueMaker(reader);

/** Rules that a schema states in words: a value that breaks one is refused, though its schema takes it. */
function breaksRuleInWords(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(breaksRuleInWords);
  if (typeof value !== "object" || value === null) return false;
  const { as_of: asOf, origin_fingerprint: origin, events } = value as Record<string, unknown>;
  if (typeof asOf === "string" && parseRfc3339(asOf) === null) return true;
  const items: readonly unknown[] = Array.isArray(events) ? events : [];
  return items.some((item) => isOfAnotherOrigin(item, origin));
}

function isOfAnotherOrigin(item: unknown, origin: unknown): boolean {
  if (typeof item !== "object" || item === null || !("origin_fingerprint" in item)) return false;
  const own = item.origin_fingerprint;
  return typeof own === "string" && own.toLowerCase() !== String(origin).toLowerCase();
}

const withBody = reader.operations.filter(({ body }) => body !== null);

describe.each(withBody.map((operation) => [operation.id, operation] as const))("the body of %s", (id, operation) => {
  const { bodySchema } = routeOf(id as RouteId);
  if (bodySchema === null || operation.body === null) throw new Error(`${id} has no body`);
  const { schema } = operation.body.mediaType;
  const validate = reader.validator(schema);
  const isParsed = (value: unknown): boolean => parseBody(bodySchema, JSON.stringify(value)).ok;

  test("what the document describes is taken", () => {
    fc.assert(
      fc.property(values.good(schema), (value) => {
        expect(validate(value)).toBe(true);
        expect(isParsed(value)).toBe(!breaksRuleInWords(value));
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });

  test("what it does not describe is refused", () => {
    let refused = 0;
    fc.assert(
      fc.property(spoiled(values.good(schema)), (value) => {
        const isDescribed = validate(value);
        if (!isDescribed) refused++;
        expect(isParsed(value)).toBe(isDescribed && !breaksRuleInWords(value));
      }),
      { numRuns: RUNS, seed: SEED },
    );
    expect(refused).toBeGreaterThan(RUNS / 4);
  });
});

/** In a query a list is its items with commas between them. */
function asText(value: unknown): string {
  return Array.isArray(value) ? value.map(String).join(",") : String(value);
}

const QUERY_RULES: Readonly<Record<string, (query: ReadonlyMap<string, string>) => boolean>> = {
  listEventAnchors: (query) =>
    ["event_hash", "iris_ref", "grant_ref", "client_event_id"].filter((name) => query.has(name)).length !== 1,
  getLatestEventAnchor: (query) => query.has("after_size") !== query.has("wait"),
  getConsistency: (query) => Number(query.get("to_size") ?? Number.MAX_SAFE_INTEGER) < Number(query.get("from_size")),
  getClaimAnchor: (query) =>
    Number(query.get("attribute_type")) > 0xffff_ffff ||
    (!isHistory(query) && (isPaged(query) || !query.has("attribute_type"))),
  getGrantAnchor: (query) => {
    const parties = ["grantor_fingerprint", "grantee_fingerprint"].filter((name) => query.has(name)).length;
    return isHistory(query) ? parties === 0 : parties < 2 || isPaged(query);
  },
  traceEventAnchor: (query) =>
    isNoPosition(query.get("as_of")) ||
    isBeyondEveryPage(query.get("delegation_cursor") ?? "") ||
    (query.get("proof") === "true" && query.has("delegation_cursor")),
};

function isHistory(query: ReadonlyMap<string, string>): boolean {
  return query.get("history") === "true";
}

function isPaged(query: ReadonlyMap<string, string>): boolean {
  return query.has("cursor") || query.has("limit");
}

function isNoPosition(asOf: string | undefined): boolean {
  if (asOf === undefined) return false;
  return /^[0-9]+$/.test(asOf) ? Number(asOf) > Number.MAX_SAFE_INTEGER : parseRfc3339(asOf) === null;
}

/** A cursor of hops is opaque, so the document does not say what its numbers may be. */
function isBeyondEveryPage(cursor: string): boolean {
  const [hopsBefore = 0, sequence = 0, timeMs = 0] = cursor.split(".").map(Number);
  return hopsBefore > LIMITS.traceDelegationMax || sequence > Number.MAX_SAFE_INTEGER || timeMs > RFC_3339_MS_MAX;
}

function inQuery(operation: Operation): readonly Parameter[] {
  return operation.parameters.filter((parameter) => parameter.in === "query");
}

/** Whether the document takes the text of a parameter, which has numbers and lists as text. */
function isDescribed(schema: JsonObject, text: string): boolean {
  if (schema["type"] === "integer") {
    return /^(?:0|[1-9][0-9]{0,15})$/.test(text) && reader.validator(schema)(Number(text));
  }
  return reader.validator(schema)(schema["type"] === "array" ? text.split(",") : text);
}

const withQuery = reader.operations.filter((operation) => inQuery(operation).length > 0);

describe.each(withQuery.map((operation) => [operation.id, operation] as const))("the query of %s", (id, operation) => {
  const { querySchema } = routeOf(id as RouteId);
  const isParsed = (query: ReadonlyMap<string, string>): boolean => {
    const pairs = [...query].map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
    return parseQuery(querySchema, pairs.join("&")).ok;
  };
  const good = fc
    .record(
      Object.fromEntries(
        inQuery(operation).map(({ name, schema, required }) => {
          const value = values.good(schema, name).map(asText);
          return [name, required === true ? value : fc.option(value)];
        }),
      ),
    )
    .map((made) => new Map(Object.entries(made).flatMap(([name, value]) => (value === null ? [] : [[name, value]]))));

  test("what the document describes is taken", () => {
    fc.assert(
      fc.property(good, (query) => {
        expect(isParsed(query)).toBe(!(QUERY_RULES[id]?.(query) ?? false));
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });

  test("a parameter that it does not name, and a value that it does not describe, are refused", () => {
    const parameters = inQuery(operation);
    const wrong = fc.oneof(fc.constantFrom("", "-1", "00", "x", "null", "0x", " ", "é"), fc.string({ maxLength: 70 }));
    fc.assert(
      fc.property(good, fc.constantFrom(...parameters), wrong, (query, { name, schema }, text) => {
        expect(isParsed(new Map([...query, [`${name}s`, "1"]]))).toBe(false);
        const spoiledQuery = new Map([...query, [name, text]]);
        const isRefusedInWords = QUERY_RULES[id]?.(spoiledQuery) ?? false;
        expect(isParsed(spoiledQuery)).toBe(isDescribed(schema, text) && !isRefusedInWords);
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });
});

test("path parameters are what the document says", () => {
  for (const { id, parameters } of reader.operations) {
    const { pathSchema } = routeOf(id as RouteId);
    const inPath = parameters.filter((parameter) => parameter.in === "path");
    const shown = Object.fromEntries(inPath.map(({ name, example }) => [name, String(example)]));
    for (const { name, schema } of inPath) {
      fc.assert(
        fc.property(fc.oneof(values.good(schema).map(String), fc.string({ maxLength: 70 })), (text) => {
          const isParsed = pathSchema !== null && parsePath(pathSchema, { ...shown, [name]: text }).ok;
          expect([name, text, isParsed]).toEqual([name, text, isDescribed(schema, text)]);
        }),
        { numRuns: 50, seed: SEED },
      );
    }
  }
  expect.hasAssertions();
});
