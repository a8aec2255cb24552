/** The control-plane process: from its command line to its exit code. */
import { chmodSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { ConfigError, type ControlPlaneConfig, loadConfig } from "../node/config.ts";
import { checkStart, faultOf, loadOwn } from "./check-start.ts";
import { IdentityError } from "./load-identity.ts";
import { HeldStates } from "../local/held-states.ts";
import { LocalLink } from "../local/local-link.ts";
import { localRequests } from "../local/local-requests.ts";
import type { LocalRequestsOptions } from "../local/local-requests.ts";
import type { Machine } from "../node/machine.ts";
import { openWitness } from "./open-witness.ts";
import { createMetrics, listenForScrapes } from "../metrics/metrics.ts";
import { PeerWatch } from "./watch-peers.ts";
import { ControlPlaneNode, type NodeOptions } from "../node/node.ts";
import type { StopReason } from "../session/how-a-life-ends.ts";
import { forgetStopped, writeStopped } from "./stopped-file.ts";
import { systemEnvironment } from "./system-environment.ts";
import { systemMachine } from "./system-machine.ts";
import type { RuleTable } from "@event-anchoring/ledger";
import { VerifierThread } from "@event-anchoring/node-crypto";
import { CONTROL_PLANE_SETTINGS, SERVICE_VERSION } from "@event-anchoring/control-contract";
import { checkReport, processArguments, startTracing } from "@event-anchoring/telemetry";
import type { ProcessProgram } from "@event-anchoring/telemetry";

const EXIT_CONFIG = 2;
/**
 * How long a stopping node serves its api process: a gateway removes it within the 2 s for which a stopping api process
 * waits, and the longest answer under way then is that of a batch.
 */
const DRAIN = { serveMs: 3000, answerMs: 15_000 } as const;

type MachineOf = (config: ControlPlaneConfig) => Machine;

const PROGRAM: ProcessProgram = {
  name: "anchoring-control-plane",
  version: SERVICE_VERSION,
  summary: "The private process of a node: consensus, its copy of the log, and the cosignatures.",
  prefix: CONTROL_PLANE_SETTINGS.prefix,
  files: "the node's identity, TLS files, promises and witnessed logs",
  moreExitCodes: " · 78 fenced · 79 halted",
};

async function main(ruleTable: RuleTable, machineOf: MachineOf): Promise<void> {
  const asked = processArguments(process.argv.slice(2), PROGRAM);
  if (asked.action === "print") {
    process.stdout.write(asked.text);
    return;
  }
  if (asked.action === "refuse") throw new ConfigError(asked.text);
  const { action, configPath } = asked;
  if (action === "check") {
    const report = checkReport(PROGRAM, configPath, await checkStart(configPath, process.env));
    (report.exitCode === 0 ? process.stdout : process.stderr).write(report.text);
    process.exitCode = report.exitCode;
    return;
  }
  const config = loadConfig(configPath, process.env);
  const identity = loadOwn(config);
  await serve(configPath, { config, identity, machine: machineOf(config), ruleTable });
}

async function serve(
  configPath: string,
  parts: Pick<NodeOptions, "config" | "identity" | "machine" | "ruleTable">,
): Promise<void> {
  const { config, machine } = parts;
  const system = systemEnvironment(config.log_level, config.node_id);
  const tracer = await startTracing(process.env, {
    service: "anchoring-control-plane",
    version: SERVICE_VERSION,
    nodeId: config.node_id,
    logger: system.logger,
  });
  const witness = await openWitness({ config, identity: parts.identity, ...system });
  const verifier = new VerifierThread();
  const environment = { ...system, tracer, verify: verifier.verify.bind(verifier) };
  mkdirSync(config.run_dir, { recursive: true, mode: 0o700 });
  chmodSync(config.run_dir, 0o700);
  forgetStopped(dirname(config.api_socket));
  let stopped = null as StopReason | null;
  const node = new ControlPlaneNode({
    ...parts,
    environment,
    onStopped: (stop) => (stopped = stop),
  });
  const registry = createMetrics(node, {
    tracer,
    witness: witness?.witness ?? null,
    volumes: { promise: dirname(config.promise_file), run: config.run_dir },
  });
  const metrics = (): Promise<string> => registry.metrics();
  const link = createLink({ ...environment, config, machine, node, metrics, witness: witness?.witness ?? null });
  await link.listen();
  const scrapes = config.metrics === null ? null : await listenForScrapes(registry, config.metrics);
  stopOn((isHurried) => node.stop(isHurried ? undefined : () => link.drain(DRAIN)));
  const peers = new PeerWatch({
    environment,
    loadConfig: () => loadConfig(configPath, process.env),
    configPath,
    config,
    onPeers: (listed) => node.setPeers(listed),
  });
  process.on("SIGHUP", () => {
    peers.look();
    void node.reloadTls();
  });
  await node.run();
  await link.close();
  await witness?.close();
  scrapes?.close();
  scrapes?.closeAllConnections();
  await tracer?.close();
  await verifier.close();
  const stop = stopped;
  if (stop !== null) reportStopped(config, stop);
  // Everything is closed; a channel to the supervisor would keep the process alive.
  process.exit(stop === null ? 0 : stop.exitCode);
}

/** Where the api process asks. */
function createLink({
  config,
  machine,
  ...options
}: LocalRequestsOptions &
  Pick<NodeOptions, "config" | "machine"> &
  Pick<NodeOptions["environment"], "clock" | "logger">): LocalLink {
  const { node, clock, logger } = options;
  const heldStates = new HeldStates({
    openStateHold: () => machine.openStateHold(),
    session: () => node.session,
    clock,
    logger,
  });
  return new LocalLink({
    path: config.api_socket,
    mode: Number.parseInt(config.api_socket_mode, 8),
    handle: localRequests({ ...options, heldStates }),
    logger,
    clock,
  });
}

/**
 * A terminal sends interrupts to the whole process group; only the supervisor's signal counts, and it is in a hurry.
 */
function stopOn(stop: (isHurried: boolean) => Promise<void>): void {
  process.on("SIGINT", () => {});
  let isAsked = false;
  // Without a listener a second one would end the process in the middle of stopping.
  process.on("SIGTERM", () => {
    if (!isAsked) void stop(process.connected);
    isAsked = true;
  });
  // Started with a channel, the process does not outlive its supervisor, which may have died while this one started.
  if (process.send === undefined) return;
  if (process.connected) process.once("disconnect", () => void stop(true));
  else void stop(true);
}

function reportStopped(config: ControlPlaneConfig, stop: StopReason): void {
  // The api process finds this file beside the socket, and reports it in its metrics.
  const nowMs = Date.now();
  writeStopped(config.run_dir, stop, { nowMs, isForGroup: false });
  writeStopped(dirname(config.api_socket), stop, { nowMs, isForGroup: config.api_socket_mode === "0660" });
  process.stderr.write(`${stop.reason}: ${stop.code}: ${stop.detail}\n`);
}

/**
 * @param ruleTable what this program can decide by
 * @param machineOf another machine than the system's, for tests of nodes that do not do what they say
 */
export function runProcess(ruleTable: RuleTable, machineOf: MachineOf = systemMachine): void {
  main(ruleTable, machineOf).catch((error: unknown) => {
    if (error instanceof ConfigError || error instanceof IdentityError) {
      process.stderr.write(`${faultOf(error)}\n`);
      process.exit(EXIT_CONFIG);
    }
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  });
}
