/** Values for the part of JSON Schema that the OpenAPI document uses: good ones, and good ones with one thing wrong. */
import fc from "fast-check";
import type { Arbitrary } from "fast-check";
import type { JsonObject, OpenApiReader } from "./openapi-reader.ts";

/** Values that mean something to the service, by the names of fields; with them a request gets past its shape. */
export type KnownValues = ReadonlyMap<string, readonly string[]>;

const NOTHING_KNOWN: KnownValues = new Map();
const STRING_CHARS_MAX = 40;

function asObject(value: unknown): JsonObject {
  if (typeof value !== "object" || value === null) throw new TypeError(`not a schema: ${JSON.stringify(value)}`);
  return value as JsonObject;
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function withoutKey(object: JsonObject, key: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));
}

export class ValueMaker {
  readonly #reader: OpenApiReader;
  readonly #known: KnownValues;

  constructor(reader: OpenApiReader, known: KnownValues = NOTHING_KNOWN) {
    this.#reader = reader;
    this.#known = known;
  }

  /** @param name of the field that it is for. @throws TypeError for a schema that uses something new */
  good(part: JsonObject, name = ""): Arbitrary<unknown> {
    const schema = asObject(this.#reader.resolve(part));
    if (schema["const"] !== undefined) return fc.constant(schema["const"]);
    if (schema["enum"] !== undefined) return fc.constantFrom(...asList(schema["enum"]));
    const types = asList(schema["type"]).map((type) => ({ ...schema, type }));
    const choices = [...types, ...asList(schema["anyOf"])];
    if (choices.length > 0) return fc.oneof(...choices.map((choice) => this.good(asObject(choice), name)));
    switch (schema["type"]) {
      case "null":
        return fc.constant(null);
      case "boolean":
        return fc.boolean();
      case "integer":
        return this.#integer(schema);
      case "string":
        return this.#text(schema, name);
      case "array":
        return this.#list(schema, name);
      case "object":
        return this.#object(schema);
      default:
        throw new TypeError(`no values for ${JSON.stringify(schema)}`);
    }
  }

  #integer({ minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: JsonObject): Arbitrary<unknown> {
    const [min, max] = [Number(minimum), Number(maximum)];
    return fc
      .oneof(fc.integer({ min, max: Math.min(max, min + 20) }), fc.constantFrom(min, max), fc.maxSafeNat())
      .filter((value) => value >= min && value <= max);
  }

  #text({ pattern }: JsonObject, name: string): Arbitrary<unknown> {
    const any = typeof pattern === "string" ? fc.stringMatching(new RegExp(pattern)) : fc.string();
    const known = this.#known.get(name) ?? [];
    return known.length === 0 ? any : fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...known) }, any);
  }

  #list(schema: JsonObject, name: string): Arbitrary<unknown> {
    const { items, minItems = 0, maxItems = 3 } = schema;
    const maxLength = Math.min(Number(maxItems), 4);
    return fc.array(this.good(asObject(items), name), { minLength: Number(minItems), maxLength });
  }

  #object(schema: JsonObject): Arbitrary<unknown> {
    const variants = asList(schema["oneOf"]).map(asObject);
    if (variants.length > 0) {
      const whole = withoutKey(schema, "oneOf");
      return fc.oneof(...variants.map((variant) => this.#object(this.#narrowed(whole, variant))));
    }
    const properties = asObject(schema["properties"] ?? {});
    const required = new Set(asList(schema["required"]));
    const fields = Object.entries(properties).map(([name, property]) => {
      const value = this.good(asObject(property), name);
      return [name, required.has(name) ? value.map((each) => ({ each })) : fc.option(value.map((each) => ({ each })))];
    });
    const record = fc.record(Object.fromEntries(fields) as Record<string, Arbitrary<{ each: unknown } | null>>);
    const made = record.map((all) =>
      Object.fromEntries(Object.entries(all).flatMap(([name, field]) => (field === null ? [] : [[name, field.each]]))),
    );
    if (schema["not"] === undefined) return made;
    const isExcluded = this.#reader.validator(asObject(schema["not"]));
    return made.filter((value) => !isExcluded(value));
  }

  /** One variant of an object that says of some of its fields which type they have. */
  #narrowed(schema: JsonObject, variant: JsonObject): JsonObject {
    const properties = { ...asObject(schema["properties"]) } as Record<string, unknown>;
    for (const [name, narrow] of Object.entries(asObject(variant["properties"]))) {
      const { type } = asObject(narrow);
      const choices = asList(asObject(properties[name])["anyOf"]).map(asObject);
      properties[name] = choices.find((choice) => choice["type"] === type) ?? narrow;
    }
    return { ...schema, properties, required: [...asList(schema["required"]), ...asList(variant["required"])] };
  }
}

const WRONG_VALUES: readonly unknown[] = [
  null,
  true,
  0,
  1,
  -1,
  0.5,
  2 ** 53,
  "",
  "0",
  "0x",
  "null",
  "00".repeat(31),
  "00".repeat(33),
  `${"00".repeat(31)}0g`,
  ` ${"00".repeat(32)}`,
  `0x${"00".repeat(32)}`,
  "\u0000",
  "é",
  "\u{1f600}",
  "a".repeat(129),
  "1969-12-31T23:59:59Z",
  "2026-02-30T00:00:00Z",
  [],
  [[]],
  [null],
  {},
  { a: 1 },
];

const ODD_NAMES = ["", "a", "constructor", "toString", "prototype", "Anchor_id", "anchor-id", "event_hash ", "é"];

/** Replaces, drops or adds at a place that `dice` chooses; each number of `dice` is used for one choice. */
function spoil(value: unknown, dice: readonly number[], replacement: unknown): unknown {
  const [roll = 0, ...rest] = dice;
  if (Array.isArray(value) && value.length > 0 && roll % 4 !== 0) {
    const at = roll % value.length;
    return value.map((each: unknown, index) => (index === at ? spoil(each, rest, replacement) : each));
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return replacement;
  const names = Object.keys(value);
  const name = names[roll % Math.max(names.length, 1)];
  const [action = 0] = rest;
  if (name === undefined || action % 5 === 0) {
    return { ...value, [ODD_NAMES[roll % ODD_NAMES.length] ?? ""]: replacement };
  }
  const object = value as JsonObject;
  if (action % 5 === 1) return withoutKey(object, name);
  return { ...object, [name]: spoil(object[name], rest.slice(1), replacement) };
}

/** Good values of which one thing is changed; what comes out may happen to be good again. */
export function spoiled(good: Arbitrary<unknown>): Arbitrary<unknown> {
  const dice = fc.array(fc.nat({ max: 1000 }), { minLength: 8, maxLength: 8 });
  const replacement = fc.oneof(fc.constantFrom(...WRONG_VALUES), fc.string({ maxLength: STRING_CHARS_MAX }));
  return fc.tuple(good, dice, replacement).map(([value, rolls, wrong]) => spoil(value, rolls, wrong));
}
