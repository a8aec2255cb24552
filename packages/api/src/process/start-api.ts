import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import type { Server } from "node:http";
import type { CallerKey } from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { systemClock } from "@event-anchoring/telemetry";
import type { Tracer, Logger } from "@event-anchoring/telemetry";
import { Proxies } from "../access/addresses.ts";
import { Admission } from "../access/admission.ts";
import { KeyTable } from "../access/key-table.ts";
import { PublicLog } from "../access/public-log.ts";
import { RateLimiter } from "../access/rate-limiter.ts";
import { ControlPlaneClient } from "../control-plane/control-plane-client.ts";
import { holdState } from "../control-plane/hold-state.ts";
import { StoppedNode } from "../control-plane/stopped-node.ts";
import type { ReadingSettings } from "../costly-reads/reading-messages.ts";
import { ProofLane } from "../costly-reads/proof-lane.ts";
import { ReadingThread } from "../costly-reads/reading-thread.ts";
import type { OpenLog } from "../http/account.ts";
import { Feeds } from "../feed/feeds.ts";
import { ApiMetrics } from "../http/api-metrics.ts";
import { createApp } from "../http/app.ts";
import { ListenerTls } from "../http/listener-tls.ts";
import { createMetricsServer } from "../http/metrics-server.ts";
import { createApiServer } from "../http/server.ts";
import type { WitnessControl, WitnessService } from "../http/serve-witness.ts";
import { NodeReads } from "../reading/node-reads.ts";
import type { OpenableReads } from "../reading/node-reads.ts";
import { TrustRootReader } from "../reading/trust-root-reader.ts";
import { NodeProbe } from "../routes/node-probe.ts";
import type { ApiConfig } from "./config.ts";
import { SERVICE_VERSION } from "./service-version.ts";

/** Connections to the database, beside those of the thread that makes costly reads. */
const READ_CONNECTIONS_MAX = 4;
/** A pool of its own for what /readyz waits for: costly reads may keep all the others busy. */
const VITAL_CONNECTIONS_MAX = 1;
/** Another one, for what is read without a key: however much that is, it keeps no request with a key waiting. */
const VISIT_CONNECTIONS_MAX = 1;
/** How long loading the key table may take: as long as a table may be used. */
const KEY_TIMEOUT_MS = 1000;
/** How long a stopping process waits for answers under way: the longest timeout of a batch fits. */
const DRAIN_MS_MAX = 15_500;
/**
 * How long /readyz answers 503 before the listener closes: two checks of a gateway, 500 ms apart, and as much again for
 * slow answers. The control plane of the node waits for it.
 */
const UNREADY_MS = 2000;

export interface RunningApi {
  /** Bound addresses; the configuration may have asked for port 0. */
  readonly port: number;
  readonly metricsPort: number;
  /** Loads changed TLS files at once; without this call they are loaded within seconds. */
  reloadTls(): void;
  /** Answers /readyz with 503 and ends connections with their answers, then accepts none, then waits for the rest. */
  stop(options?: { readonly isHurried?: boolean }): Promise<void>;
}

function listen(server: Server, address: { host: string; port: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(address.port, address.host, () => {
      server.off("error", reject);
      const bound = server.address();
      resolve(typeof bound === "object" && bound !== null ? bound.port : address.port);
    });
  });
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, durationMs);
  });
}

/** No connection is accepted; idle ones end at once, busy ones with their answer, all of them after `timeoutMs`. */
function drain(server: Server, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), timeoutMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}

function readingSettingsOf({ nodeId, logLevel, databaseUrl, pinnedRootThk }: ApiConfig): ReadingSettings {
  return { nodeId, logLevel, databaseUrl, pinnedRootThk };
}

/** What this process is connected to: the control plane of its node, and the tables. */
function connectNode(config: ApiConfig, logger: Logger, tracer: Tracer | null, tls: ListenerTls | null) {
  const onError = (cause: Error): void => logger.warn("lost an idle database connection", { err: cause });
  const reads = NodeReads.of({ url: config.databaseUrl, max: READ_CONNECTIONS_MAX, onError }, logger);
  const vitalReads = NodeReads.of({ url: config.databaseUrl, max: VITAL_CONNECTIONS_MAX, onError }, logger);
  const visitReads =
    config.publicRates === null
      ? null
      : NodeReads.of({ url: config.databaseUrl, max: VISIT_CONNECTIONS_MAX, onError }, logger);
  const { reason: stoppedReason } = new StoppedNode(dirname(config.controlSocket), systemClock);
  const controlPlane = new ControlPlaneClient({ socketPath: config.controlSocket, logger, tracer, stoppedReason });
  const metrics = new ApiMetrics({
    outstanding: () => controlPlane.outstanding,
    stoppedReason,
    tlsExpiresMs: () => tls?.expiresMs ?? null,
    spans: () => tracer?.counts() ?? null,
    databaseUsage: () => reads.databaseUsage(),
  });
  const served = visitReads === null ? [reads] : [reads, visitReads];
  const probe = new NodeProbe({ controlPlane, reads: vitalReads, served, clock: systemClock, stoppedReason });
  const loadKeys = (): Promise<readonly CallerKey[]> => controlPlane.apiKeys(KEY_TIMEOUT_MS);
  const keys = new KeyTable({ load: loadKeys, clock: systemClock, logger, sha256: nodeCrypto.sha256 });
  const readingThread = new ReadingThread({ settings: readingSettingsOf(config), controlPlane, logger });
  const start = (): void => {
    reads.start();
    vitalReads.start();
    visitReads?.start();
    controlPlane.start();
    readingThread.start();
  };
  const close = async (): Promise<void> => {
    controlPlane.close();
    await Promise.all([reads.close(), vitalReads.close(), visitReads?.close(), readingThread.close()]);
  };
  return { reads, visitReads, controlPlane, metrics, probe, keys, readingThread, start, close };
}

