import { spawnSync } from "node:child_process";
import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";
import { fileURLToPath } from "node:url";
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

const CHECKOUT = fileURLToPath(new URL("../../../..", import.meta.url));

/** The measured commit: its short name, and `+` if files were changed since; null without git. */
export function commitHere(): string | null {
  const { status, stdout } = spawnSync("git", ["describe", "--always", "--exclude=*", "--dirty=+"], {
    cwd: CHECKOUT,
    encoding: "utf8",
  });
  return status === 0 ? stdout.trim() : null;
}

/** Processes that waited for a processor in the last minute, for each there is. */
export function loadPerCore(): number {
  return (loadavg()[0] ?? 0) / availableParallelism();
}
