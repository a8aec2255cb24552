import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { StopReason } from "../session/how-a-life-ends.ts";

/**
 * Writes the reason where supervisors and operators find it, `<run dir>/stopped.json`. The file appears whole: the api
 * process looks for it all the time.
 * @param isForGroup whether an api process with an account of its own must be able to read it
 */
export function writeStopped(
  runDir: string,
  stop: StopReason,
  { nowMs, isForGroup }: { readonly nowMs: number; readonly isForGroup: boolean },
): void {
  mkdirSync(runDir, { recursive: true, mode: 0o700 });
  const { exitCode, reason, code, detail } = stop;
  const content = { code: exitCode, reason, check: code, detail, at: new Date(nowMs).toISOString() };
  const path = join(runDir, "stopped.json");
  const draft = `${path}.new`;
  writeFileSync(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  // A second step: the umask could remove the group's permission from the new file.
  if (isForGroup) chmodSync(draft, 0o640);
  renameSync(draft, path);
}

/** A process that starts removes the file. */
export function forgetStopped(dir: string): void {
  rmSync(join(dir, "stopped.json"), { force: true });
}
