import { fork } from "node:child_process";
import type { FileHandle } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { StoreError } from "../postgres/errors.ts";
import type { StoreErrorCode } from "../postgres/errors.ts";
import { SnapshotExport, openSpoolFile } from "./snapshot-export.ts";
import type { ExportSnapshotOptions, SnapshotSource } from "./snapshot-export.ts";
import type { SnapshotManifest } from "./snapshot-format.ts";

/** The program has the spool file open under this number, after the standard streams and the channel. */
export const SPOOL_FD = 4;

export type FromExportProcess =
  | { readonly kind: "written"; readonly manifest: SnapshotManifest }
  | { readonly kind: "failed"; readonly code: StoreErrorCode; readonly message: string; readonly cause: unknown };

/** Room for short-lived objects (MiB): rows are copied to a file, and garbage at once. */
const NODE_FLAGS = ["--max-semi-space-size=4"];
const PROGRAM = fileURLToPath(new URL("./export-program.js", import.meta.url));

/**
 * `exportSnapshot` by a process of its own: this one answers and signs meanwhile, and all that the export took of
 * memory goes back when it ends. It ends with this one.
 * @param program tests pass their own
 * @throws StoreError `unavailable` (also if the process ends before it is done), `schema`, `corrupt`
 */
export async function exportInProcess(options: ExportSnapshotOptions, program = PROGRAM): Promise<SnapshotExport> {
  const file = await openSpoolFile(options.directory);
  try {
    return new SnapshotExport(await writtenBy(program, options, file), file);
  } catch (error) {
    await file.close();
    throw error;
  }
}

function writtenBy(program: string, { url, point }: SnapshotSource, file: FileHandle): Promise<SnapshotManifest> {
  return new Promise((resolve, reject) => {
    const child = fork(program, [], {
      execArgv: NODE_FLAGS,
      serialization: "advanced",
      stdio: ["ignore", "inherit", "inherit", "ipc", file.fd],
    });
    child.once("message", (message: FromExportProcess) => {
      if (message.kind === "written") resolve(message.manifest);
      else reject(new StoreError(message.code, message.message, { cause: message.cause }));
    });
    child.once("error", (cause) => reject(endedEarly("it did not begin", cause)));
    child.once("exit", (code, signal) => reject(endedEarly(signal ?? `exit code ${String(code)}`)));
    // The URL may hold a password: it is in no command line.
    child.send({ url, point } satisfies SnapshotSource, (cause) => {
      if (cause !== null) reject(endedEarly("it takes no orders", cause));
    });
  });
}

function endedEarly(detail: string, cause?: Error): StoreError {
  return new StoreError("unavailable", `the process of an export ended before it was done: ${detail}`, { cause });
}
