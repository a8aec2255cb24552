import type { IncomingMessage, ServerResponse } from "node:http";
import express from "express";
import type { Express, Request, Response } from "express";
import { LIMITS, ROUTES, emptyQuerySchema, parsePrefer, parseQuery, routerPath } from "@event-anchoring/api-contract";
import type { Route, RouteId } from "@event-anchoring/api-contract";
import type { Admission } from "../access/admission.ts";
import { authenticate, readerOf } from "../access/auth.ts";
import type { Caller } from "../access/auth.ts";
import type { KeyTable } from "../access/key-table.ts";
import type { RateLimiter } from "../access/rate-limiter.ts";
import { costOf } from "../access/request-cost.ts";
import { RefusedError } from "../control-plane/control-plane.ts";
import { costlyRead, isCostly } from "../costly-reads/costly-reads.ts";
import type { CostlyRead, CostlyRouteId, MadeRead } from "../costly-reads/costly-reads.ts";
import { Deadline, within } from "../request/deadline.ts";
import { parsed, problemError } from "../request/problem-error.ts";
import { createClaimAnchor, getClaimAnchor } from "../routes/claim-anchors.ts";
import { getConsistency } from "../routes/consistency.ts";
import { createEventAnchor, createEventAnchors } from "../routes/create-events.ts";
import { getDocs, getDocsAsset, getOpenApi } from "../routes/docs-page.ts";
import { eraseClientEventId } from "../routes/erase-client-event.ts";
import { createGrantAnchor, getGrantAnchor } from "../routes/grant-anchors.ts";
import { callerOf, madeAnswer } from "../routes/handler.ts";
import type { Handler, HandlerDependencies, HandlerRequest, MadeAnswer } from "../routes/handler.ts";
import { getHealth, getReadiness } from "../routes/health.ts";
import { getLatestEventAnchor } from "../routes/latest.ts";
import { listEventAnchors } from "../routes/list-events.ts";
import { getLimits, getTrustRoot } from "../routes/public-routes.ts";
import { getEventAnchor, getReceipt } from "../routes/read-anchors.ts";
import { revokeClaimAnchor, revokeGrantAnchor } from "../routes/revoke.ts";
import { getCheckpoint, getEntries, getTile } from "../routes/tiles.ts";
import { verifyEventAnchor } from "../routes/verify-events.ts";
import { verifyClaimAnchor } from "../routes/verify-records.ts";
import { Exchange } from "./exchange.ts";
import type { ExchangeDependencies, NamedRoute } from "./exchange.ts";
import { readJsonBody } from "./json-body.ts";
import { routedTarget } from "./request-target.ts";
import { sendBytes } from "./respond.ts";

const HANDLERS: Readonly<Record<Exclude<RouteId, CostlyRouteId>, Handler>> = {
  createEventAnchor,
  createEventAnchors,
  eraseClientEventId,
  verifyEventAnchor,
  listEventAnchors,
  getLatestEventAnchor,
  getConsistency,
  getEventAnchor,
  getReceipt,
  createClaimAnchor,
  getClaimAnchor,
  verifyClaimAnchor,
  revokeClaimAnchor,
  createGrantAnchor,
  getGrantAnchor,
  revokeGrantAnchor,
  getCheckpoint,
  getEntries,
  getTile,
  getTrustRoot,
  getLimits,
  getHealth,
  getReadiness,
  getOpenApi,
  getDocs,
  getDocsAsset,
};

export interface AppDependencies extends HandlerDependencies, ExchangeDependencies {
  readonly keys: KeyTable;
  readonly limiter: RateLimiter;
  readonly admission: Admission;
  /** Makes a costly read off the event loop, where it delays no other request. */
  readonly makeCostlyRead: (read: CostlyRead) => Promise<MadeRead>;
}

/** A costly read gives up by itself at its deadline, unless it is computing then. */
const COSTLY_GRACE_MS = 200;

/** The part of the request target after the question mark. */
function searchOf(request: IncomingMessage): string {
  const target = request.url ?? "";
  const mark = target.indexOf("?");
  return mark < 0 ? "" : target.slice(mark + 1);
}

function prefersText(request: IncomingMessage): boolean {
  const accept = request.headers.accept ?? "";
  return accept.includes("text/plain") && !accept.includes("application/json");
}

function assertTarget(request: IncomingMessage): void {
  if ((request.url ?? "").length <= LIMITS.targetBytesMax) return;
  const detail = `a request target has at most ${LIMITS.targetBytesMax} bytes`;
  throw problemError("invalid_request", [{ parameter: "path", code: "too_large", detail }]);
}

