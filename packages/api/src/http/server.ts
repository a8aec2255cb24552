import { IncomingMessage, ServerResponse, createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Server as TlsServer } from "node:https";
import type { Server, ServerOptions } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Express } from "express";
import { LIMITS } from "@event-anchoring/api-contract";
import type { ProblemCode } from "@event-anchoring/api-contract";
import type { Logger } from "@event-anchoring/telemetry";
import { problemError } from "../request/problem-error.ts";
import type { App } from "./app.ts";
import { Connections, DEFAULT_CONNECTION_RULES } from "./connections.ts";
import type { ConnectionRefusal, ConnectionRules } from "./connections.ts";
import type { ListenerTls } from "./listener-tls.ts";
import { newRequestId, requestIdOf } from "./request-id.ts";
import { rawProblemResponse, respondWithError, sendProblem } from "./respond.ts";

/** Milliseconds and counts of the listener; every one bounds what a client can hold on to. */
const LISTENER = {
  headersTimeoutMs: 10_000,
  /** Whole request, body included. A batch on a slow line fits. */
  requestTimeoutMs: 15_000,
  /** Above the idle time of common gateways would keep their sockets; 20 s lets both sides reuse them. */
  keepAliveTimeoutMs: 20_000,
  /** A TLS handshake, from the connection on. */
  handshakeTimeoutMs: 10_000,
  connectionsCheckingIntervalMs: 2000,
  requestsPerSocketMax: 10_000,
  /** How long a connection lasts whose last bytes are not read. */
  lastBytesMs: 5000,
} as const;

/**
 * Classes whose instances already have the app's prototypes. Express gives every request and response its own
 * prototype by Object.setPrototypeOf, which costs two thirds of a small request; here that assignment changes nothing.
 */
function messageClasses(app: Express): {
  IncomingMessage: typeof IncomingMessage;
  ServerResponse: typeof ServerResponse;
} {
  function AppRequest(this: IncomingMessage, socket: Socket): void {
    Reflect.apply(IncomingMessage, this, [socket]);
  }
  AppRequest.prototype = app.request;
  function AppResponse(this: ServerResponse, request: IncomingMessage, options: object): void {
    Reflect.apply(ServerResponse, this, [request, options]);
  }
  AppResponse.prototype = app.response;
  return {
    IncomingMessage: AppRequest as unknown as typeof IncomingMessage,
    ServerResponse: AppResponse as unknown as typeof ServerResponse,
  };
}

function parseErrorCode(error: NodeJS.ErrnoException): ProblemCode {
  if (error.code === "HPE_HEADER_OVERFLOW") return "headers_too_large";
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return "request_timeout";
  return "http_invalid";
}

/** The unfinished answers, by connection. An answer that the client does not read ends with its connection. */
class PendingAnswers {
  readonly #bySocket = new WeakMap<Duplex, Set<ServerResponse>>();
  readonly #all = new Set<ServerResponse>();
  #areLast = false;

