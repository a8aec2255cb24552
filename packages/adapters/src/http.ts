/** What the adapters for HTTP servers have in common: a request is an event when its response has ended. */
import { recordEvent } from "./adapter.ts";
import type { AdapterOptions, EventRecorder } from "./adapter.ts";

/** What is read of a response of Node's. */
export interface HttpResponse {
  readonly statusCode: number;
  readonly writableFinished: boolean;
  readonly once: (event: "close", listener: () => void) => unknown;
}

export interface RequestOptions<Request> extends Omit<AdapterOptions, "who"> {
  /** Type of the events. Default: `http.request`. */
  readonly what?: string | undefined;
  /** Who asks: a user that was authenticated before, say. Asked when the response has ended. */
  readonly who?: ((request: Request) => string | undefined) | undefined;
  /** Which requests are recorded, asked when the response has ended. Default: all. */
  readonly select?: ((request: Request, response: HttpResponse) => boolean) | undefined;
  /** More members of the content. Default: none; query, headers and bodies are not recorded by themselves. */
  readonly more?: ((request: Request, response: HttpResponse) => object) | undefined;
}

/** What a framework says of a request, asked when its response has ended. */
interface ReadRequest {
  readonly method: string;
  /** Path with the query, which is left out. */
  readonly url: string;
  /** As the program has declared it, `/orders/:id` say; undefined: none took the request. */
  readonly route: string | undefined;
}

/** Records a request when its response has ended. */
export function recordWhenEnded<Request>(
  recorder: EventRecorder,
  exchange: { readonly request: Request; readonly response: HttpResponse; readonly read: () => ReadRequest },
  options: RequestOptions<Request>,
): void {
  const { what = "http.request", who, select = () => true, more = () => ({}), ...others } = options;
  const { request, response, read } = exchange;
  const [when, begunMs] = [new Date(), performance.now()];
  response.once("close", () => {
    if (!select(request, response)) return;
    const { method, url, route } = read();
    const content = {
      method,
      path: url.replace(/\?.*$/su, ""),
      route,
      status: response.statusCode,
      duration_ms: Math.round(performance.now() - begunMs),
      complete: response.writableFinished,
      ...more(request, response),
    };
    recordEvent(recorder, { content, what, when, who: who?.(request) }, others);
  });
}
