/** From a routed request to its answer: the same for every route, and however the route was found. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { LIMITS, emptyQuerySchema, parsePrefer, parseQuery } from "@event-anchoring/api-contract";
import type { Route, RouteId } from "@event-anchoring/api-contract";
import { RefusedError } from "../control-plane/control-plane.ts";
import { costlyRead, isCostly, isProvable, wantsProof } from "../costly-reads/costly-reads.ts";
import type { CostlyRead, CostlyRouteId, MadeRead, ProvableRouteId } from "../costly-reads/costly-reads.ts";
import type { ProofLane } from "../costly-reads/proof-lane.ts";
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
import { getProofPage } from "../routes/proof-page.ts";
import { getLimits, getTrustRoot } from "../routes/public-routes.ts";
import { getEventAnchor, getReceipt } from "../routes/read-anchors.ts";
import { revokeClaimAnchor, revokeGrantAnchor } from "../routes/revoke.ts";
import { getCheckpoint, getEntries, getTile } from "../routes/tiles.ts";
import { verifyEventAnchor } from "../routes/verify-events.ts";
import { verifyClaimAnchor } from "../routes/verify-records.ts";
import { accountOf, crossOriginHeaders } from "./account.ts";
import type { Account, AccountDependencies } from "./account.ts";
import { Exchange } from "./exchange.ts";
import type { ExchangeDependencies, NamedRoute } from "./exchange.ts";
import { readJsonBody } from "./json-body.ts";
import { sendBytes } from "./respond.ts";
import { serveFeed } from "./serve-feed.ts";
import type { FeedDependencies } from "./serve-feed.ts";
import type { WitnessService } from "./serve-witness.ts";
import { waitForGrowth } from "./wait-for-growth.ts";

/** Streams have no handler: serveFeed writes them. */
type HandledRouteId = Exclude<RouteId, CostlyRouteId | "getFeed">;

const HANDLERS: Readonly<Record<HandledRouteId, Handler>> = {
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
  getProofPage,
  getVerifyPage: getProofPage,
  getOpenApi,
  getDocs,
  getDocsAsset,
};

export interface AppDependencies
  extends HandlerDependencies, ExchangeDependencies, AccountDependencies, FeedDependencies {
  readonly metrics: FeedDependencies["metrics"];
  readonly keys: AccountDependencies["keys"];
  /** Absent or null: this node witnesses no other logs. */
  readonly witness?: WitnessService | null;
  /** Makes a costly read off the event loop, where it delays no other request. */
  readonly makeCostlyRead: (read: CostlyRead) => Promise<MadeRead>;
  /** Where answers with a proof wait for a state that a quorum signs. */
  readonly proofs: Pick<ProofLane, "withState">;
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

const NO_BODY = new Uint8Array(0);

/** The body of a route that takes one. A large one counts from its first bytes until the answer is sent. */
async function bodyOf(
  route: Route,
  request: IncomingMessage,
  response: ServerResponse,
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
  return madeInTime(made, request, new RefusedError("deadline_exceeded", "a costly read was not made in time"));
}

/** A costly read with a proof. It takes no place of the others: proofs are made one after the other. */
async function madeProved(
  routeId: ProvableRouteId,
  request: HandlerRequest,
  { admission, makeCostlyRead, proofs }: AppDependencies,
): Promise<MadeAnswer> {
  admission.assertRoom(callerOf(request));
  const made = proofs.withState(request.deadline, (state) =>
    makeCostlyRead(costlyRead(routeId, { ...request, state })),
  );
  return madeInTime(made, request, new RefusedError("state_not_signed", "a proof was not made in time"));
}

async function madeInTime(made: Promise<MadeRead>, request: HandlerRequest, late: RefusedError): Promise<MadeAnswer> {
  const read = await within(made, request.deadline.remainingMs + COSTLY_GRACE_MS, null);
  if (read === null) throw late;
  for (const work of read.spent) request.spend(work);
  return read.answer;
}

async function handled(
  request: HandlerRequest,
  id: Exclude<RouteId, "getFeed">,
  { reads, run }: Account,
  dependencies: AppDependencies,
): Promise<MadeAnswer> {
  const own = reads === dependencies.reads ? dependencies : { ...dependencies, reads };
  const make = async (): Promise<MadeAnswer> => {
    if (isProvable(id) && wantsProof(id, request)) return madeProved(id, request, dependencies);
    if (isCostly(id)) return madeCostly(id, request, dependencies);
    return madeAnswer(await run(() => HANDLERS[id](request, own)));
  };
  const made = await make();
  request.spend({ answerBytes: made.body.length });
  return made;
}

/** A request, and which route it is for. */
export interface RoutedRequest {
  readonly route: NamedRoute;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** As the router decoded them. Attacker-controlled. */
  readonly pathParameters: HandlerRequest["pathParameters"];
}

/** Serves a request, however its route was found. */
export function serveRoute(routed: RoutedRequest, dependencies: AppDependencies): void {
  const { route, request, response } = routed;
  const headers = crossOriginHeaders(route, dependencies.openLog);
  const exchange = new Exchange(request, response, route, dependencies, headers);
  // It never rejects: any error becomes the answer.
  void exchange.run(() => answer(routed, exchange, dependencies));
}

/** The caller, the parameters, the cost, the answer: the order of checks is part of the contract. */
async function answer(
  { route, request, response, pathParameters }: RoutedRequest,
  exchange: Exchange,
  dependencies: AppDependencies,
): Promise<void> {
  const preferences = route.preferences.length > 0 ? parsePrefer(headerText(request, "prefer")) : null;
  const waitSeconds = preferences?.waitSeconds ?? null;
  const deadline = new Deadline(dependencies.clock, waitSeconds === null ? route.timeoutMs : waitSeconds * 1000);
  assertTarget(request);
  const account = await accountOf({ route, request, response }, deadline, dependencies);
  const { caller, isVisit, spend } = account;
  exchange.caller = caller;
  if (isCostly(route.id) && caller !== null) dependencies.admission.assertCostlyRoom(caller);
  const body = await bodyOf(route, request, response, { caller, spend, admission: dependencies.admission });
  const search = searchOf(request);
  const { id } = route;
  if (id === "getFeed") {
    await serveFeed({ request, response, pathParameters, search, account, deadline, exchange }, dependencies);
    return;
  }
  assertQuery(route, search);
  const asked = { search, response, account, deadline };
  const answerBy = id === "getLatestEventAnchor" ? await waitForGrowth(asked, dependencies) : deadline;
  const isAsync = preferences?.respondAsync === true && route.preferences.includes("respond-async");
  const handlerRequest: HandlerRequest = {
    route,
    call: exchange.call,
    caller,
    isVisit,
    deadline: answerBy,
    pathParameters,
    search,
    body,
    isAsync,
    prefersWitnessed: preferences?.witnessed === true && route.preferences.includes("witnessed"),
    prefersText: prefersText(request),
    acceptEncoding: headerText(request, "accept-encoding") ?? "",
    ifNoneMatch: headerText(request, "if-none-match") ?? "",
    state: null,
    spend,
  };
  const applied = [...(isAsync ? ["respond-async"] : []), ...(waitSeconds === null ? [] : [`wait=${waitSeconds}`])];
  const made = await handled(handlerRequest, id, account, dependencies);
  if (made.isWitnessed === true) applied.push("witnessed");
  const headers: Record<string, string> = { ...exchange.headers, ...made.headers };
  if (applied.length > 0) headers["Preference-Applied"] = applied.join(", ");
  account.count(made.body.length);
  sendBytes(response, exchange.call.requestId, { ...made, headers });
}

function headerText(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(",") : value;
}
