/** From the schemas that validate to the JSON Schema (2020-12) that the document shows. */
import { z } from "zod";

export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** Whether what is described comes in or goes out: a field with a default is optional on the way in alone. */
export type Direction = "input" | "output";

/** Zod bounds every integer by 2^53 − 1; on answers this says nothing, and objects are open: fields may be added. */
function adjust(schema: Record<string, unknown>, direction: Direction): void {
  if (direction === "input") return;
  if (schema["additionalProperties"] === false) delete schema["additionalProperties"];
  if (schema["maximum"] === Number.MAX_SAFE_INTEGER) delete schema["maximum"];
}

const LOCAL = "#/$defs/";
const SHARED = "#/components/schemas/";

function relocate(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(relocate);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === "$ref" && typeof inner === "string" ? inner.replace(LOCAL, SHARED) : relocate(inner),
    ]),
  );
}

/** Collects named schemas as they are met. */
export class SchemaCollection {
  readonly #named = new Map<string, JsonSchema>();

  /** A reference to a named schema, or the schema itself. @throws Error if two schemas have one name */
  add(schema: z.ZodType, direction: Direction): JsonSchema {
    const made = z.toJSONSchema(schema, {
      io: direction,
      target: "draft-2020-12",
      override: ({ jsonSchema }) => adjust(jsonSchema, direction),
    });
    const {
      $schema: _dialect,
      $defs: definitions = {},
      ...rest
    } = relocate(made) as {
      $schema?: string;
      $defs?: Record<string, JsonSchema>;
    };
    for (const [name, definition] of Object.entries(definitions)) {
      const known = this.#named.get(name);
      if (known !== undefined && JSON.stringify(known) !== JSON.stringify(definition)) {
        throw new Error(`two schemas are named ${name}`);
      }
      this.#named.set(name, definition);
    }
    return rest;
  }

  /** By name. */
  named(): Record<string, JsonSchema> {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** The properties of an object schema that has no name: one for each parameter. */
export function parametersOf(
  schema: z.ZodType,
  schemas: SchemaCollection,
): readonly [name: string, JsonSchema, boolean][] {
  const { properties = {}, required = [] } = schemas.add(schema, "input") as {
    properties?: Record<string, JsonSchema>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, property]) => [name, property, required.includes(name)]);
}
