/** Reads the OpenAPI document as a client would: references followed, schemas compiled. */
import { Ajv2020 } from "ajv/dist/2020.js";
import type { ValidateFunction } from "ajv/dist/2020.js";

export interface JsonObject {
  readonly [name: string]: unknown;
}

export interface MediaType {
  readonly schema: JsonObject;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly schema: JsonObject;
  readonly example?: unknown;
}

export interface DescribedAnswer {
  readonly headers: Readonly<Record<string, { readonly required?: boolean; readonly schema: JsonObject }>>;
  readonly content: Readonly<Record<string, MediaType>>;
  /** Codes of the problems. */
  readonly codes: readonly string[];
}

export interface Operation {
  readonly id: string;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly isPublic: boolean;
  readonly parameters: readonly Parameter[];
  readonly body: { readonly isRequired: boolean; readonly mediaType: MediaType } | null;
  readonly answers: ReadonlyMap<number, DescribedAnswer>;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Answers are open, so that fields may be added; what is sent today is known to the last field. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (!isObject(value)) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, closed(each)]));
  const isOpen = inner["type"] === "object" && "properties" in inner && !("additionalProperties" in inner);
  return isOpen ? { ...inner, additionalProperties: false } : inner;
}

const DOCUMENT_ID = "urn:event-anchoring:openapi";

export class OpenApiReader {
  readonly #document: JsonObject;
  readonly #ajv: Ajv2020;
  readonly operations: readonly Operation[];

  constructor(document: unknown) {
    const whole = JSON.parse(JSON.stringify(document)) as JsonObject;
    this.#document = whole;
    this.#ajv = new Ajv2020({ strict: false, allErrors: true });
    const components = whole["components"] as JsonObject;
    this.#ajv.addSchema({ $id: DOCUMENT_ID, components: { schemas: closed(components["schemas"]) } });
    this.operations = this.#readOperations();
  }

  /** Follows one reference, if it is one. @throws Error if it leads nowhere */
  resolve(part: unknown): unknown {
    if (!isObject(part) || typeof part["$ref"] !== "string") return part;
    let found: unknown = this.#document;
    for (const step of part["$ref"].slice("#/".length).split("/")) found = isObject(found) ? found[step] : undefined;
    if (found === undefined) throw new Error(`${part["$ref"]} leads nowhere`);
    return found;
  }

  /** @param schema of this document, with its references */
  validator(schema: JsonObject): ValidateFunction {
    const text = JSON.stringify(closed(schema)).replaceAll('"#/components/', `"${DOCUMENT_ID}#/components/`);
    return this.#ajv.compile(JSON.parse(text) as JsonObject);
  }

  operation(id: string): Operation {
    const found = this.operations.find((each) => each.id === id);
    if (found === undefined) throw new Error(`no operation ${id}`);
    return found;
  }

  #readOperations(): Operation[] {
    const paths = this.#document["paths"] as Record<string, Record<string, JsonObject>>;
    return Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, row]) => this.#readOperation(path, method, row)),
    );
  }

  #readOperation(path: string, method: string, row: JsonObject): Operation {
    const body = row["requestBody"] as { required: boolean; content: Record<string, MediaType> } | undefined;
    const mediaType = body?.content["application/json"];
    const responses = Object.entries(row["responses"] as JsonObject);
    return {
      id: String(row["operationId"]),
      method: method === "get" ? "GET" : "POST",
      path,
      isPublic: (row["security"] as readonly unknown[]).length === 0,
      parameters: (row["parameters"] as readonly unknown[]).map((each) => this.resolve(each) as Parameter),
      body: body === undefined || mediaType === undefined ? null : { isRequired: body.required, mediaType },
      answers: new Map(responses.map(([status, answer]) => [Number(status), this.#readAnswer(answer)])),
    };
  }

  #readAnswer(part: unknown): DescribedAnswer {
    const answer = this.resolve(part) as JsonObject;
    const headers = Object.entries((answer["headers"] ?? {}) as JsonObject);
    const content = Object.entries((answer["content"] ?? {}) as Record<string, MediaType>);
    return {
      headers: Object.fromEntries(
        headers.map(([name, header]) => [
          name.toLowerCase(),
          this.resolve(header) as DescribedAnswer["headers"][string],
        ]),
      ),
      content: Object.fromEntries(content.map(([type, media]) => [type, this.#withExamples(media)])),
      codes: (answer["x-problem-codes"] ?? []) as readonly string[],
    };
  }

  #withExamples(media: MediaType): MediaType {
    if (media.examples === undefined) return media;
    const examples = Object.entries(media.examples).map(([name, each]) => [name, this.resolve(each)]);
    return { ...media, examples: Object.fromEntries(examples) as NonNullable<MediaType["examples"]> };
  }
}
