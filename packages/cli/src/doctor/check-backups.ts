/** Whether there is a backup to fall back on: young, whole, private, and one that a drill has restored. */
import { join } from "node:path";
import { parseNote, takenAtMsOf } from "../keeping/kept-folder.ts";
import { LAST_RUN_NAMES, parseLastRun } from "../keeping/keeping-state.ts";
import type { FileState, Host } from "./host.ts";
import { finding } from "./mistakes.ts";
import type { Finding } from "./mistakes.ts";

const OTHERS_MAY_READ = 0o077;
const HOUR_MS = 3_600_000;
const BACKUP_NAME = /\.backup(\.zst)?(\.age)?$/u;

interface FoundBackup {
  readonly path: string;
  readonly takenAtMs: number;
  readonly state: FileState;
  /** A kept backup that is not as long as was noted when it was made. */
  readonly isCut: boolean;
}

export function checkBackups(host: Host, folder: string, ageMsMax: number): Finding[] {
  const backups = backupsIn(host, folder);
  const whole = backups.filter(({ isCut }) => !isCut).toSorted((a, b) => b.takenAtMs - a.takenAtMs);
  const found: Finding[] = [];
  const cut = backups.find(({ isCut }) => isCut);
  const [newest] = whole;
  if (cut !== undefined) {
    const text = `${cut.path} is not as long as when it was made, or has no note beside it: it does not count`;
    found.push(finding("backup_cut", newest === undefined ? `${text}, and there is no other` : text));
  } else if (newest === undefined) found.push(finding("backup_missing", `there is no backup in ${folder}`));
  if (newest !== undefined) found.push(...ageFindings(newest, host.nowMs() - newest.takenAtMs, ageMsMax));
  const open = backups.find(({ state }) => (state.mode & OTHERS_MAY_READ) !== 0);
  if (open !== undefined) found.push(finding("backup_open", `others can read ${open.path}: chmod 600 it`));
  return [...found, ...drillFindings(host, folder)];
}

/** By name when they were taken, if they are kept ones: a copy has another time of change. */
function backupsIn(host: Host, folder: string): readonly FoundBackup[] {
  return host.names(folder).flatMap((name) => {
    const path = join(folder, name);
    const state = BACKUP_NAME.test(name) ? host.fileState(path) : null;
    if (state === null || state.isFolder) return [];
    const takenAtMs = takenAtMsOf(name);
    const isCut = takenAtMs !== null && parseNote(readText(host, `${path}.json`))?.bytes !== state.bytes;
    return [{ path, takenAtMs: takenAtMs ?? state.changedMs, state, isCut }];
  });
}

function ageFindings({ path }: FoundBackup, ageMs: number, ageMsMax: number): Finding[] {
  if (ageMs <= ageMsMax) return [];
  const [hours, most] = [ageMs, ageMsMax].map((ms) => Math.floor(ms / HOUR_MS));
  return [finding("backup_old", `the newest backup, ${path}, is ${hours} hours old, at most ${most} are wanted`)];
}

function drillFindings(host: Host, folder: string): Finding[] {
  const drill = parseLastRun(readText(host, join(folder, LAST_RUN_NAMES.drill)));
  if (drill === null || drill.failure === null) return [];
  const at = new Date(drill.atMs).toISOString();
  return [finding("drill_failed", `the last drill, at ${at}, has failed with ${drill.failure}`)];
}

function readText(host: Host, path: string): string {
  try {
    return Buffer.from(host.read(path)).toString("utf8");
  } catch {
    // What cannot be read says nothing, like what is not there.
    return "";
  }
}
