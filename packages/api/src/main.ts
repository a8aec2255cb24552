/** The api process of a node: read the configuration, start, stop; nothing else. */
import { parseArgs } from "node:util";
import { SettingsError } from "@event-anchoring/control-contract";
import { openLog, startTracing } from "@event-anchoring/telemetry";
import { loadConfig } from "./process/config.ts";
import type { ApiConfig } from "./process/config.ts";
import { SERVICE_VERSION } from "./process/service-version.ts";
import { startApi } from "./process/start-api.ts";

const EXIT_CONFIG = 2;
const EXIT_FAILED = 1;

/** The exit code says what happened, stderr says why. Log lines are written synchronously, so none is lost. */
function die(code: number, message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(code);
}

function readConfig(): ApiConfig {
  try {
    const { values } = parseArgs({ options: { config: { type: "string" } } });
    if (values.config === undefined) throw new SettingsError("--config <file> is required");
    return loadConfig(values.config, process.env);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return die(EXIT_CONFIG, `api: ${message}`);
  }
}

const config = readConfig();
const logger = openLog({ level: config.logLevel, node: config.nodeId, process: "api" });

// Crash-only: after an unexpected fault the state of this process cannot be trusted.
process.on("uncaughtException", (error) => {
  logger.error("uncaught", { err: error });
  process.exit(EXIT_FAILED);
});

try {
  const tracer = await startTracing(process.env, {
    service: "anchoring-api",
    version: SERVICE_VERSION,
    nodeId: config.nodeId,
    logger,
  });
  const api = await startApi(config, logger, tracer);
  logger.info("listening", { port: api.port, metricsPort: api.metricsPort });
  let stopping: Promise<void> | null = null;
  const stop = (why: string, isHurried: boolean): void => {
    stopping ??= api.stop({ isHurried }).then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error("could not stop cleanly", { err: error });
        process.exit(EXIT_FAILED);
      },
    );
    logger.info("stopping", { why });
  };
  process.on("SIGHUP", () => api.reloadTls());
  process.on("SIGTERM", () => stop("SIGTERM", process.connected));
  // A terminal sends SIGINT to the whole group: if there is a supervisor, it alone decides which process stops when.
  process.on("SIGINT", () => {
    if (!process.connected) stop("SIGINT", true);
  });
  process.on("disconnect", () => stop("the supervisor is gone", true));
  if (process.send !== undefined) process.send({ type: "listening", port: api.port, metricsPort: api.metricsPort });
} catch (error) {
  if (error instanceof SettingsError) die(EXIT_CONFIG, `api: ${error.message}`);
  logger.error("cannot start", { err: error });
  die(EXIT_FAILED, `api: ${error instanceof Error ? error.message : String(error)}`);
}
