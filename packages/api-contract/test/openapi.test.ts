import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { Ajv2020 } from "ajv/dist/2020.js";
import { z } from "zod";
import {
  COMMON_PROBLEMS,
  DEFAULT_LIMIT_SETTINGS,
  LIMITS,
  PROBLEMS,
  PROBLEM_CODES,
  ROUTES,
  limitsToJson,
  parseBody,
  parsePath,
  parseQuery,
  routeOf,
} from "@event-anchoring/api-contract";
import type { ProblemCode, RouteId } from "@event-anchoring/api-contract";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import {
  bytesToHex,
  hexToBytes,
  receiptFromJson,
  verifyReceipt,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import { openApiDocument } from "../src/openapi/document.ts";
import { EXAMPLE_KEYS, EXAMPLE_SIGNATURES } from "../src/openapi/example-keys.ts";
import { buildExampleLedger } from "../src/openapi/example-ledger.ts";
import { OpenApiReader } from "@event-anchoring/testkit/openapi";
import type { JsonObject, Operation } from "@event-anchoring/testkit/openapi";
import { OPENAPI_RULES } from "./openapi-rules.ts";

const FILE = new URL("../../../docs/openapi.json", import.meta.url);
const REFERENCE = readFileSync(new URL("../../../docs/API.md", import.meta.url), "utf8");
const REMEDY = "npx tsc -b packages/api-contract && node packages/api-contract/scripts/write-openapi.js";

const document = openApiDocument();
const reader = new OpenApiReader(document);

describe("the document", () => {
  test(`is the file docs/openapi.json; if not: ${REMEDY}`, () => {
    expect(readFileSync(FILE, "utf8")).toBe(`${JSON.stringify(document, null, 2)}\n`);
  });

  test("is a value of its own each time", () => {
    expect(openApiDocument()).toEqual(document);
    expect(openApiDocument()).not.toBe(document);
  });

  test("keeps the rules of OpenAPI 3.1 and of JSON Schema 2020-12", () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    const validate = ajv.compile(OPENAPI_RULES);
    validate(document);
    expect(validate.errors ?? []).toEqual([]);
  });

  test("every reference leads somewhere", () => {
    const references = JSON.stringify(document).match(/"\$ref":"[^"]+"/g) ?? [];
    expect(references.length).toBeGreaterThan(100);
    for (const reference of new Set(references)) {
      expect(reader.resolve(JSON.parse(`{${reference}}`))).toBeInstanceOf(Object);
    }
  });

  test("nothing is defined that is not used", () => {
    const whole = JSON.stringify(document);
    const { schemas, responses, examples, headers, parameters } = document.components;
    for (const [part, named] of Object.entries({ schemas, responses, examples, headers, parameters })) {
      const unused = Object.keys(named ?? {}).filter((name) => !whole.includes(`"#/components/${part}/${name}"`));
      expect([part, unused]).toEqual([part, []]);
    }
  });

  test("has every route, and no other", () => {
    const placed = reader.operations.map(({ id, method, path }) => `${id} ${method} ${path}`).sort();
    expect(placed).toEqual(ROUTES.map(({ id, method, path }) => `${id} ${method} ${path}`).sort());
    expect(new Set(reader.operations.map(({ id }) => id)).size).toBe(ROUTES.length);
  });

  test("no two paths that a router could confuse", () => {
    const shapes = reader.operations.map(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, "{}")}`);
    expect(new Set(shapes).size).toBe(shapes.length);
  });
});

const operations = reader.operations.map((operation) => [operation.id, operation] as const);

describe.each(operations)("%s", (id, operation) => {
  const route = routeOf(id as RouteId);

  test("asks for a key where the route does, and names its parameters", () => {
    expect(operation.isPublic).toBe(route.scopes === null);
    const inPath = operation.parameters.filter((each) => each.in === "path").map(({ name }) => name);
    expect(inPath).toEqual([...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    const headers = operation.parameters.filter((each) => each.in === "header").map(({ name }) => name);
    const more = [
      ...(route.preferences.length > 0 ? ["Prefer"] : []),
      ...(route.events === null ? [] : ["Last-Event-ID"]),
    ];
    expect(headers).toEqual(["X-Request-Id", ...more]);
  });

  test("has every problem of its row under its status, and only those", () => {
    const codes = [...operation.answers].flatMap(([status, answer]) => answer.codes.map((code) => [code, status]));
    const wanted = [...COMMON_PROBLEMS, ...route.problems].map((code) => [code, PROBLEMS[code].status]);
    expect(new Set(codes.map(String))).toEqual(new Set(wanted.map(String)));
    const good = [...operation.answers].filter(([, { codes: ofStatus }]) => ofStatus.length === 0);
    expect(good.map(([status]) => status)).toEqual(Object.keys(route.answers).map(Number));
  });

  test("every answer has an example that its schema takes", () => {
    for (const [status, { content }] of operation.answers) {
      for (const [type, media] of Object.entries(content)) {
        if (type.startsWith("text/") || type === "application/octet-stream") continue;
        const examples = Object.entries(media.examples ?? {});
        expect([status, type, examples.length > 0]).toEqual([status, type, true]);
        const validate = reader.validator(media.schema);
        for (const [name, { value }] of examples) {
          validate(value);
          expect([status, name, validate.errors ?? []]).toEqual([status, name, []]);
        }
      }
    }
  });

  test("every example of a request is taken by its schema, and by the service", () => {
    const { body } = operation;
    const examples = Object.entries(body?.mediaType.examples ?? {});
    expect(examples.length > 0).toBe(body !== null);
    for (const [name, { value }] of examples) {
      const validate = reader.validator(body?.mediaType.schema ?? {});
      validate(value);
      expect([name, validate.errors ?? []]).toEqual([name, []]);
      const parsed = parseBody(route.bodySchema ?? z.never(), JSON.stringify(value));
      expect([name, parsed]).toEqual([name, expect.objectContaining({ ok: true })]);
    }
  });

  test("its parameters have examples that are taken, too", () => {
    const examplesIn = (place: "path" | "query"): JsonObject =>
      Object.fromEntries(
        operation.parameters.flatMap(({ name, in: where, example }) =>
          where === place && example !== undefined ? [[name, example]] : [],
        ),
      );
    for (const { name, schema, example, required } of operation.parameters) {
      const isShown = required !== true || example !== undefined;
      expect([name, isShown]).toEqual([name, true]);
      expect([name, example === undefined || reader.validator(schema)(example)]).toEqual([name, true]);
    }
    const inPath = Object.fromEntries(Object.entries(examplesIn("path")).map(([name, value]) => [name, String(value)]));
    expect(parsePath(route.pathSchema ?? z.strictObject({}), inPath)).toMatchObject({ ok: true });
    const search = Object.entries(examplesIn("query")).map(([name, value]) => `${name}=${String(value)}`);
    expect(parseQuery(route.querySchema, search.join("&"))).toMatchObject({ ok: true });
  });
});

describe("the ledger of the examples", () => {
  const signerOf = (key: string) => {
    const seed = createHash("sha256").update(`event-anchoring example key: ${key}`).digest();
    return createSigner(Uint8Array.from(seed));
  };

  test("is signed by the keys it names: every signature is made anew", () => {
    const made: Record<string, string[]> = {};
    buildExampleLedger((use, key, message) => {
      const signature = signerOf(key).sign(message);
      const hex = bytesToHex(signature);
      made[use] = [hex.slice(0, 64), hex.slice(64)];
      return signature;
    });
    expect(made).toEqual(EXAMPLE_SIGNATURES);
    const keys = Object.keys(EXAMPLE_KEYS).map((name) => [name, bytesToHex(signerOf(name).publicKey)]);
    expect(Object.fromEntries(keys)).toEqual(EXAMPLE_KEYS);
  });

  const trustRoots = () => {
    const answer = exampleOf(reader.operation("getTrustRoot"), 200) as { document: string; root_thk: string };
    const input = { documents: [answer.document], pinnedRootThk: hexToBytes(answer.root_thk, 32) };
    const verified = verifyTrustRootChain(input, nodeCrypto);
    if (verified.result !== "verified") throw new Error(JSON.stringify(verified));
    return verified.chain;
  };

  test("every receipt that is shown verifies offline, the shared ones too", () => {
    const receipts = receiptsIn(document.paths);
    expect(receipts.length).toBeGreaterThan(15);
    const chain = trustRoots();
    for (const json of receipts) {
      const { receipt, anchorId } = receiptFromJson(json);
      const verified = verifyReceipt({ receipt, trustRoots: chain, expect: { anchorId } }, nodeCrypto);
      expect([verified.failure, verified.verdict]).toEqual([null, "valid"]);
    }
  });
});

function exampleOf(operation: Operation, status: number): unknown {
  const [media] = Object.values(operation.answers.get(status)?.content ?? {});
  const [example] = Object.values(media?.examples ?? {});
  return example?.value;
}

interface SharingAnswer {
  readonly results: readonly {
    readonly anchor?: { readonly anchor_id: string };
    readonly shared_receipt?: { readonly checkpoint: number };
  }[];
  readonly checkpoints: readonly object[];
}

/** Made whole, as docs/API.md says. */
function sharedReceiptsOf({ results, checkpoints }: SharingAnswer): unknown[] {
  return results.flatMap(({ anchor, shared_receipt: shared }) => {
    if (shared === undefined) return [];
    const { checkpoint, ...own } = shared;
    return [{ anchor_id: anchor?.anchor_id, ...own, ...checkpoints[checkpoint] }];
  });
}

/** Every object that has what a receipt has. */
function receiptsIn(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(receiptsIn);
  if (typeof value !== "object" || value === null) return [];
  if ("checkpoints" in value && "results" in value) return sharedReceiptsOf(value as SharingAnswer);
  return "inclusion" in value && "leaf" in value && typeof value.leaf === "string"
    ? [value]
    : Object.values(value).flatMap(receiptsIn);
}

describe("docs/API.md", () => {
  const rowsOf = (section: string): string[] => {
    const [, text = ""] = REFERENCE.split(`\n## ${section}\n`);
    const [body = ""] = text.split("\n## ");
    return body.split("\n").filter((line) => line.startsWith("|"));
  };
  const rows = rowsOf("Routes");

  test.each(ROUTES.map(({ method, path, scopes }) => [`${method} ${path}`, scopes ?? ["none"]] as const))(
    "has %s with its scopes",
    (place, scopes) => {
      const found = rows.filter((row) => row.startsWith(`| \`${place}\` |`));
      expect(found).toHaveLength(1);
      expect(found[0]).toContain(`| ${scopes.join(" or ")} |`);
    },
  );

  test("has no other route", () => {
    const shown = rows.flatMap((row) => /^\| `((?:GET|POST) [^`]+)` \|/.exec(row)?.[1] ?? []);
    expect(shown.sort()).toEqual(ROUTES.map(({ method, path }) => `${method} ${path}`).sort());
  });

  test("has every problem as the table has it, in its order", () => {
    const shown = rowsOf("Problems").flatMap((row) => {
      const [, code, status, when] = /^\| `([a-z_]+)` \| ([0-9]{3}) \| (.+) \|$/.exec(row) ?? [];
      return code === undefined ? [] : [[code, Number(status), when]];
    });
    const wanted = PROBLEM_CODES.map((code: ProblemCode) => [code, PROBLEMS[code].status, PROBLEMS[code].when]);
    expect(shown).toEqual(wanted);
  });

  test("has every limit with its number", () => {
    const limits = limitsToJson(DEFAULT_LIMIT_SETTINGS);
    const shown = rowsOf("Limits").flatMap((row) => {
      const [, name, value] = /^\| `([a-z0-9_]+)` \| ([0-9]+|null) \|/.exec(row) ?? [];
      return name === undefined ? [] : [[name, JSON.parse(value ?? "")]];
    });
    expect(Object.fromEntries(shown)).toEqual(limits);
    expect(LIMITS.batchSignedItemsMax).toBe(limits.batch_signed_items_max);
  });

  test("speaks of every field that an answer or a request can have", () => {
    const { schemas = {} } = document.components;
    const fields = new Set(
      Object.values(schemas).flatMap((schema) => Object.keys((schema as { properties?: object }).properties ?? {})),
    );
    expect(fields.size).toBeGreaterThan(100);
    expect([...fields].filter((field) => !new RegExp(`\\b${field}\\b`).test(REFERENCE))).toEqual([]);
  });
});
