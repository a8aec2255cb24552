import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";

// docs/openapi.json as people and generators read it: nothing without words, and no choice that two branches match.

type Schema = Readonly<Record<string, unknown>>;

interface Place {
  readonly path: string;
  readonly schema: Schema;
}

const document = JSON.parse(readFileSync(join(import.meta.dirname, "..", "..", "docs", "openapi.json"), "utf8")) as {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};
const named = document.components.schemas;
const REFERENCE = "#/components/schemas/";

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Every object of the document, but for examples, which are no schemas, and conditions, which declare nothing. */
function placesIn(value: unknown, path: string): Place[] {
  if (Array.isArray(value)) return value.flatMap((item, at) => placesIn(item, `${path}/${at}`));
  if (!isObject(value)) return [];
  const inner = Object.entries(value).flatMap(([key, each]) =>
    ["example", "examples", "default", "not"].includes(key) ? [] : placesIn(each, `${path}/${key}`),
  );
  return [{ path, schema: value }, ...inner];
}

const places = placesIn(document, "");

function resolved(schema: Schema): Schema {
  const reference = schema["$ref"];
  return typeof reference === "string" ? (named[reference.slice(REFERENCE.length)] ?? {}) : schema;
}

const properties = places.flatMap(({ path, schema }) =>
  isObject(schema["properties"]) && !path.endsWith("/properties")
    ? Object.entries(schema["properties"]).flatMap(([name, property]) =>
        isObject(property) ? [{ path: `${path}/${name}`, name, property }] : [],
      )
    : [],
);

test("every property has a description, its own or that of the schema it names", () => {
  expect(properties.length).toBeGreaterThan(450);
  const bare = properties.filter(({ property }) => typeof resolved(property)["description"] !== "string");
  expect(bare.map(({ path }) => path)).toEqual([]);
});

test("every named schema has a description", () => {
  const bare = Object.entries(named).filter(([, { description }]) => typeof description !== "string");
  expect(bare.map(([name]) => name)).toEqual([]);
});

test("a description is a sentence or more", () => {
  const words = places.flatMap(({ path, schema: { description } }) =>
    typeof description === "string" ? [{ path, description }] : [],
  );
  expect(words.filter(({ description }) => !/[.:)`]$/u.test(description.trimEnd())).map(({ path }) => path)).toEqual(
    [],
  );
});

test.each([
  ["_ms", /millisecond/iu],
  ["_seconds", /second|since/iu],
  ["_bytes_max", /bytes/iu],
])("what ends in %s has its unit in words", (ending, unit) => {
  const counted = properties.filter(({ name, property }) => name.endsWith(ending) && resolved(property) === property);
  expect(counted.length).toBeGreaterThan(0);
  const bare = counted.filter(({ property: { description } }) => !unit.test(String(description)));
  expect(bare.map(({ path }) => path)).toEqual([]);
});

test("of the branches of a oneOf no two can match: they have one member, and each another value of it", () => {
  const choices = places.filter(({ schema }) => Array.isArray(schema["oneOf"]));
  expect(choices.length).toBeGreaterThan(0);
  for (const { path, schema } of choices) {
    const branches = (schema["oneOf"] as readonly Schema[]).map(resolved);
    const [first = {}] = branches;
    const shared = ((first["required"] ?? []) as readonly string[]).filter((name) => {
      const values = branches.map((branch) => {
        const isRequired = ((branch["required"] ?? []) as readonly string[]).includes(name);
        const property = (branch["properties"] as Readonly<Record<string, Schema>> | undefined)?.[name];
        return isRequired ? property?.["const"] : undefined;
      });
      return !values.includes(undefined) && new Set(values).size === values.length;
    });
    expect([path, shared.length]).toEqual([path, 1]);
  }
});