/** null: the log is not public. What that means is logged, for whoever has set it. */
function openLogOf(
  { publicRates: rates, connections }: ApiConfig,
  reads: OpenableReads | null,
  logger: Logger,
): OpenLog | null {
  if (rates === null || reads === null) return null;
  const shown = "checkpoints, tiles, receipts and trust roots, and so the names of operators and witnesses";
  const warning = "the hash of something guessable can be guessed";
  logger.warn("the log is public", { without_a_key: shown, warning });
  return { publicLog: new PublicLog({ rates, proxies: new Proxies(connections.proxies), clock: systemClock }), reads };
}

/** null: this node witnesses no other logs. */
function witnessOf({ witness, connections }: ApiConfig, controlPlane: WitnessControl): WitnessService | null {
  if (witness === null) return null;
  const { logs, rates } = witness;
  const callers = new PublicLog({ rates, proxies: new Proxies(connections.proxies), clock: systemClock });
  return { logs, controlPlane, callers, crypto: nodeCrypto };
}

/**
 * Starts the api process of a node. It starts without its control plane and without its tables, reports that on
 * /readyz, and serves as soon as both are there.
 * @throws the error of a listener that cannot bind; SettingsError for TLS files that are invalid
 */
export async function startApi(config: ApiConfig, logger: Logger, tracer: Tracer | null = null): Promise<RunningApi> {
  const tls = config.tls === null ? null : new ListenerTls(config.tls, logger);
  const node = connectNode(config, logger, tracer, tls);
  const { reads, visitReads, controlPlane, metrics, probe, keys, readingThread } = node;
  let isStopping = false;
  const feeds = new Feeds({ controlPlane, reads, logger, clock: systemClock, sha256: nodeCrypto.sha256 });
  const app = createApp({
    controlPlane,
    reads,
    metrics,
    probe,
    keys,
    logger,
    accessLog: config.accessLog,
    tracer,
    clock: systemClock,
    randomBytes,
    crypto: nodeCrypto,
    trustRoots: new TrustRootReader(nodeCrypto, config.pinnedRootThk),
    admission: new Admission(),
    makeCostlyRead: (read) => readingThread.make(read),
    proofs: new ProofLane({
      hold: (remainingMs) => holdState(config.controlSocket, remainingMs),
      clock: systemClock,
      onHold: (outcome) => metrics.stateHeld(outcome),
    }),
    limiter: new RateLimiter(config.keyRequestsPerSecond, systemClock),
    openLog: openLogOf(config, visitReads, logger),
    feeds,
    witness: witnessOf(config, controlPlane),
    limits: {
      keyRequestsPerSecond: config.keyRequestsPerSecond,
      publicAddressRequestsPerSecond: config.publicRates?.addressRequestsPerSecond ?? null,
      publicRequestsPerSecond: config.publicRates?.requestsPerSecond ?? null,
    },
    isStopping: () => isStopping,
    node: {
      nodeId: config.nodeId,
      clusterId: config.clusterId,
      originFingerprint: config.originFingerprint,
      serviceVersion: SERVICE_VERSION,
    },
  });
  const { server, sayGoodbye } = createApiServer(app, {
    logger,
    ...(tls === null ? {} : { tls }),
    connections: config.connections,
    onConnectionRefused: (reason) => metrics.connectionRefused(reason),
  });
  const metricsServer = createMetricsServer(metrics, controlPlane, logger);
  node.start();
  const port = await listen(server, config.listen);
  const metricsPort = await listen(metricsServer, config.metrics);
  const stop = async (options: { readonly isHurried?: boolean } = {}): Promise<void> => {
    isStopping = true;
    sayGoodbye();
    void feeds.close();
    if (options.isHurried !== true) await pause(UNREADY_MS);
    await Promise.all([drain(server, DRAIN_MS_MAX), drain(metricsServer, 0)]);
    await node.close();
    await tracer?.close();
  };
  return { port, metricsPort, reloadTls: () => tls?.look(), stop };
}
