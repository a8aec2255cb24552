import { readFileSync, statSync } from "node:fs";
import type { Readable } from "node:stream";
import { bytesToHex } from "@event-anchoring/protocol";
import type { RecordedEvent } from "@event-anchoring/sdk/recorder";
import { asCliError, hashFile } from "../files/read-input.ts";
import type { Target } from "../files/target.ts";
import { linesOf } from "../recording/lines.ts";
import { Recording } from "../recording/open-recorder.ts";
import type { RecordingOptions } from "../recording/open-recorder.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import type { Printer } from "../terminal/printer.ts";
import type { Progress } from "../terminal/progress.ts";
import { counted } from "../terminal/words.ts";

export interface RecordEventsOptions extends RecordingOptions {
  /** One of the three. */
  readonly source: { readonly file: string } | { readonly value: string } | { readonly lines: Readable };
}

/** Bytes of a file that are copied beside the envelope; of a larger one the hash is recorded. */
const COPIED_BYTES_MAX = 16 * 1024 * 1024;

/** `anchorctl record`: one value, one file, or a line of JSON for each event. */
export async function recordEventsCommand(
  options: RecordEventsOptions,
  target: Target,
  printer: Printer,
  progress: Progress,
): Promise<ExitCode> {
  const recording = await Recording.open(options, target, progress);
  let only: RecordedEvent | null = null;
  let left = 0;
  try {
    const { source } = options;
    if ("lines" in source) for await (const { line } of linesOf(source.lines)) await recording.recordLine(line);
    else if ("value" in source) only = await recording.record(valueOf(source.value));
    else only = await recordFile(recording, source.file);
  } finally {
    left = await recording.close();
    progress.end();
  }
  return say(recording, only, left, options, printer);
}

/** What became of the events of one run, and of those that an earlier one has left. */
export function say(
  recording: Recording,
  only: RecordedEvent | null,
  left: number,
  { folder, isJson }: RecordingOptions,
  printer: Printer,
): ExitCode {
  const { recorded, anchored, refused } = recording.counts;
  if (isJson) {
    const event = only === null ? {} : { client_event_id: only.clientEventId, event_hash: only.eventHash };
    printer.json({ ...event, recorded, anchored, refused, left, kept: recording.kept });
  } else {
    if (only !== null) printer.line(`${only.clientEventId}  SHA-256 ${only.eventHash}`);
    if (refused > 0) printer.check("fail", "refused", `${counted(refused, "event")}: see ${folder}/refused`);
    const rest = left === 0 ? "" : `; ${counted(left, "event")} wait in ${folder}, for the next run`;
    const verify = `check offline: ${printer.next("verify", recording.kept)}`;
    printer.verdict(
      left === 0 && refused === 0 ? "pass" : "warn",
      `${counted(anchored, "event")} anchored; ${verify}${rest}`,
    );
  }
  if (left > 0) return EXIT.unavailable;
  return refused > 0 ? EXIT.refused : EXIT.ok;
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new CliError(EXIT.usage, "value_invalid", `--value is no JSON: ${error.message}`);
  }
}

async function recordFile(recording: Recording, file: string): Promise<RecordedEvent> {
  try {
    const { size } = statSync(file);
    if (size <= COPIED_BYTES_MAX) return await recording.record(Uint8Array.from(readFileSync(file)));
    return await recording.recordHash(bytesToHex(await hashFile(file)), size);
  } catch (error) {
    throw asCliError(file, "read", error);
  }
}
