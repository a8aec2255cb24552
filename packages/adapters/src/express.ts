import { recordEvent } from "./adapter.ts";
import type { AdapterOptions, EventRecorder } from "./adapter.ts";

/** What is read of a request of Express. */
export interface ExpressRequest {
  readonly method: string;
  readonly baseUrl: string;
  readonly originalUrl: string;
  readonly route?: unknown;
}

/** What is read of its response. */
export interface ExpressResponse {
  readonly statusCode: number;
  readonly writableFinished: boolean;
  readonly once: (event: "close", listener: () => void) => unknown;
}

export type ExpressNext = () => void;

export interface ExpressOptions<Request extends ExpressRequest> extends Omit<AdapterOptions, "who"> {
  /** Type of the events. Default: `http.request`. */
  readonly what?: string | undefined;
  /** Who asks: a user that was authenticated before, say. Asked when the response has ended. */
  readonly who?: ((request: Request) => string | undefined) | undefined;
  /** Which requests are recorded, asked when the response has ended. Default: all. */
  readonly select?: ((request: Request, response: ExpressResponse) => boolean) | undefined;
  /** More members of the content. Default: none; query, headers and bodies are not recorded by themselves. */
  readonly more?: ((request: Request, response: ExpressResponse) => object) | undefined;
}

/**
 * A middleware for Express: each request becomes an event when its response has ended: `method`, `path`, the `route`
 * that took it, `status`, `duration_ms`, and whether the answer was sent as a whole (`complete`).
 *
 *     app.use(recordRequests(recorder, { who: (request) => request.user?.name }));
 */
export function recordRequests<Request extends ExpressRequest = ExpressRequest>(
  recorder: EventRecorder,
  options: ExpressOptions<Request> = {},
): (request: Request, response: ExpressResponse, next: ExpressNext) => void {
  const { what = "http.request", who, select = () => true, more = () => ({}), ...others } = options;
  return (request, response, next) => {
    const [when, begunMs] = [new Date(), performance.now()];
    response.once("close", () => {
      if (!select(request, response)) return;
      const content = {
        method: request.method,
        path: request.originalUrl.replace(/\?.*$/su, ""),
        route: routeOf(request),
        status: response.statusCode,
        duration_ms: Math.round(performance.now() - begunMs),
        complete: response.writableFinished,
        ...more(request, response),
      };
      recordEvent(recorder, { content, what, when, who: who?.(request) }, others);
    });
    next();
  };
}

/** As the program has declared it, `/orders/:id` say; undefined: none took the request. */
function routeOf({ route, baseUrl }: ExpressRequest): string | undefined {
  if (typeof route !== "object" || route === null || !("path" in route)) return undefined;
  return typeof route.path === "string" ? `${baseUrl}${route.path}` : undefined;
}
