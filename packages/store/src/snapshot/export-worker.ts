/** The thread of one export: it writes the file, hands it over, and ends. */
import { parentPort, workerData } from "node:worker_threads";
import { StoreError } from "../postgres/errors.ts";
import type { FromExportThread } from "./export-thread.ts";
import { writeSnapshot } from "./snapshot-export.ts";
import type { ExportSnapshotOptions } from "./snapshot-export.ts";

if (parentPort === null) throw new Error("this program is a thread of a node");
const port = parentPort;

try {
  const written = await writeSnapshot(workerData as ExportSnapshotOptions);
  port.postMessage({ kind: "written", written } satisfies FromExportThread, [written.file]);
} catch (error) {
  if (!(error instanceof StoreError)) throw error;
  const { code, message, cause } = error;
  port.postMessage({ kind: "failed", code, message, cause } satisfies FromExportThread);
}
