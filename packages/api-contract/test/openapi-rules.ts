/**
 * The rules of OpenAPI 3.1 for the parts that our document uses, as JSON Schema: whatever is not named here is refused,
 * so that a new part comes with its rule. Extensions begin with `x-`.
 */
const EXTENSIONS = { "^x-": {} };
const NAME = "^[a-zA-Z0-9._-]+$";

function objectOf(properties: object, required: readonly string[] = []): object {
  return { type: "object", properties, required, patternProperties: EXTENSIONS, additionalProperties: false };
}

function mapOf(value: object, names = NAME): object {
  return { type: "object", propertyNames: { pattern: names }, additionalProperties: value };
}

const text = { type: "string", minLength: 1 };
const schema = { $ref: "https://json-schema.org/draft/2020-12/schema" };
const reference = (part: string): object =>
  objectOf({ $ref: { type: "string", pattern: `^#/components/${part}/[a-zA-Z0-9._-]+$` } }, ["$ref"]);
const orReference = (part: string, value: object): object => ({
  if: { type: "object", required: ["$ref"] },
  // eslint-disable-next-line unicorn/no-thenable
  then: reference(part),
  else: value,
});

const example = objectOf({ summary: text, description: text, value: {} }, ["value"]);
const examples = mapOf(orReference("examples", example));

const mediaType = {
  ...objectOf({ schema, example: {}, examples }, ["schema"]),
  not: { required: ["example", "examples"] },
};
const content = { ...mapOf(mediaType, "^[a-z]+/[a-z+.-]+$"), minProperties: 1 };

const header = objectOf({ description: text, required: { type: "boolean" }, schema, example: {} }, ["schema"]);

const parameter = {
  ...objectOf(
    {
      name: text,
      in: { enum: ["path", "query", "header"] },
      required: { type: "boolean" },
      description: text,
      style: { const: "form" },
      explode: { type: "boolean" },
      schema,
      example: {},
    },
    ["name", "in", "schema", "description"],
  ),
  allOf: [
    // A path parameter is always required (OpenAPI 3.1, Parameter Object).
    {
      if: { properties: { in: { const: "path" } } },
      // eslint-disable-next-line unicorn/no-thenable
      then: { properties: { required: { const: true } }, required: ["required"] },
    },
    // These three are not parameters, says the same section.
    { not: { properties: { in: { const: "header" }, name: { enum: ["Accept", "Content-Type", "Authorization"] } } } },
  ],
};

const response = objectOf({ description: text, headers: mapOf(orReference("headers", header)), content }, [
  "description",
]);

const operation = objectOf(
  {
    operationId: { type: "string", pattern: "^[a-z][A-Za-z0-9]*$" },
    tags: { type: "array", items: text, minItems: 1, maxItems: 1 },
    summary: text,
    description: text,
    security: { type: "array", items: { ...mapOf({ type: "array", items: text }), minProperties: 1 } },
    parameters: { type: "array", items: orReference("parameters", parameter), uniqueItems: true },
    requestBody: objectOf({ description: text, required: { type: "boolean" }, content }, ["content"]),
    responses: { ...mapOf(orReference("responses", response), "^[1-5][0-9]{2}$"), minProperties: 1 },
  },
  ["operationId", "tags", "summary", "description", "security", "parameters", "responses"],
);

const securityScheme = {
  oneOf: [
    objectOf({ type: { const: "http" }, scheme: { const: "bearer" }, description: text }, ["type", "scheme"]),
    objectOf({ type: { const: "apiKey" }, in: { const: "header" }, name: text, description: text }, ["type", "name"]),
  ],
};

export const OPENAPI_RULES = objectOf(
  {
    openapi: { type: "string", pattern: "^3\\.1\\.[0-9]+$" },
    info: objectOf(
      {
        title: text,
        version: { type: "string", pattern: "^4\\.2\\.[0-9]+$" },
        summary: text,
        description: text,
        license: objectOf({ name: text, identifier: text }, ["name"]),
      },
      ["title", "version"],
    ),
    servers: { type: "array", items: objectOf({ url: text, description: text }, ["url"]), minItems: 1 },
    tags: { type: "array", items: objectOf({ name: text, description: text }, ["name"]) },
    paths: mapOf(objectOf({ get: operation, post: operation }), "^/"),
    components: objectOf({
      schemas: mapOf(schema),
      responses: mapOf(response),
      examples: mapOf(example),
      parameters: mapOf(parameter),
      headers: mapOf(header),
      securitySchemes: mapOf(securityScheme),
    }),
  },
  ["openapi", "info", "paths", "components"],
);
