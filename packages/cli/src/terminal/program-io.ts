import type { Readable } from "node:stream";
import type { Output } from "./printer.ts";

/** What the program needs of the world. */
export interface ProgramIo {
  readonly stdout: Output;
  readonly stderr: Output;
  /** Absent: there is nothing to read. */
  readonly stdin?: Readable;
  readonly workingDir: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Ends a command that would run until it is stopped. */
  readonly signal?: AbortSignal;
}
