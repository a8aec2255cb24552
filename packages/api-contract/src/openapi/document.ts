/**
 * The OpenAPI 3.1 document, made from the rows and the schemas that the router works from: what it says is what is
 * checked. A pure function; the file docs/openapi.json is its value.
 */
import { assertNever, hexToBytes } from "@event-anchoring/protocol";
import { EXTENDED_PROBLEMS, problemSchema } from "../problem-schema.ts";
import { refusedBatchSchema } from "../answers.ts";
import { LIMITS } from "../limits.ts";
import { PROBLEMS, PROBLEM_CODES, RETRYABLE_PROBLEMS, problemBody } from "../problems.ts";
import type { ProblemCode } from "../problems.ts";
import { COMMON_PROBLEMS } from "../route.ts";
import type { Route, RouteTag } from "../route.ts";
import { ROUTES } from "../routes.ts";
import type { RouteId } from "../routes.ts";
import { EXAMPLE_SIGNATURES } from "./example-keys.ts";
import { buildExampleLedger } from "./example-ledger.ts";
import type { ExampleLedger } from "./example-ledger.ts";
import { problemExtensions, routeExamples } from "./examples.ts";
import type { Example, RouteExamples } from "./shown.ts";
import { SchemaCollection, parametersOf } from "./json-schema.ts";
import type { JsonSchema } from "./json-schema.ts";

