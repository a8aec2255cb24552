/** The public app over a fake node, on a port of its own. */
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import type { IncomingHttpHeaders, Server } from "node:http";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { promisify } from "node:util";
import { apiKeyIdentity, formatApiKey } from "@event-anchoring/control-contract";
import type {
  AnchorJson,
  AsOfAnswer,
  ProblemCode,
  ReadyAnswer,
  ReceiptAnswer,
  TraceAnswer,
} from "@event-anchoring/api-contract";
import type { ApiKey, Scope } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import {
  Admission,
  ApiMetrics,
  Feeds,
  KeyTable,
  NodeProbe,
  Proxies,
  PublicLog,
  RateLimiter,
  TrustRootReader,
  ListenerTls,
  ProofLane,
  RefusedError,
  createApiServer,
  createApp,
  createMetricsServer,
  makeCostlyRead,
} from "@event-anchoring/api";
import type { AccessLog, ConnectionRules, ControlPlane, PublicRates, TlsFiles } from "@event-anchoring/api";
import type { Clock, Logger, Tracer } from "@event-anchoring/telemetry";
import { assertDocumented } from "./documented.ts";
import { seedOf } from "./fake-cluster.ts";
import { FakeNode, START_MS } from "./fake-node.ts";

export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

export class FakeClock implements Clock {
  offsetMs = 0;
  #stoppedAtMs: number | null = null;
  /** From now on no time passes by itself: buckets do not fill, however slow the machine is. */
  stop(): void {
    this.#stoppedAtMs = performance.now();
  }
  go(): void {
    this.#stoppedAtMs = null;
  }
  wallMs(): number {
    return START_MS + 100_000 + this.offsetMs;
  }
  monotonicMs(): number {
    return (this.#stoppedAtMs ?? performance.now()) + this.offsetMs;
  }
}

/**
 * The fields of any answer that tests look at one by one; the whole of a body is for its schema. What an answer does
 * not have is undefined here, and fails what the test expects of it.
 */
export interface AnswerBody {
  readonly anchor: Extract<AnchorJson, { kind: "event" }>;
  readonly as_of: AsOfAnswer;
  readonly checks: ReadyAnswer["checks"];
  readonly code: ProblemCode;
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[];
  readonly receipt: ReceiptAnswer | null;
  readonly request_id: string;
  readonly status: string | number;
  readonly valid: boolean;
  readonly version: number;
  readonly violations: TraceAnswer["violations"];
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Uint8Array;
  readonly text: string;
  /** null if the text is not JSON: reading a field of it then throws. */
  readonly json: AnswerBody;
}

type KeyFields = Pick<ApiKey, "apiClientId" | "expiresMs" | "requestsPerSecond">;

export interface Harness {
  readonly node: FakeNode;
  readonly clock: FakeClock;
  readonly selects: Selects;
  readonly key: string;
  readonly origin: string;
  readonly port: number;
  readonly metricsPort: number;
  readonly logged: readonly LoggedLine[];
  stopping: boolean;
  /** A new live key. */
  keyWith(label: string, scopes: readonly Scope[], fields?: Partial<KeyFields>): string;
  /** Whatever comes back is held against the row of the route. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  raw(bytes: string): Promise<string>;
  /** A connection on which these bytes were sent, and nothing is read. */
  hold(bytes: string): Socket;
  /** Connections that the public listener holds. */
  openConnections(): Promise<number>;
  /** A scrape of the private listener. */
  metrics(): Promise<Answer>;
  /** As the process does when it is asked to stop. */
  sayGoodbye(): void;
  /** As the process does then, too. */
  endFeeds(): Promise<void>;
  /** As the process does at SIGHUP. */
  reloadTls(): void;
  close(): Promise<void>;
}

function parseJson(text: string): AnswerBody {
  try {
    return JSON.parse(text) as AnswerBody;
  } catch {
    return null as unknown as AnswerBody;
  }
}

function send(
  port: number,
  method: string,
  path: string,
  body: unknown,
  headers: Record<string, string>,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const bytes = typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    const contentType = body === undefined ? {} : { "content-type": "application/json" };
    const request = httpRequest(
      { port, method, path, host: "127.0.0.1", agent: false, headers: { ...contentType, ...headers } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          const bytes = Buffer.concat(chunks);
          const text = bytes.toString("utf8");
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            bytes,
            text,
            json: parseJson(text),
          });
        });
      },
    );
    request.on("error", reject);
    request.end(bytes);
  });
}

