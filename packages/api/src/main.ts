/** The api process of a node: read the configuration, start, stop; nothing else. */
import { parseArgs } from "node:util";
import { openLog, startTracing } from "@event-anchoring/telemetry";
import { ConfigError, loadConfig } from "./config.ts";
import type { ApiConfig } from "./config.ts";
import { loggerOf } from "./logger-of.ts";
import { SERVICE_VERSION } from "./service-version.ts";
import { startApi } from "./start-api.ts";

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
    if (values.config === undefined) throw new ConfigError("--config <file> is required");
    return loadConfig(values.config, process.env);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return die(EXIT_CONFIG, `api: ${message}`);
  }
}

const config = readConfig();
const log = openLog({ level: config.logLevel, node: config.nodeId, process: "api" });
const logger = loggerOf(log);

// Crash-only: after a fault that nobody expected, the state of this process cannot be trusted.
process.on("uncaughtException", (error) => {
  logger.error({ err: error }, "uncaught");
  process.exit(EXIT_FAILED);
});

try {
  const tracer = await startTracing(process.env, {
    service: "anchoring-api",
    version: SERVICE_VERSION,
    nodeId: config.nodeId,
    logger: log,
  });
  const api = await startApi(config, logger, tracer);
  logger.info({ port: api.port, metricsPort: api.metricsPort }, "listening");
  let stopping: Promise<void> | null = null;
  const stop = (why: string, isHurried: boolean): void => {
    stopping ??= api.stop({ isHurried }).then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ err: error }, "could not stop cleanly");
        process.exit(EXIT_FAILED);
      },
    );
    logger.info({ why }, "stopping");
  };
  process.on("SIGHUP", () => api.reloadTls());
  process.on("SIGTERM", () => stop("SIGTERM", process.connected));
  // A terminal sends SIGINT to the whole group: with a supervisor, it alone decides who stops when.
  process.on("SIGINT", () => {
    if (!process.connected) stop("SIGINT", true);
  });
  process.on("disconnect", () => stop("the supervisor is gone", true));
  if (process.send !== undefined) process.send({ type: "listening", port: api.port, metricsPort: api.metricsPort });
} catch (error) {
  if (error instanceof ConfigError) die(EXIT_CONFIG, `api: ${error.message}`);
  logger.error({ err: error }, "cannot start");
  die(EXIT_FAILED, `api: ${error instanceof Error ? error.message : String(error)}`);
}
