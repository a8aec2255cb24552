import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { hasCode } from "./has-code.ts";

/**
 * A process, named so that another one which got the same number later is not taken for it: ids are used again, start
 * times are not.
 */
export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque; equal for equal processes. */
  readonly started: string;
}

/** Field 22 of /proc/<pid>/stat (clock ticks since boot); fields are counted after the parenthesised name. */
const START_TIME_FIELD = 22 - 3;

/** Null when no process has this id. */
export function identityOf(pid: number): ProcessIdentity | null {
  const started = process.platform === "linux" ? startedOnLinux(pid) : startedByPs(pid);
  return started === null ? null : { pid, started };
}

/** Whether exactly this process still lives. */
export function isAlive(identity: ProcessIdentity): boolean {
  return identityOf(identity.pid)?.started === identity.started;
}

/** Sends a signal to this process and to no other; false when it has ended. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isAlive(identity)) return false;
  try {
    return process.kill(identity.pid, signal);
  } catch (error) {
    if (hasCode(error, "ESRCH")) return false;
    throw error;
  }
}

function startedOnLinux(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie has ended; only its parent has not asked yet.
    if (fields[0] === "Z") return null;
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
    return `${boot}/${fields[START_TIME_FIELD] ?? ""}`;
  } catch (error) {
    if (hasCode(error, "ENOENT") || hasCode(error, "ESRCH")) return null;
    throw error;
  }
}

function startedByPs(pid: number): string | null {
  const { stdout } = spawnSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" });
  const started = stdout.trim();
  return started === "" ? null : started;
}
