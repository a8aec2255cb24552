import { recordEvent } from "./adapter.ts";
import type { AdapterOptions, EventRecorder } from "./adapter.ts";

/** A line of pino's, read: `level`, `time`, `msg`, and what the program has logged. */
export type LogLine = Readonly<Record<string, unknown>>;

export interface LogOptions extends AdapterOptions {
  /** Type of the events. Default: `log`. */
  readonly what?: string | undefined;
  /** Which lines are recorded. Default: all. */
  readonly select?: ((line: LogLine) => boolean) | undefined;
}

/** What pino and pino.multistream write to. */
export interface LogDestination {
  /** By this pino tells a destination from options. */
  readonly writable: true;
  readonly write: (line: string) => void;
}

/**
 * A destination for pino: each line is recorded, as the object that it holds, before the logging call returns. (A
 * transport of pino's is a thread, whose lines are lost if the program is killed.)
 *
 *     const log = pino(recordingDestination(recorder));
 *     const both = pino({}, pino.multistream([process.stdout, recordingDestination(recorder)]));
 */
export function recordingDestination(recorder: EventRecorder, options: LogOptions = {}): LogDestination {
  const { what = "log", select = () => true } = options;
  return {
    writable: true,
    write: (text) => {
      const line = readLine(text);
      if (select(line)) recordEvent(recorder, { content: line, what, when: timeOf(line["time"]) }, options);
    },
  };
}

/** A line that is no object of JSON (there is a formatter) is kept as its text. */
function readLine(text: string): LogLine {
  try {
    const line: unknown = JSON.parse(text);
    if (typeof line === "object" && line !== null && !Array.isArray(line)) return line as LogLine;
  } catch {
    // It is a text, then.
  }
  return { text: text.trimEnd() };
}

/** Undefined: now. */
function timeOf(time: unknown): Date | undefined {
  if (typeof time !== "number" && typeof time !== "string") return undefined;
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? undefined : date;
}
