/** The examples of docs/openapi.json: real answers, with hashes, proofs and signatures that verify. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

interface Media {
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

interface OpenApi {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          { readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>> }
        >
      >
    >
  >;
}

const path = fileURLToPath(new URL("../../../docs/openapi.json", import.meta.url));
const document = JSON.parse(readFileSync(path, "utf8")) as OpenApi;

/** Every operation, as `POST /v1/event-anchors`. */
export const OPERATIONS: readonly string[] = Object.entries(document.paths).flatMap(([route, methods]) =>
  Object.keys(methods).map((method) => `${method.toUpperCase()} ${route}`),
);

export interface Example {
  readonly name: string;
  readonly status: number;
  readonly value: unknown;
}

/** JSON examples of an operation's answers, by status class. */
export function examplesOf(operation: string, isProblem = false): readonly Example[] {
  const [method = "", route = ""] = operation.split(" ");
  const responses = document.paths[route]?.[method.toLowerCase()]?.responses ?? {};
  return Object.entries(responses).flatMap(([status, response]) => {
    if (Number(status) >= 400 !== isProblem) return [];
    return Object.entries(response.content ?? {}).flatMap(([type, media]) =>
      type.endsWith("json")
        ? Object.entries(media.examples ?? {}).map(([name, { value }]) => ({ name, status: Number(status), value }))
        : [],
    );
  });
}

export function exampleOf(operation: string, status: number): unknown {
  const found = examplesOf(operation, status >= 400).find((example) => example.status === status);
  if (found === undefined) throw new Error(`no example of ${operation} ${status}`);
  return found.value;
}