/** Sends bytes as they are and returns everything until the server closes the connection. */
function raw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes, "latin1"));
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("error", reject);
    socket.on("close", () => resolve(Buffer.concat(chunks).toString("latin1")));
  });
}

/** Statements to the tables, by whose connections they take. */
export interface Selects {
  keyed: number;
  visits: number;
}

function counted(reads: FakeNode["reads"], onSelect: () => void): FakeNode["reads"] {
  return new Proxy(reads, {
    get: (target, name, receiver) => {
      // A promise that is resolved with it asks for this.
      if (name !== "then") onSelect();
      return Reflect.get(target, name, receiver) as unknown;
    },
  });
}

interface AppDoubles {
  readonly node: FakeNode;
  readonly controlPlane: ControlPlane;
  readonly clock: FakeClock;
  readonly metrics: ApiMetrics;
  readonly logger: Logger;
  readonly keyRequestsPerSecond: number | null;
  readonly publicRates: PublicRates | null;
  readonly proxies: readonly string[];
  readonly selects: Selects;
  readonly isStopping: () => boolean;
  readonly tracer: Tracer | null;
  readonly accessLog: AccessLog;
}

function appOver(doubles: AppDoubles): { readonly app: ReturnType<typeof createApp>; readonly feeds: Feeds } {
  const { node, controlPlane, clock, metrics, logger, keyRequestsPerSecond, isStopping, tracer, accessLog } = doubles;
  const { publicRates, proxies } = doubles;
  const trustRoots = new TrustRootReader(nodeCrypto, node.cluster.trustRoot.rootThk);
  const { selects } = doubles;
  const reads = { opened: async () => counted(node.reads, () => (selects.keyed += 1)) };
  const feeds = new Feeds({ controlPlane, reads, logger, clock, sha256: nodeCrypto.sha256 });
  const reading = { controlPlane, reads, trustRoots, crypto: nodeCrypto, clock };
  const app = createApp({
    ...reading,
    makeCostlyRead: (read) => makeCostlyRead(read, reading),
    // Proofs take real tables: process.test.ts.
    proofs: new ProofLane({
      hold: () => Promise.reject(new RefusedError("state_not_signed", "there is no quorum")),
      clock,
      onHold: (outcome) => metrics.stateHeld(outcome),
    }),
    metrics,
    logger,
    tracer,
    accessLog,
    feeds,
    randomBytes: (count) => new Uint8Array(count).fill(7),
    probe: new NodeProbe({ controlPlane, reads, served: [reads], clock, stoppedReason: () => node.stopped }),
    keys: new KeyTable({
      load: () => controlPlane.apiKeys(1000),
      clock,
      logger,
      sha256: nodeCrypto.sha256,
    }),
    admission: new Admission(),
    limiter: new RateLimiter(keyRequestsPerSecond, clock),
    openLog:
      publicRates === null
        ? null
        : {
            publicLog: new PublicLog({ rates: publicRates, proxies: new Proxies(proxies), clock }),
            reads: { opened: async () => counted(node.reads, () => (selects.visits += 1)) },
          },
    limits: {
      keyRequestsPerSecond,
      publicAddressRequestsPerSecond: publicRates?.addressRequestsPerSecond ?? null,
      publicRequestsPerSecond: publicRates?.requestsPerSecond ?? null,
    },
    isStopping,
    node: {
      nodeId: "node-a",
      clusterId: bytesToHex(node.cluster.clusterId),
      originFingerprint: node.origin,
      serviceVersion: "4.2.0",
    },
  });
  return { app, feeds };
}

/** Makes a live key at the node and returns it as a client sends it. */
function createKey(node: FakeNode, label: string, scopes: readonly Scope[], fields: Partial<KeyFields>): string {
  const secret = seedOf(`api key ${label}`);
  const { keyHash } = apiKeyIdentity(secret, nodeCrypto.sha256);
  const apiClientId = clientIdOf(label);
  node.createApiKey({ keyHash, apiClientId, label, scopes, expiresMs: 0, requestsPerSecond: 0, ...fields });
  return formatApiKey(secret);
}

/** The API client whose key `keyWith` made, unless it was told another one. */
export function clientIdOf(label: string): Uint8Array {
  return seedOf(`client ${label}`).slice(0, 16);
}

