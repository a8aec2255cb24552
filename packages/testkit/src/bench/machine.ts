import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";
import type { Machine } from "./rows.ts";

export function thisMachine(etcd: string | null): Machine {
  return {
    cores: availableParallelism(),
    model: cpus()[0]?.model.trim() ?? "unknown",
    memoryMb: Math.round(totalmem() / 1e6),
    node: process.version,
    platform: `${type()} ${release()}`,
    etcd,
  };
}

/** Processes that waited for a processor in the last minute, for each there is. */
export function loadPerCore(): number {
  return (loadavg()[0] ?? 0) / availableParallelism();
}
