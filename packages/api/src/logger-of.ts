import type { Log } from "@event-anchoring/telemetry";
import type { Logger } from "./ports.ts";

/** A log as this package's parts write to it. */
export function loggerOf(log: Log): Logger {
  return {
    debug: (fields, message) => log.debug(message, fields),
    info: (fields, message) => log.info(message, fields),
    warn: (fields, message) => log.warn(message, fields),
    error: (fields, message) => log.error(message, fields),
  };
}