/** Names the key of a label, as `keyWith` made it. */
export function keyIdOf(label: string): Uint8Array {
  return apiKeyIdentity(seedOf(`api key ${label}`), nodeCrypto.sha256).keyId;
}

interface LoggedLine {
  readonly level: string;
  readonly fields: object;
}

function loggerInto(logged: LoggedLine[]): Logger {
  const note =
    (level: string) =>
    (_event: string, fields: Record<string, unknown> = {}): void => {
      logged.push({ level, fields });
    };
  return { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
}

/** Listens on a free port. */
async function listening(server: Server, host = "127.0.0.1"): Promise<number> {
  server.listen(0, host);
  await once(server, "listening");
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

export interface HarnessOptions {
  readonly perSecond?: number;
  readonly controlPlane?: (node: FakeNode) => ControlPlane;
  readonly tracer?: Tracer;
  readonly accessLog?: AccessLog;
  readonly connections?: ConnectionRules;
  /** Certificate and key of the public listener. */
  readonly tls?: TlsFiles;
  /** Where the public listener is; default: loopback. */
  readonly host?: string;
  /** Rates of a public log; absent: it is not public. */
  readonly publicRates?: PublicRates;
}

function metricsOf(node: FakeNode): ApiMetrics {
  return new ApiMetrics({
    outstanding: () => 0,
    stoppedReason: () => node.stopped,
    databaseUsage: async () => ({ bytes: 8_000_000, sessions: 7, sessionsMax: 24 }),
  });
}

function openOf({ publicRates, connections }: HarnessOptions): Pick<AppDoubles, "publicRates" | "proxies"> {
  return { publicRates: publicRates ?? null, proxies: connections?.proxies ?? [] };
}

export async function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  const node = new FakeNode();
  const controlPlane = options.controlPlane?.(node) ?? node;
  const clock = new FakeClock();
  const metrics = metricsOf(node);
  const logged: LoggedLine[] = [];
  const logger = loggerInto(logged);
  const flags = { stopping: false };
  const keyRequestsPerSecond = options.perSecond ?? null;
  const isStopping = (): boolean => flags.stopping;
  const { tracer = null, accessLog = "none" } = options;
  const selects = { keyed: 0, visits: 0 };
  const watching = { logger, metrics, tracer, accessLog, selects };
  const doubles = { node, controlPlane, clock, keyRequestsPerSecond, isStopping, ...openOf(options) };
  const { app, feeds } = appOver({ ...doubles, ...watching });
  const tls = options.tls === undefined ? null : new ListenerTls(options.tls, logger);
  const { server, sayGoodbye } = createApiServer(app, {
    logger,
    ...(tls === null ? {} : { tls }),
    ...(options.connections === undefined ? {} : { connections: options.connections }),
    onConnectionRefused: (reason) => metrics.connectionRefused(reason),
  });
  const metricsServer = createMetricsServer(metrics, controlPlane, logger);
  const [port, metricsPort] = await Promise.all([listening(server, options.host), listening(metricsServer)]);
  const keyWith = (label: string, scopes: readonly Scope[], fields: Partial<KeyFields> = {}): string =>
    createKey(node, label, scopes, fields);
  const key = keyWith("default", ["read", "write", "revoke"]);
  return {
    node,
    clock,
    selects,
    key,
    port,
    metricsPort,
    logged,
    origin: bytesToHex(node.origin),
    get stopping() {
      return flags.stopping;
    },
    set stopping(value: boolean) {
      flags.stopping = value;
    },
    keyWith,
    send: async (method, path, body, headers = { authorization: `Bearer ${key}` }) => {
      const answer = await send(port, method, path, body, headers);
      assertDocumented(method, path, answer);
      return answer;
    },
    raw: (bytes) => raw(port, bytes),
    hold: (bytes) => {
      const socket = connect(port, "127.0.0.1", () => socket.write(bytes, "latin1"));
      return socket.on("error", () => undefined);
    },
    openConnections: () => promisify(server.getConnections.bind(server))(),
    sayGoodbye,
    reloadTls: () => tls?.look(),
    metrics: () => send(metricsPort, "GET", "/metrics", undefined, {}),
    endFeeds: () => feeds.close(),
    close: async () => {
      await feeds.close();
      await Promise.all([closed(server), closed(metricsServer)]);
    },
  };
}

export { send as sendTo };
