/** The process of one export: it is told what to export, writes the file that it was given, and ends. */
import { once } from "node:events";
import { write } from "node:fs";
import { promisify } from "node:util";
import { StoreError } from "../postgres/errors.ts";
import { SPOOL_FD } from "./export-process.ts";
import type { FromExportProcess } from "./export-process.ts";
import { writeSnapshot } from "./snapshot-export.ts";
import type { SnapshotSource } from "./snapshot-export.ts";

const writeFd = promisify(write);
const spool = {
  write: (bytes: Uint8Array, offset: number, length: number, position: number) =>
    writeFd(SPOOL_FD, bytes, offset, length, position),
};

async function answer(source: SnapshotSource): Promise<FromExportProcess> {
  try {
    return { kind: "written", manifest: await writeSnapshot(source, spool) };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const { code, message, cause } = error;
    return { kind: "failed", code, message, cause };
  }
}

// The node has ended: nobody wants the export any more.
process.once("disconnect", () => process.exit(1));
const [source] = (await once(process, "message")) as [SnapshotSource];
process.send?.(await answer(source), () => process.exit());
