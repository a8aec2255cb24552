import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { FollowedFile } from "../recording/followed-file.ts";
import type { FollowedChunk } from "../recording/followed-file.ts";
import { Recording } from "../recording/open-recorder.ts";
import type { RecordingOptions } from "../recording/open-recorder.ts";
import type { RecordedEvent } from "@event-anchoring/sdk/recorder";
import type { ExitCode } from "../terminal/cli-error.ts";
import type { Target } from "../files/target.ts";
import type { Printer } from "../terminal/printer.ts";
import type { Progress } from "../terminal/progress.ts";
import { waited } from "../terminal/waited.ts";
import { say } from "./record-events.ts";

export interface TailOptions extends RecordingOptions {
  readonly file: string;
  /** Whether to wait for more lines at the end. */
  readonly isFollowing: boolean;
  /** Ends it in order, also before the end of the file: what is recorded until then is sent. */
  readonly signal: AbortSignal | null;
  readonly workingDir: string;
}

const LOOK_EVERY_MS = 200;

/** `anchorctl tail`: a line of a file, an event; from where the last run has ended. */
export async function tailCommand(
  options: TailOptions,
  target: Target,
  printer: Printer,
  progress: Progress,
): Promise<ExitCode> {
  const { folder, isFollowing, signal, workingDir } = options;
  const recording = await Recording.open(options, target, progress);
  let left = 0;
  try {
    mkdirSync(folder, { recursive: true });
    const file = resolve(workingDir, options.file);
    const followed = FollowedFile.open(file, join(folder, "tail.json"), (message) => progress.line(message));
    if (!isFollowing) followed.assertThere();
    for (;;) {
      if (signal?.aborted === true) break;
      const chunk = followed.next();
      if (chunk === null) {
        if (!isFollowing || !(await waited(LOOK_EVERY_MS, signal))) break;
        continue;
      }
      await recordChunk(recording, chunk, signal);
    }
    followed.close();
  } finally {
    left = await recording.close();
    progress.end();
  }
  return say(recording, null, left, options, printer);
}

/** A chunk that the signal interrupts is not settled: the next run gives its lines again, as the same events. */
async function recordChunk(recording: Recording, chunk: FollowedChunk, signal: AbortSignal | null): Promise<void> {
  let last: RecordedEvent | null = null;
  for (const { line, ...identity } of chunk.lines) {
    if (signal?.aborted === true) return;
    last = (await recording.recordLine(line, identity)) ?? last;
  }
  // What the state says is recorded survives the loss of power.
  await last?.durable;
  chunk.settle();
}