  track(socket: Duplex, response: ServerResponse): void {
    const pending = this.#bySocket.get(socket) ?? new Set();
    this.#bySocket.set(socket, pending.add(response));
    this.#all.add(response);
    if (this.#areLast) response.shouldKeepAlive = false;
    let timer: NodeJS.Timeout | null = null;
    response.once("prefinish", () => {
      if (!socket.destroyed) timer = setTimeout(() => socket.destroy(), LIMITS.answerTimeoutMs);
    });
    response.once("close", () => {
      if (timer !== null) clearTimeout(timer);
      pending.delete(response);
      this.#all.delete(response);
    });
  }

  /** From now on each answer is the last one of its connection, and carries `Connection: close`. */
  makeLast(): void {
    this.#areLast = true;
    for (const response of this.#all) response.shouldKeepAlive = false;
  }

  on(socket: Duplex): readonly ServerResponse[] {
    return [...(this.#bySocket.get(socket) ?? [])];
  }
}

/**
 * The last bytes of a connection. It ends even if the client keeps its own half open: HTTP servers allow half-open
 * connections, and one that is merely ended stays for as long as the client likes.
 */
function endWith(socket: Duplex, bytes: string): void {
  // Node has removed its own listener by now; a reset without one would end the process.
  socket.on("error", () => socket.destroy());
  const timer = setTimeout(() => socket.destroy(), LISTENER.lastBytesMs);
  socket.once("close", () => clearTimeout(timer));
  socket.end(bytes, () => socket.destroy());
}

/**
 * Bytes that are not a request: they are answered, and the connection is closed. Before a request there is only a
 * socket to write to. In the body of a request, its own answer reports the error. After a whole request, that is
 * answered as if nothing had followed it. Once an answer has begun, further bytes would be taken for its body.
 */
function onClientError(error: NodeJS.ErrnoException, socket: Duplex, pending: PendingAnswers, logger: Logger): void {
  const [response, ...others] = pending.on(socket);
  const isBegun = response !== undefined && (others.length > 0 || response.headersSent);
  if (error.code === "ECONNRESET" || !socket.writable || isBegun) {
    socket.destroy();
    return;
  }
  const code = parseErrorCode(error);
  const requestId = response === undefined ? newRequestId() : requestIdOf(response.req);
  logger.debug("not a request", { err: error, request_id: requestId, code });
  if (response === undefined) endWith(socket, rawProblemResponse(code, requestId));
  else if (response.req.complete) response.setHeader("Connection", "close");
  else sendProblem(response, { code }, requestId);
}

/** The listener, and how it is shut down. */
export interface ApiServer {
  readonly server: Server;
  /**
   * Connections end with their next answer, which carries `Connection: close`. So clients that keep connections move
   * elsewhere between two requests, and none is cut off with a request under way.
   */
  readonly sayGoodbye: () => void;
}

export interface ApiServerOptions {
  readonly logger: Logger;
  /** Certificate and key; absent: plain HTTP. */
  readonly tls?: ListenerTls;
  /** Absent: the default ones. */
  readonly connections?: ConnectionRules;
  readonly onConnectionRefused?: (reason: ConnectionRefusal) => void;
}

function createTlsListener(limits: ServerOptions, tls: ListenerTls): TlsServer {
  const server = createTlsServer({ ...limits, ...tls.context, handshakeTimeout: LISTENER.handshakeTimeoutMs });
  tls.follow(server);
  return server;
}

/** An HTTP/1.1 server for the app, with limits and without a port, plain or over TLS. A gateway provides HTTP/2. */
export function createApiServer(app: App, options: ApiServerOptions): ApiServer {
  const { logger, connections = DEFAULT_CONNECTION_RULES, onConnectionRefused = () => undefined } = options;
  const limits = {
    ...messageClasses(app.express),
    maxHeaderSize: LIMITS.headerBytesMax,
    headersTimeout: LISTENER.headersTimeoutMs,
    requestTimeout: LISTENER.requestTimeoutMs,
    keepAliveTimeout: LISTENER.keepAliveTimeoutMs,
    connectionsCheckingInterval: LISTENER.connectionsCheckingIntervalMs,
    insecureHTTPParser: false,
    requireHostHeader: false,
    noDelay: true,
  };
  const server = options.tls === undefined ? createServer(limits) : createTlsListener(limits, options.tls);
  // Node drops no header silently: the app counts them, and refuses a request with too many.
  server.maxHeadersCount = 0;
  server.maxRequestsPerSocket = LISTENER.requestsPerSocketMax;
  new Connections(connections, onConnectionRefused).watch(server);
  const pending = new PendingAnswers();
  server.on("request", (request, response) => pending.track(request.socket, response));
  server.on("request", app.serve);
  server.on("clientError", (error, socket) => onClientError(error, socket, pending, logger));
  // The app sends 100-continue itself, once it knows that it wants the body.
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    server.emit("request", request, response);
  });
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    const requestId = requestIdOf(request);
    respondWithError(request, response, problemError("http_invalid"), { call: { requestId, trace: null }, logger });
  });
  // CONNECT and upgrades are not part of this API.
  server.on("connect", (_request, socket) => endWith(socket, rawProblemResponse("route_not_found", newRequestId())));
  return { server, sayGoodbye: () => pending.makeLast() };
}