type Json = Readonly<Record<string, unknown>>;

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: Json & { readonly title: string; readonly version: string };
  readonly servers: readonly Json[];
  readonly tags: readonly Json[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Version of the contract; a change that clients can see raises it. */
const CONTRACT_VERSION = "4.2.0";

const DESCRIPTION = `Records cryptographic anchors for events, and lets clients verify and trace them.

**Promise.** \`201\`, or \`200\` with \`replayed: true\`, means: a majority of the nodes has stored the anchor
durably, and a quorum of them has co-signed it; its receipt verifies offline. \`202\` means: stored durably, but
not co-signed yet. Any other answer to a write, or none, promises nothing. Retrying is safe, at any node: an
event is anchored once if it has a \`client_event_id\`; claims, grants and revocations are recognised by their
content. The README of the project states the promise in full.

**Requests.** JSON in UTF-8 without a content encoding. Unknown fields, repeated keys, \`__proto__\`, numbers
that are not digits only, and integers above 2^53 − 1 are refused. Hex may have either case. A repeated
query parameter is refused.

**Answers.** Hex is lower case, times are RFC 3339 with three decimals and \`Z\`. Fields may be added: ignore
those you do not know. \`HEAD\` works where \`GET\` does.

**Problems.** RFC 9457; \`code\` is the contract. A request is checked in this order and the first failure is
the answer: route and method, key, scope, rate, media type, size of the body, shape, then what the ledger
decides. 429 and 503 carry \`Retry-After\`.

docs/PROTOCOL.md specifies the bytes that are hashed and signed; docs/API.md describes every answer.`;

const TAGS: Readonly<Record<RouteTag, string>> = {
  events: "Event anchors; reading, verifying and tracing take anchors of every kind.",
  claims: "ClaimAnchors: identities.",
  grants: "GrantAnchors: delegations.",
  log: "The tree of each origin as C2SP tlog-tiles.",
  node: "The node and its trust root. They need no key.",
  reference: "The API about itself. They need no key.",
};

const BEARER = "bearerKey";
const HEADER = "headerKey";

const SECURITY_SCHEMES = {
  [BEARER]: { type: "http", scheme: "bearer", description: "`Authorization: Bearer <API_KEY>`" },
  [HEADER]: { type: "apiKey", in: "header", name: "X-API-Key", description: "`X-API-Key: <API_KEY>`" },
};

const REQUEST_ID = { type: "string", pattern: "^[A-Za-z0-9._-]{1,64}$" };

const HEADERS: Readonly<Record<string, Json>> = {
  RequestId: {
    description: "The caller's own, if it is one; else a new one. It finds the log line.",
    required: true,
    schema: REQUEST_ID,
    example: "5f0c7f0e-8f0b-4a54-9b1e-0d6a4f6f2a11",
  },
  RetryAfter: {
    description: "Seconds.",
    required: true,
    schema: { type: "integer", minimum: 1 },
    example: 1,
  },
  Location: {
    description: "Where the anchor, and later its receipt, can be read.",
    required: true,
    schema: { type: "string", pattern: "^/v1/event-anchors/[0-9a-f]{64}$" },
  },
  PreferenceApplied: {
    description: "Which preferences were honoured; absent if none.",
    schema: { type: "string" },
    example: "wait=10",
  },
  Allow: { description: "The methods of the path.", required: true, schema: { type: "string" }, example: "GET, HEAD" },
  WwwAuthenticate: {
    description: "RFC 6750.",
    required: true,
    schema: { type: "string" },
    example: 'Bearer realm="event-anchoring"',
  },
};

function headerRef(name: string): Json {
  return { $ref: `#/components/headers/${name}` };
}

const PARAMETERS: Readonly<Record<string, Json>> = {
  RequestId: {
    name: "X-Request-Id",
    in: "header",
    description: "Choose any value that matches the pattern; another value is replaced.",
    schema: { type: "string" },
    example: "5f0c7f0e-8f0b-4a54-9b1e-0d6a4f6f2a11",
  },
  LastEventId: {
    name: "Last-Event-ID",
    in: "header",
    description: "The `id` of the last event that you have: the feed goes on from there. A browser sends it by itself.",
    schema: { type: "string", pattern: "^[1-9][0-9]{0,15}$" },
    example: "12",
  },
  Prefer: {
    name: "Prefer",
    in: "header",
    description:
      `RFC 7240: \`wait=\` and ${LIMITS.preferWaitSecondsMin} to ${LIMITS.preferWaitSecondsMax} seconds, which the ` +
      "answer may take; `respond-async`: answer as soon as the anchor is committed; `witnessed`: wait, within that " +
      "time, for a receipt that enough witnesses have cosigned. Unknown preferences are ignored, and so is one that " +
      "the route does not honour; the answer never fails because of one.",
    schema: { type: "string" },
    example: "wait=10",
  },
};

/** Everything that one document is made of. */
class DocumentBuilder {
  readonly schemas = new SchemaCollection();
  readonly #examples: Partial<Record<RouteId, RouteExamples>>;
  readonly #extensions: Readonly<Record<string, object>>;
  /** By the codes that they stand for, joined. */
  readonly #problemAnswers = new Map<string, { readonly name: string; readonly answer: Json }>();

  constructor(ledger: ExampleLedger) {
    this.#examples = routeExamples(ledger);
    this.#extensions = problemExtensions(ledger);
  }

  operation(route: Route & { readonly id: RouteId }): Json {
    const examples = this.#examples[route.id] ?? {};
    const body = this.#requestBody(route, examples);
    return {
      operationId: route.id,
      tags: [route.tag],
      summary: route.summary,
      description: `${route.description}${boundsOf(route)}`,
      security: securityOf(route),
      ...(route.scopes === null ? {} : { "x-scopes": route.scopes }),
      ...(route.isOpenOnPublicLog ? { "x-open-on-public-log": true } : {}),
      "x-timeout-ms": route.timeoutMs,
      ...(body === null ? {} : { "x-body-bytes-max": route.bodyBytesMax }),
      parameters: this.#parameters(route, examples),
      ...(body === null ? {} : { requestBody: body }),
      responses: this.#responses(route, examples),
      ...(route.events === null ? {} : { "x-events": this.#events(route.events) }),
    };
  }

  #events(events: NonNullable<Route["events"]>): Json {
    return Object.fromEntries(
      Object.entries(events).map(([name, schema]) => [name, this.schemas.add(schema, "output")]),
    );
  }

  #parameters(route: Route, examples: RouteExamples): Json[] {
    const inPath = route.pathSchema === null ? [] : parametersOf(route.pathSchema, this.schemas);
    const inQuery = parametersOf(route.querySchema, this.schemas);
    const headers = [
      "RequestId",
      ...(route.preferences.length > 0 ? ["Prefer"] : []),
      ...(route.events === null ? [] : ["LastEventId"]),
    ];
    return [
      ...inPath.map(([name, schema]) => parameter("path", name, schema, true, examples)),
      ...inQuery.map(([name, schema, isRequired]) => parameter("query", name, schema, isRequired, examples)),
      ...headers.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ];
  }

  #requestBody(route: Route, examples: RouteExamples): Json | null {
    if (route.bodySchema === null) return null;
    const schema = this.schemas.add(route.bodySchema, "input");
    return {
      required: !route.isBodyOptional,
      ...(route.isBodyOptional ? { description: "No body and an empty body both mean `{}`." } : {}),
      content: { "application/json": { schema, examples: examples.requests } },
    };
  }

  #responses(route: Route & { readonly id: RouteId }, examples: RouteExamples): Json {
    const responses = new Map<number, Json>();
    for (const status of Object.keys(route.answers).map(Number)) {
      responses.set(status, this.#goodAnswer(route, status, examples));
    }
    const codes = [...COMMON_PROBLEMS, ...route.problems];
    for (const status of new Set(codes.map((code) => PROBLEMS[code].status))) {
      const ofStatus = PROBLEM_CODES.filter((code) => codes.includes(code) && PROBLEMS[code].status === status);
      responses.set(status, this.#problemRef(route.id, status, ofStatus));
    }
    return Object.fromEntries([...responses].sort(([a], [b]) => a - b));
  }

  #goodAnswer(route: Route, status: number, examples: RouteExamples): Json {
    const schema = route.answers[status] ?? null;
    const content: Record<string, Json> = {};
    if (schema !== null) {
      content["application/json"] = {
        schema: this.schemas.add(schema, "output"),
        examples: examples.answers?.[status],
      };
    }
    for (const mediaType of status === 304 ? [] : route.mediaTypes) {
      const example = examples.texts?.[mediaType];
      const schema = mediaType.startsWith("text/") ? { type: "string" } : {};
      content[mediaType] = { schema, ...(example === undefined ? {} : { example }) };
    }
    const isWrite = route.answers[201] !== undefined;
    return {
      description: GOOD_STATUSES[status] ?? "An answer.",
      headers: {
        "X-Request-Id": headerRef("RequestId"),
        ...(isWrite ? { Location: headerRef("Location") } : {}),
        ...(status === 503 ? { "Retry-After": headerRef("RetryAfter") } : {}),
        ...(route.preferences.length > 0 ? { "Preference-Applied": headerRef("PreferenceApplied") } : {}),
      },
      ...(Object.keys(content).length === 0 ? {} : { content }),
    };
  }

  /** Most routes share most of these. Named by the one code, else by the first route that can answer them. */
  #problemRef(routeId: string, status: number, codes: readonly ProblemCode[]): Json {
    const key = codes.join();
    const name = this.#problemAnswers.get(key)?.name ?? (codes.length === 1 ? key : `${routeId}_${status}`);
    if (!this.#problemAnswers.has(key)) this.#problemAnswers.set(key, { name, answer: problemAnswer(status, codes) });
    return { $ref: `#/components/responses/${name}` };
  }

  problemAnswers(): Record<string, Json> {
    return Object.fromEntries([...this.#problemAnswers.values()].map(({ name, answer }) => [name, answer]));
  }

  problemSchemas(): void {
    for (const schema of [problemSchema, refusedBatchSchema, ...Object.values(EXTENDED_PROBLEMS)]) {
      this.schemas.add(schema, "output");
    }
  }

  problemExamples(): Record<string, Example> {
    return Object.fromEntries(
      PROBLEM_CODES.map((code) => {
        const value = { ...problemBody({ code }, "5f0c7f0e-8f0b-4a54-9b1e-0d6a4f6f2a11"), ...this.#extensions[code] };
        return [code, { summary: PROBLEMS[code].when, value }];
      }),
    );
  }
}

const GOOD_STATUSES: Readonly<Record<number, string>> = {
  200: "Done. For a write: the same content was recorded before, and this is that record as it is now.",
  201: "Durable on a majority of the nodes, and co-signed by a quorum of them.",
  202: "Durable on a majority of the nodes, but not yet co-signed. Ask for the receipt at `Location`.",
  304: "What `If-None-Match` names is what would be answered.",
  503: "Not ready: `checks` says why.",
};

function parameter(
  place: "path" | "query",
  name: string,
  schema: JsonSchema,
  isRequired: boolean,
  examples: RouteExamples,
): Json {
  const { description, ...rest } = schema;
  const example = examples.parameters?.[name];
  return {
    name,
    in: place,
    required: isRequired,
    ...(description === undefined ? {} : { description }),
    ...(rest["type"] === "array" ? { style: "form", explode: false } : {}),
    schema: rest,
    ...(example === undefined ? {} : { example }),
  };
}

/** Any one scope is enough, in either header. */
function securityOf({ scopes }: Route): Json[] {
  if (scopes === null) return [];
  return scopes.flatMap((scope) => [{ [BEARER]: [scope] }, { [HEADER]: [scope] }]);
}

/** The numbers of one route, in words. */
function boundsOf(route: Route): string {
  const bounds = [`Timeout ${route.timeoutMs} ms${route.preferences.length > 0 ? ", or `Prefer: wait=`" : ""}`];
  if (route.scopes !== null) {
    const scopes = route.scopes.map((scope) => `\`${scope}\``).join(" or ");
    bounds.unshift(`Scope ${scopes}${route.isOpenOnPublicLog ? "; on a public log also without a key" : ""}`);
  }
  if (route.bodySchema !== null) bounds.push(`body at most ${route.bodyBytesMax} bytes`);
  return `\n\n${bounds.join("; ")}.`;
}

const SCHEMA_NAMES: Readonly<Partial<Record<ProblemCode, string>>> = {
  no_active_claim: "NoActiveProblem",
  no_active_grant: "NoActiveProblem",
  client_event_id_erased: "ErasedProblem",
  batch_refused: "RefusedBatch",
};

function problemAnswer(status: number, codes: readonly ProblemCode[]): Json {
  const names = [...new Set(codes.map((code) => SCHEMA_NAMES[code] ?? "Problem"))];
  const refs = names.map((name) => ({ $ref: `#/components/schemas/${name}` }));
  const isRetryable = codes.some((code) => RETRYABLE_PROBLEMS.has(code));
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].when}`).join("\n\n"),
    headers: {
      "X-Request-Id": headerRef("RequestId"),
      ...(isRetryable ? { "Retry-After": headerRef("RetryAfter") } : {}),
      ...(status === 401 ? { "WWW-Authenticate": headerRef("WwwAuthenticate") } : {}),
      ...(status === 405 ? { Allow: headerRef("Allow") } : {}),
    },
    "x-problem-codes": codes,
    content: {
      "application/problem+json": {
        schema: refs.length === 1 ? refs[0] : { anyOf: refs },
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  };
}

function storedSignature(use: keyof typeof EXAMPLE_SIGNATURES): Uint8Array {
  return hexToBytes(EXAMPLE_SIGNATURES[use].join(""), 64);
}

function methodName(method: Route["method"]): "get" | "post" {
  switch (method) {
    case "GET":
      return "get";
    case "POST":
      return "post";
    default:
      return assertNever(method);
  }
}

/** The whole document. It is a new value each time: keep it. */
export function openApiDocument(): OpenApiDocument {
  const builder = new DocumentBuilder(buildExampleLedger(storedSignature));
  builder.problemSchemas();
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of ROUTES) {
    (paths[route.path] ??= {})[methodName(route.method)] = builder.operation(route);
  }
  return {
    openapi: "3.1.1",
    info: {
      title: "Event Anchoring API",
      version: CONTRACT_VERSION,
      summary: "Anchors for events, identities and delegations, co-signed by a cluster.",
      description: DESCRIPTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: ".", description: "Where this document is served." }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: builder.schemas.named(),
      responses: builder.problemAnswers(),
      examples: builder.problemExamples(),
      parameters: PARAMETERS,
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}
