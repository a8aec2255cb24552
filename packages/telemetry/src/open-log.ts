import type { Writable } from "node:stream";
import pino from "pino";
import { printable, printableText } from "./printable.ts";

export interface LogOptions {
  /** The least that is written. */
  readonly level: "debug" | "info" | "warn" | "error";
  readonly node: string;
  readonly process: "api" | "control-plane";
  /** Standard output unless a test hands in another. */
  readonly to?: Writable;
}

/** Structured lines: an event name that never varies, and its fields. Secrets are never fields. */
export interface Logger {
  debug(event: string, fields?: Record<string, unknown>): void;
  info(event: string, fields?: Record<string, unknown>): void;
  warn(event: string, fields?: Record<string, unknown>): void;
  error(event: string, fields?: Record<string, unknown>): void;
}

/**
 * Writes one JSON object a line: `time`, `level`, `node`, `process`, `message`, and the fields of the event. Lines are
 * written before the call returns, so that none is lost with the process. No field prints a secret.
 */
export function openLog({ level, node, process, to }: LogOptions): Logger {
  const sink = pino(
    {
      level,
      base: { node, process },
      messageKey: "message",
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        // Reserved names would stand on the line twice.
        log: (fields) => fieldsFor(fields),
      },
      serializers: { err: (value: unknown) => value },
    },
    to ?? pino.destination({ dest: 1, sync: true }),
  );
  const say = (as: LogOptions["level"]): Logger["info"] => {
    if (!sink.isLevelEnabled(as)) return () => {};
    return (event, fields = {}) => sink[as](fields, printableText(event));
  };
  return { debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") };
}

const OWN_NAMES = new Set(["time", "level", "node", "process", "message"]);

function fieldsFor(fields: Record<string, unknown>): Record<string, unknown> {
  const copy = printable(fields) as Record<string, unknown>;
  for (const name of OWN_NAMES) {
    if (!(name in copy)) continue;
    copy[`field_${name}`] = copy[name];
    delete copy[name];
  }
  return copy;
}
