/**
 * Every public route, and nothing that serves it. The router is made of these rows, and so is the OpenAPI document.
 */
import { EVENT_READS, EVENT_WRITES } from "./event-routes.ts";
import { LOG_ROUTES } from "./log-routes.ts";
import { healthSchema, limitsSchema, openApiSchema, readySchema, trustRootSchema } from "./node-answers.ts";
import { CLAIM_ROUTES, GRANT_ROUTES } from "./record-routes.ts";
import { docsAssetPathSchema } from "./requests.ts";
import { NODE_PROBLEMS, route } from "./route.ts";
import type { Route } from "./route.ts";

const PUBLIC_ROUTES = [
  route({
    id: "getTrustRoot",
    method: "GET",
    path: "/v1/trust-root",
    tag: "node",
    summary: "Read the chain of trust-root documents, which authenticates itself",
    description: "Needs no key: with the pinned hash of one version, anybody can check every later version.",
    isOpenOnPublicLog: true,
    answers: { 200: trustRootSchema },
    problems: ["rate_limited", ...NODE_PROBLEMS],
  }),
  route({
    id: "getLimits",
    method: "GET",
    path: "/v1/limits",
    tag: "reference",
    summary: "Read every limit of this API",
    description: "Maxima are inclusive.",
    answers: { 200: limitsSchema },
  }),
  route({
    id: "getHealth",
    method: "GET",
    path: "/healthz",
    tag: "node",
    summary: "Node health, origin identifier and Prime RootTHK sync summary",
    description:
      "200 while the process lives, whatever `status` says. With a key that has the scope `read`, the answer " +
      "also has `raft`, and the text of `last_error`.",
    tellsReadersMore: true,
    answers: { 200: healthSchema },
  }),
  route({
    id: "getReadiness",
    method: "GET",
    path: "/readyz",
    tag: "node",
    summary: "Whether this node can serve, and which check fails if not",
    description: "200, or 503 with the checks that fail.",
    answers: { 200: readySchema, 503: readySchema },
  }),
  route({
    id: "getProofPage",
    method: "GET",
    path: "/",
    tag: "reference",
    summary: "The proof page: receipts and bundles checked, and the log watched, in the browser",
    description:
      "One HTML file with everything in it. It checks by itself what its reader drops, and sends that to nobody. " +
      "With a key it watches this log. Saved, it works without this service. `ETag` begins with the SHA-256 of " +
      "the file; it comes as gzip to who accepts that.",
    answers: { 200: null, 304: null },
    mediaTypes: ["text/html"],
  }),
  route({
    id: "getVerifyPage",
    method: "GET",
    path: "/verify",
    tag: "reference",
    summary: "The same page, under a name that can be told",
    description: "The bytes of `/`.",
    answers: { 200: null, 304: null },
    mediaTypes: ["text/html"],
  }),
  route({
    id: "getOpenApi",
    method: "GET",
    path: "/openapi.json",
    tag: "reference",
    summary: "This document",
    description: "OpenAPI 3.1, made from the schemas that validate.",
    answers: { 200: openApiSchema },
  }),
  route({
    id: "getDocs",
    method: "GET",
    path: "/docs",
    tag: "reference",
    summary: "The reference as a page for people",
    description: "The page loads nothing from other hosts.",
    answers: { 200: null },
    mediaTypes: ["text/html"],
  }),
  route({
    id: "getDocsAsset",
    method: "GET",
    path: "/docs/{asset}",
    tag: "reference",
    summary: "A file of that page",
    description: "Style sheet and scripts.",
    pathSchema: docsAssetPathSchema,
    answers: { 200: null },
    mediaTypes: ["text/css", "text/javascript"],
  }),
] as const;

/** Fixed paths come before those with a parameter. */
export const ROUTES = [
  ...EVENT_WRITES,
  ...EVENT_READS,
  ...CLAIM_ROUTES,
  ...GRANT_ROUTES,
  ...LOG_ROUTES,
  ...PUBLIC_ROUTES,
] as const;

export type RouteId = (typeof ROUTES)[number]["id"];

const ROUTES_BY_ID: ReadonlyMap<string, Route> = new Map(ROUTES.map((row) => [row.id, row]));

export function routeOf(id: RouteId): Route {
  const found = ROUTES_BY_ID.get(id);
  if (found === undefined) throw new Error(`no route ${id}`);
  return found;
}

/**
 * A path in the router's own syntax. A colon begins a parameter there: unescaped, `/v1/event-anchors:verify` would
 * also match `/v1/event-anchorsXYZ` and swallow `:batchVerify`. A star begins a parameter that takes slashes.
 */
export function routerPath({ path, isTail }: Pick<Route, "path" | "isTail">): string {
  const escaped = path.replaceAll(":", "\\:");
  const tailed = isTail ? escaped.replace(/\{([a-z_]+)\}$/, "*$1") : escaped;
  return tailed.replaceAll(/\{([a-z_]+)\}/g, ":$1");
}
