/** The api process of a node: read the configuration, start, stop; nothing else. */
import { API_SETTINGS, SettingsError } from "@event-anchoring/control-contract";
import { checkReport, openLog, processArguments, startTracing } from "@event-anchoring/telemetry";
import type { ProcessProgram } from "@event-anchoring/telemetry";
import { checkStart } from "./process/check-start.ts";
import { loadConfig } from "./process/config.ts";
import type { ApiConfig } from "./process/config.ts";
import { SERVICE_VERSION } from "./process/service-version.ts";
import { startApi } from "./process/start-api.ts";

const EXIT_CONFIG = 2;
const EXIT_FAILED = 1;

const PROGRAM: ProcessProgram = {
  name: "anchoring-api",
  version: SERVICE_VERSION,
  summary: "The public process of a node: it serves the routes of docs/API.md.",
  prefix: API_SETTINGS.prefix,
  files: "the pin, TLS files and witnessed logs",
  moreExitCodes: "",
};

/** The exit code says what happened, stderr says why. Log lines are written synchronously, so none is lost. */
function die(code: number, message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(code);
}

function refuse(faults: readonly string[]): never {
  return die(EXIT_CONFIG, faults.map((fault) => `api: ${fault}`).join("\n"));
}

/** Ends the process if it is not to start. */
function readConfig(): ApiConfig {
  const asked = processArguments(process.argv.slice(2), PROGRAM);
  if (asked.action === "print") {
    process.stdout.write(asked.text);
    process.exit();
  }
  if (asked.action === "refuse") return refuse([asked.text]);
  const { action, configPath } = asked;
  if (action === "check") {
    const report = checkReport(PROGRAM, configPath, checkStart(configPath, process.env));
    (report.exitCode === 0 ? process.stdout : process.stderr).write(report.text);
    process.exit(report.exitCode);
  }
  try {
    return loadConfig(configPath, process.env);
  } catch (error) {
    if (error instanceof SettingsError) return refuse(error.faults);
    return refuse([error instanceof Error ? error.message : String(error)]);
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
  if (error instanceof SettingsError) refuse(error.faults);
  logger.error("cannot start", { err: error });
  die(EXIT_FAILED, `api: ${error instanceof Error ? error.message : String(error)}`);
}
