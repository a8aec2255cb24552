/** The public app over a fake node, on a port of its own. */
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { apiKeyIdentity, formatApiKey } from "@event-anchoring/control-contract";
import type { ApiKey, Scope } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import {
  ApiMetrics,
  KeyTable,
  NodeProbe,
  RateLimiter,
  TrustRootReader,
  createApiServer,
  createApp,
  createMetricsServer,
} from "@event-anchoring/api";
import type { Clock, ControlPlane, Logger } from "@event-anchoring/api";
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
  nowMs(): number {
    return START_MS + 100_000 + this.offsetMs;
  }
  monotonicMs(): number {
    return performance.now() + this.offsetMs;
  }
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // Bodies of answers are checked against their schemas; tests then look at single fields.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any;
}

export interface Harness {
  readonly node: FakeNode;
  readonly clock: FakeClock;
  readonly key: string;
  readonly origin: string;
  readonly port: number;
  readonly metricsPort: number;
  readonly logged: { level: string; fields: object }[];
  stopping: boolean;
  /** A new live key. */
  keyWith(label: string, scopes: readonly Scope[], expiresMs?: number): string;
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  raw(bytes: string): Promise<string>;
  close(): Promise<void>;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
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
          const text = Buffer.concat(chunks).toString("utf8");
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
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

export async function startHarness(
  options: { perSecond?: number; controlPlane?: (node: FakeNode) => ControlPlane } = {},
): Promise<Harness> {
  const node = new FakeNode();
  const controlPlane = options.controlPlane?.(node) ?? node;
  const clock = new FakeClock();
  const metrics = new ApiMetrics({ outstanding: () => 0 });
  const logged: { level: string; fields: object }[] = [];
  const note =
    (level: string) =>
    (fields: object): void => {
      logged.push({ level, fields });
    };
  const logger = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
  const keyRequestsPerSecond = options.perSecond ?? null;
  const flags = { stopping: false };
  const app = createApp({
    controlPlane,
    reads: node.reads,
    metrics,
    logger,
    clock,
    randomBytes: (count) => new Uint8Array(count).fill(7),
    crypto: nodeCrypto,
    probe: new NodeProbe(controlPlane, node.reads, clock),
    trustRoots: new TrustRootReader(nodeCrypto, node.cluster.trustRoot.rootThk),
    keys: new KeyTable({
      load: async () => (await node.reads.apiKeys()).apiKeys,
      clock,
      sha256: nodeCrypto.sha256,
    }),
    limiter: new RateLimiter(keyRequestsPerSecond, clock),
    limits: { keyRequestsPerSecond },
    isStopping: () => flags.stopping,
    node: {
      nodeId: "node-a",
      clusterId: bytesToHex(node.cluster.clusterId),
      originFingerprint: node.origin,
      serviceVersion: "4.2.0",
    },
  });
  const server = createApiServer(app, logger).listen(0, "127.0.0.1");
  const metricsServer = createMetricsServer(metrics, controlPlane, logger).listen(0, "127.0.0.1");
  await Promise.all([once(server, "listening"), once(metricsServer, "listening")]);
  const portOf = (bound: ReturnType<typeof server.address>): number =>
    typeof bound === "object" && bound !== null ? bound.port : 0;
  const keyWith = (label: string, scopes: readonly Scope[], expiresMs = 0): string => {
    const secret = seedOf(`api key ${label}`);
    const { keyId, keyHash } = apiKeyIdentity(secret, nodeCrypto.sha256);
    const apiClientId = seedOf(`client ${label}`).slice(0, 16);
    const key: ApiKey = {
      keyId,
      keyHash,
      apiClientId,
      label,
      scopes,
      expiresMs,
      createdMs: 0,
      revokedMs: 0,
      operator: "test",
    };
    node.createApiKey(key);
    return formatApiKey(secret);
  };
  const key = keyWith("default", ["read", "write", "revoke"]);
  const port = portOf(server.address());
  return {
    node,
    clock,
    key,
    port,
    logged,
    origin: bytesToHex(node.origin),
    metricsPort: portOf(metricsServer.address()),
    get stopping() {
      return flags.stopping;
    },
    set stopping(value: boolean) {
      flags.stopping = value;
    },
    keyWith,
    send: (method, path, body, headers = { authorization: `Bearer ${key}` }) => send(port, method, path, body, headers),
    raw: (bytes) => raw(port, bytes),
    close: async () => {
      server.closeAllConnections();
      metricsServer.closeAllConnections();
      await Promise.all([
        new Promise((resolve) => server.close(resolve)),
        new Promise((resolve) => metricsServer.close(resolve)),
      ]);
    },
  };
}

export { send as sendTo };
