import { Worker } from "node:worker_threads";
import { StoreError } from "../postgres/errors.ts";
import type { StoreErrorCode } from "../postgres/errors.ts";
import { SnapshotExport } from "./snapshot-export.ts";
import type { ExportSnapshotOptions, WrittenSnapshot } from "./snapshot-export.ts";

export type FromExportThread =
  | { readonly kind: "written"; readonly written: WrittenSnapshot }
  | { readonly kind: "failed"; readonly code: StoreErrorCode; readonly message: string; readonly cause: unknown };

/**
 * `exportSnapshot` in a thread of its own, which ends with it: the process answers and signs meanwhile, and what the
 * export took of its memory goes back.
 * @param program tests pass their own
 * @throws StoreError `unavailable` (also if the thread ends before it is done), `schema`, `corrupt`; what the thread
 *   throws otherwise
 */
export function exportInThread(
  options: ExportSnapshotOptions,
  program: URL = new URL("./export-worker.js", import.meta.url),
): Promise<SnapshotExport> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(program, { name: "export", workerData: options });
    worker.once("message", (message: FromExportThread) => {
      if (message.kind === "written") resolve(new SnapshotExport(message.written.manifest, message.written.file));
      else reject(new StoreError(message.code, message.message, { cause: message.cause }));
    });
    worker.once("error", reject);
    worker.once("exit", () =>
      reject(new StoreError("unavailable", "the thread of an export ended before it was done")),
    );
  });
}
