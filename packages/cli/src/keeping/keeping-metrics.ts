/** What Prometheus is told of kept backups and of drills. */
import { chmodSync } from "node:fs";
import { Gauge, Registry } from "prom-client";
import { asCliError, replaceDurably } from "../files/read-input.ts";
import { isWhole } from "./kept-folder.ts";
import type { KeptFolder } from "./kept-folder.ts";
import { readLastRun } from "./keeping-state.ts";

/** A collector that runs as another account reads it; there is no secret in it. */
const METRICS_MODE = 0o644;

/** What the folder says, in the text format of Prometheus. Of a kind that has never run, nothing is said. */
export async function keepingMetrics(folder: KeptFolder): Promise<string> {
  const registry = new Registry();
  const gauge = (name: string, help: string, value: number): void => {
    new Gauge({ name, help, registers: [registry] }).set(value);
  };
  const whole = folder.list().filter(isWhole);
  const [newest] = whole;
  gauge("anchoring_backup_kept", "Kept backups that are whole", whole.length);
  if (newest !== undefined) {
    const taken = newest.takenAtMs / 1000;
    gauge("anchoring_backup_newest_timestamp_seconds", "When the newest kept backup was taken, Unix time", taken);
    gauge("anchoring_backup_newest_bytes", "Bytes of the newest kept backup, as it is on the disk", newest.bytes);
  }
  const keep = readLastRun(folder, "keep");
  if (keep !== null) {
    gauge("anchoring_backup_failed", "Whether the last backup has failed, 0 or 1", keep.failure === null ? 0 : 1);
  }
  const drill = readLastRun(folder, "drill");
  if (drill !== null) {
    const { failure, successAtMs } = drill;
    gauge("anchoring_backup_drill_failed", "Whether the last drill has failed, 0 or 1", failure === null ? 0 : 1);
    const help = "When a backup was last restored and found sound, Unix time; 0: never";
    gauge("anchoring_backup_drill_success_timestamp_seconds", help, successAtMs / 1000);
  }
  return registry.metrics();
}

/** @param path of a file that a collector reads, such as the one for text files of Prometheus' node exporter */
export async function writeMetrics(path: string, folder: KeptFolder): Promise<void> {
  replaceDurably(path, await keepingMetrics(folder), METRICS_MODE);
  try {
    // Whatever the umask of a service is.
    chmodSync(path, METRICS_MODE);
  } catch (error) {
    throw asCliError(path, "write", error);
  }
}
