import type { EventRecorder } from "./adapter.ts";
import { recordWhenEnded } from "./http.ts";
import type { HttpResponse, RequestOptions } from "./http.ts";

/** What is read of a request of Express. */
export interface ExpressRequest {
  readonly method: string;
  readonly baseUrl: string;
  readonly originalUrl: string;
  readonly route?: unknown;
}

export type ExpressNext = () => void;

/**
 * A middleware for Express: each request becomes an event when its response has ended: `method`, `path`, the `route`
 * that took it, `status`, `duration_ms`, and whether the answer was sent as a whole (`complete`).
 *
 *     app.use(recordRequests(recorder, { who: (request) => request.user?.name }));
 */
export function recordRequests<Request extends ExpressRequest = ExpressRequest>(
  recorder: EventRecorder,
  options: RequestOptions<Request> = {},
): (request: Request, response: HttpResponse, next: ExpressNext) => void {
  return (request, response, next) => {
    const read = () => ({ method: request.method, url: request.originalUrl, route: routeOf(request) });
    recordWhenEnded(recorder, { request, response, read }, options);
    next();
  };
}

function routeOf({ route, baseUrl }: ExpressRequest): string | undefined {
  if (typeof route !== "object" || route === null || !("path" in route)) return undefined;
  return typeof route.path === "string" ? `${baseUrl}${route.path}` : undefined;
}