/** Routes that take parameters parse them themselves. */
function assertQuery({ querySchema }: Route, search: string): void {
  if (querySchema === emptyQuerySchema) parsed(parseQuery(emptyQuerySchema, search));
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

const NO_BODY = new Uint8Array(0);

/** The body of a route that takes one. A large one counts from its first bytes until the answer is sent. */
async function bodyOf(
  route: Route,
  request: Request,
  response: Response,
  { caller, admission, spend }: Pick<AppDependencies, "admission"> & Pick<HandlerRequest, "caller" | "spend">,
): Promise<Uint8Array> {
  const { bodySchema, bodyBytesMax: bytesMax, isBodyOptional: isOptional } = route;
  if (bodySchema === null) return NO_BODY;
  const isLarge = bytesMax > LIMITS.bodyBytesMax;
  let bytes = 0;
  const onBytes = (count: number): void => {
    bytes += count;
    if (caller === null || !isLarge) return;
    admission.assertRoom(caller);
    admission.count(response, caller, count);
  };
  const body = await readJsonBody(request, response, { bytesMax, isOptional, onBytes });
  spend({ bodyBytes: bytes });
  return body;
}

/**
 * A costly read, if there is room for it. It keeps its place until it is done, even if the request is answered earlier
 * because it takes too long.
 */
async function madeCostly(
  routeId: CostlyRouteId,
  request: HandlerRequest,
  { admission, makeCostlyRead }: AppDependencies,
): Promise<MadeAnswer> {
  const made = admission.costly(callerOf(request), () => makeCostlyRead(costlyRead(routeId, request)));
  const read = await within(made, request.deadline.remainingMs + COSTLY_GRACE_MS, null);
  if (read === null) throw new RefusedError("deadline_exceeded", "a costly read was not made in time");
  for (const work of read.spent) request.spend(work);
  return read.answer;
}

async function handled(
  request: HandlerRequest,
  { id }: NamedRoute,
  dependencies: AppDependencies,
): Promise<MadeAnswer> {
  const made = isCostly(id)
    ? await madeCostly(id, request, dependencies)
    : madeAnswer(await HANDLERS[id](request, dependencies));
  request.spend({ answerBytes: made.body.length });
  return made;
}

/** The caller, the parameters, the cost, the answer: the order of checks is part of the contract. */
async function answer(
  route: NamedRoute,
  request: Request,
  response: Response,
  exchange: Exchange,
  dependencies: AppDependencies,
): Promise<void> {
  const preferences = route.isPreferring ? parsePrefer(headerText(request, "prefer")) : null;
  const waitSeconds = preferences?.waitSeconds ?? null;
  const deadline = new Deadline(dependencies.clock, waitSeconds === null ? route.timeoutMs : waitSeconds * 1000);
  assertTarget(request);
  const caller = await callerAt(route, request, deadline, dependencies);
  exchange.caller = caller;
  if (isCostly(route.id) && caller !== null) dependencies.admission.assertCostlyRoom(caller);
  const spend = spenderOf(caller, dependencies);
  const body = await bodyOf(route, request, response, { caller, spend, admission: dependencies.admission });
  const search = searchOf(request);
  assertQuery(route, search);
  const isAsync = preferences?.respondAsync ?? false;
  const handlerRequest: HandlerRequest = {
    route,
    call: exchange.call,
    caller,
    deadline,
    pathParameters: pathParametersOf(request),
    search,
    body,
    isAsync,
    prefersText: prefersText(request),
    spend,
  };
  const applied = [...(isAsync ? ["respond-async"] : []), ...(waitSeconds === null ? [] : [`wait=${waitSeconds}`])];
  const headers: Record<string, string> = {};
  if (applied.length > 0) headers["Preference-Applied"] = applied.join(", ");
  const made = await handled(handlerRequest, route, dependencies);
  if (caller !== null) dependencies.admission.count(response, caller, made.body.length);
  sendBytes(response, made.status, made.mediaType, made.body, { ...headers, ...made.headers });
}

/** The cost is charged to the key. */
function spenderOf(caller: Caller | null, { limiter }: AppDependencies): HandlerRequest["spend"] {
  return (work) => {
    if (caller !== null) limiter.charge(caller.credential.keyId, costOf(work));
  };
}

async function callerAt(
  route: Route,
  request: Request,
  deadline: Deadline,
  dependencies: AppDependencies,
): Promise<Caller | null> {
  if (route.scopes !== null) return authenticate(request, route.scopes, deadline, dependencies);
  return route.tellsReadersMore ? readerOf(request, dependencies.keys) : null;
}

function headerText(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(",") : value;
}

/** The methods of each path of the router, in the order of the table: fixed paths before those with a parameter. */
function routesByPath(): Map<string, NamedRoute[]> {
  const byPath = new Map<string, NamedRoute[]>();
  for (const route of ROUTES) {
    const path = routerPath(route);
    byPath.set(path, [...(byPath.get(path) ?? []), route]);
  }
  return byPath;
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
        const exchange = new Exchange(request, response, route, dependencies);
        // It never rejects: any error becomes the answer.
        void exchange.run(() => answer(route, request, response, exchange, dependencies));
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

/** The public app: no port, no environment. */
export interface App {
  /** The app whose prototypes requests and responses have. */
  readonly express: Express;
  readonly serve: (request: IncomingMessage, response: ServerResponse) => void;
}

/**
 * Paths are case-sensitive, a trailing slash is another path, colons are literal, and everything that is not a route is
 * answered with a problem document: Express never answers for itself.
 */
export function createApp(dependencies: AppDependencies): App {
  const router = createRouter(dependencies);
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const fail = (error: unknown): void => new Exchange(request, response, null, dependencies).fail(error);
    const target = routedTarget(request.url ?? "");
    if (headerCount(request) > LIMITS.headersMax) fail(problemError("headers_too_large"));
    else if (target === null) fail(problemError("http_invalid"));
    else {
      request.url = target;
      router(request as Request, response as Response, (error?: unknown) => {
        fail(error ?? problemError("route_not_found"));
      });
    }
  };
  return { express: router, serve };
}
