/**
 * Reads that take so long that they do not run on the process's event loop: it could answer no other request meanwhile.
 */
import {
  ROUTES,
  parseBody,
  parsePath,
  parseQuery,
  proofQuerySchema,
  traceQuerySchema,
} from "@event-anchoring/api-contract";
import type { RouteId } from "@event-anchoring/api-contract";
import type { Work } from "../access/request-cost.ts";
import { Deadline } from "../request/deadline.ts";
import { parsed } from "../request/problem-error.ts";
import { bodyTextOf, madeAnswer } from "../routes/handler.ts";
import type { HandlerRequest, ReadDependencies, ReadHandler, MadeAnswer } from "../routes/handler.ts";
import { traceEventAnchor } from "../routes/trace.ts";
import { verifyEventAnchor, verifyEventAnchors } from "../routes/verify-events.ts";
import { verifyClaimAnchor, verifyGrantAnchor } from "../routes/verify-records.ts";

export type CostlyRouteId = "traceEventAnchor" | "verifyEventAnchors" | "verifyGrantAnchor";

/** Routes whose answer may carry a proof, which is costly for all of them. */
export type ProvableRouteId = "traceEventAnchor" | "verifyEventAnchor" | "verifyClaimAnchor" | "verifyGrantAnchor";

const PROVABLE_HANDLERS: Readonly<Record<ProvableRouteId, ReadHandler>> = {
  traceEventAnchor,
  verifyEventAnchor,
  verifyClaimAnchor,
  verifyGrantAnchor,
};

const COSTLY_HANDLERS: Readonly<Record<CostlyRouteId, ReadHandler>> = {
  traceEventAnchor,
  verifyEventAnchors,
  verifyGrantAnchor,
};

export function isCostly(id: RouteId): id is CostlyRouteId {
  return Object.hasOwn(COSTLY_HANDLERS, id);
}

export function isProvable(id: RouteId): id is ProvableRouteId {
  return Object.hasOwn(PROVABLE_HANDLERS, id);
}

/**
 * Whether a request of such a route asks for a proof. What is wrong with one that does is said before a state is
 * signed.
 * @throws ProblemError `invalid_request`, `json_invalid`
 */
export function wantsProof(id: ProvableRouteId, request: HandlerRequest): boolean {
  const { route, search, pathParameters } = request;
  const query = parsed(parseQuery(id === "traceEventAnchor" ? traceQuerySchema : proofQuerySchema, search));
  if (!query.wantsProof) return false;
  if (route.pathSchema !== null) parsed(parsePath(route.pathSchema, pathParameters));
  if (route.bodySchema !== null) parsed(parseBody(route.bodySchema, bodyTextOf(request)));
  return true;
}

const HANDLERS = { ...PROVABLE_HANDLERS, ...COSTLY_HANDLERS };

/** A request for a costly read: nothing but data, which can change threads. */
export interface CostlyRead extends Omit<HandlerRequest, "route" | "deadline" | "spend"> {
  readonly routeId: CostlyRouteId | ProvableRouteId;
  readonly remainingMs: number;
}

export function costlyRead(routeId: CostlyRead["routeId"], request: HandlerRequest): CostlyRead {
  const { route: _route, spend: _spend, deadline, ...asked } = request;
  // A body that was received lies in a buffer with others, which would change threads with it.
  return { ...asked, routeId, body: new Uint8Array(asked.body), remainingMs: deadline.remainingMs };
}

/** An answer, and what it took. */
export interface MadeRead {
  readonly answer: MadeAnswer;
  readonly spent: readonly Work[];
}

/** @throws whatever its handler throws */
export async function makeCostlyRead(read: CostlyRead, dependencies: ReadDependencies): Promise<MadeRead> {
  const { routeId, remainingMs, ...asked } = read;
  const route = ROUTES.find(({ id }) => id === routeId);
  if (route === undefined) throw new Error(`there is no route ${routeId}`);
  const deadline = new Deadline(dependencies.clock, remainingMs);
  const spent: Work[] = [];
  const request = { ...asked, route, deadline, spend: (work: Work) => void spent.push(work) };
  return { answer: madeAnswer(await HANDLERS[routeId](request, dependencies)), spent };
}
