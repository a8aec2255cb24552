import type { IncomingMessage, ServerResponse } from "node:http";
import express from "express";
import type { Express, Request, Response } from "express";
import { LIMITS, ROUTES, routerPath } from "@event-anchoring/api-contract";
import type { Route } from "@event-anchoring/api-contract";
import { problemError } from "../request/problem-error.ts";
import { Exchange } from "./exchange.ts";
import type { NamedRoute } from "./exchange.ts";
import { routedTarget } from "./request-target.ts";
import { serveRoute } from "./serve-route.ts";
import { serveWitness } from "./serve-witness.ts";
import type { AppDependencies, RoutedRequest } from "./serve-route.ts";

/** The methods of each path of the router, in the order of the table: fixed paths before those with a parameter. */
function routesByPath(): Map<string, NamedRoute[]> {
  const byPath = new Map<string, NamedRoute[]>();
  for (const route of ROUTES) {
    const path = routerPath(route);
    byPath.set(path, [...(byPath.get(path) ?? []), route]);
  }
  return byPath;
}

/**
 * As the router decoded them. The segments of a parameter that may contain slashes are joined again; an encoded slash
 * stays encoded.
 */
function pathParametersOf({ params }: Request): Record<string, string> {
  const joined = (value: string | string[]): string =>
    typeof value === "string" ? value : value.map((segment) => segment.replaceAll("/", "%2F")).join("/");
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, joined(value)]));
}

function allowHeader(routes: readonly Route[]): string {
  return routes.map(({ method }) => (method === "GET" ? "GET, HEAD" : method)).join(", ");
}

/** Lines of headers; the parser bounds their bytes. */
function headerCount(request: IncomingMessage): number {
  return request.rawHeaders.length / 2;
}

function createRouter(dependencies: AppDependencies): Express {
  const router = express();
  router.set("case sensitive routing", true);
  router.set("strict routing", true);
  router.set("query parser", false);
  router.set("etag", false);
  router.set("x-powered-by", false);
  for (const [path, routes] of routesByPath()) {
    for (const route of routes) {
      const handle = (request: Request, response: Response): void => {
        serveRoute({ route, request, response, pathParameters: pathParametersOf(request) }, dependencies);
      };
      if (route.method === "GET") router.get(path, handle);
      else router.post(path, handle);
    }
    const headers = { Allow: allowHeader(routes) };
    router.all(path, (request: Request, response: Response) => {
      new Exchange(request, response, null, dependencies).fail(problemError("method_not_allowed"), headers);
    });
  }
  return router;
}

const NO_PARAMETERS: RoutedRequest["pathParameters"] = {};

/** The routes without parameters, by path and then by method. */
function routesByTarget(): ReadonlyMap<string, ReadonlyMap<string, NamedRoute>> {
  const byTarget = new Map<string, Map<string, NamedRoute>>();
  for (const route of ROUTES) {
    if (route.path.includes("{")) continue;
    const byMethod = byTarget.get(route.path) ?? new Map<string, NamedRoute>();
    byTarget.set(route.path, byMethod.set(route.method, route));
  }
  return byTarget;
}

/** The public app: no port, no environment. */
export interface App {
  /** The app whose prototypes requests and responses have. */
  readonly express: Express;
  readonly serve: (request: IncomingMessage, response: ServerResponse) => void;
}

/**
 * A request whose method and target are those of a route, character by character, needs no router: a look-up finds the
 * route, and the same function serves it. Everything else is the router's: queries, parameters, HEAD, other spellings.
 *
 * Paths are case-sensitive, a trailing slash is another path, colons are literal, and everything that is not a route is
 * answered with a problem document: Express never answers for itself.
 */
export function createApp(dependencies: AppDependencies): App {
  const router = createRouter(dependencies);
  const plainRoutes = routesByTarget();
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const fail = (error: unknown): void => new Exchange(request, response, null, dependencies).fail(error);
    if (headerCount(request) > LIMITS.headersMax) {
      fail(problemError("headers_too_large"));
      return;
    }
    const { witness = null } = dependencies;
    if (witness !== null && serveWitness(request, response, witness, dependencies)) return;
    const route = plainRoutes.get(request.url ?? "")?.get(request.method ?? "");
    if (route !== undefined) {
      serveRoute({ route, request, response, pathParameters: NO_PARAMETERS }, dependencies);
      return;
    }
    const target = routedTarget(request.url ?? "");
    if (target === null) {
      fail(problemError("http_invalid"));
      return;
    }
    request.url = target;
    router(request as Request, response as Response, (error?: unknown) => {
      fail(error ?? problemError("route_not_found"));
    });
  };
  return { express: router, serve };
}
