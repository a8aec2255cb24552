/** What the adapters have in common: what they say of every event, and what they do when it cannot be recorded. */
import type { RecordOptions, RecordedEvent, Recorder } from "@event-anchoring/sdk/recorder";

/** Where events go: a Recorder. */
export type EventRecorder = Pick<Recorder, "record">;

/** What all adapters take. Each event gets `who`, `semanticAnchor` and `salt`, unless it says something else. */
export interface AdapterOptions extends Pick<RecordOptions, "who" | "semanticAnchor" | "salt"> {
  /** Called with what the recorder has returned for an event. */
  readonly onRecorded?: ((event: RecordedEvent) => void) | undefined;
  /**
   * What to do when an event cannot be recorded: the disk or the spool is full, or it is no JSON. Default: a warning of
   * the process. If it throws, so does what was to be recorded, where the framework hands that on.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** An event, as an adapter has read it. */
export interface ReadEvent extends Pick<RecordOptions, "what" | "when" | "who" | "semanticAnchor"> {
  /** Anything that JSON can hold; members that are undefined are left out. */
  readonly content: object;
}

/** Records it, or tells `onError`. */
export function recordEvent(recorder: EventRecorder, event: ReadEvent, options: AdapterOptions): void {
  const { onError = warn } = options;
  try {
    const { content, what, when } = event;
    const who = event.who ?? options.who;
    const semanticAnchor = event.semanticAnchor ?? options.semanticAnchor;
    const said = { what, when, who, semanticAnchor, salt: options.salt };
    const recorded = recorder.record(jsonOf(content), said);
    options.onRecorded?.(recorded);
  } catch (error) {
    onError(error);
  }
}

/** What JSON.stringify makes of it, read again: without functions and what is undefined, dates as texts. */
function jsonOf(content: object): Parameters<EventRecorder["record"]>[0] {
  return JSON.parse(JSON.stringify(content, bytesAsBase64)) as Parameters<EventRecorder["record"]>[0];
}

/** The holder has what it was before its toJSON, which a Buffer has. */
function bytesAsBase64(this: Readonly<Record<string, unknown>>, name: string, value: unknown): unknown {
  const own = this[name];
  return own instanceof Uint8Array ? Buffer.from(own).toString("base64") : value;
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : `an event was not recorded: ${String(error)}`);
}
