import type { EventRecorder } from "./adapter.ts";
import { recordWhenEnded } from "./http.ts";
import type { HttpResponse, RequestOptions } from "./http.ts";

/** What is read of a request of Fastify. */
export interface FastifyRequest {
  readonly method: string;
  readonly originalUrl: string;
  readonly routeOptions: { readonly url?: string | undefined };
}

type Done = () => void;
type Hook<Request> = (request: Request, reply: { readonly raw: HttpResponse }, done: Done) => void;

/** What is called of an instance of Fastify. */
export interface FastifyHooks<Request> {
  readonly addHook: (name: "onRequest", hook: Hook<Request>) => unknown;
}

/** What `app.register` takes. */
export type FastifyPlugin<Request> = (app: FastifyHooks<Request>, options: object, done: Done) => void;

/** With this, a plugin's hooks are those of the application that registers it, as fastify-plugin has it. */
const OF_THE_APPLICATION = Symbol.for("skip-override");

/**
 * A plugin for Fastify: each request becomes an event when its response has ended: `method`, `path`, the `route` that
 * took it, `status`, `duration_ms`, and whether the answer was sent as a whole (`complete`).
 *
 *     app.register(recordingPlugin(recorder, { who: (request) => request.user?.name }));
 */
export function recordingPlugin<Request extends FastifyRequest = FastifyRequest>(
  recorder: EventRecorder,
  options: RequestOptions<Request> = {},
): FastifyPlugin<Request> {
  const plugin: FastifyPlugin<Request> = (app, _options, registered) => {
    app.addHook("onRequest", (request, { raw: response }, done) => {
      const { method, originalUrl: url, routeOptions } = request;
      recordWhenEnded(recorder, { request, response, read: () => ({ method, url, route: routeOptions.url }) }, options);
      done();
    });
    registered();
  };
  return Object.assign(plugin, { [OF_THE_APPLICATION]: true });
}
