import { bytesToHex } from "@event-anchoring/protocol";
import { streamBackup } from "@event-anchoring/store";
import type { NodeDatabase } from "../files/node-database.ts";
import { isIntact, isWhole, keptName } from "../keeping/kept-folder.ts";
import type { KeptBackup, KeptFolder, KeptNote } from "../keeping/kept-folder.ts";
import { keepingMetrics, writeMetrics } from "../keeping/keeping-metrics.ts";
import { noteRun, readLastRun } from "../keeping/keeping-state.ts";
import { BackupPacker } from "../keeping/packed-backup.ts";
import { keptTimes } from "../keeping/retention.ts";
import type { Retention } from "../keeping/retention.ts";
import { MonitorListener } from "../monitor/monitor-listener.ts";
import type { ListenAddress } from "../monitor/monitor-listener.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import type { Printer } from "../terminal/printer.ts";
import type { Progress } from "../terminal/progress.ts";
import { waited } from "../terminal/waited.ts";
import { withStatePoint } from "./backup.ts";

export interface KeepBackupOptions {
  readonly database: NodeDatabase;
  /** The socket of the node's control plane, which has the cluster sign the state; null: it is made unsigned. */
  readonly controlSocket: string | null;
  readonly folder: KeptFolder;
  /** Recipients of age; never empty. */
  readonly recipients: readonly string[];
  readonly retention: Retention;
  /** null: once. */
  readonly intervalMs: number | null;
  /** Where metrics are served between backups; null: nowhere. */
  readonly listen: ListenAddress | null;
  /** A file for a collector of metrics; null: none. */
  readonly metricsPath: string | null;
  readonly isJson: boolean;
  readonly signal: AbortSignal | null;
}

/** After a failure the next try comes sooner than the next backup would. */
const RETRY_MS_MAX = 600_000;

/** `anchorctl backup keep`: one more backup in a folder, compressed and encrypted; then those that are too many go. */
export async function keepBackupCommand(
  options: KeepBackupOptions,
  printer: Printer,
  progress: Progress,
): Promise<ExitCode> {
  const { intervalMs } = options;
  if (intervalMs === null) return keepOne(options, printer, progress);
  const state = { metrics: () => keepingMetrics(options.folder), isAlive: () => true };
  const listener = options.listen === null ? null : await MonitorListener.open(options.listen, state);
  try {
    let inMs = untilNextMs(options.folder, intervalMs);
    while (await waited(inMs, options.signal)) inMs = await keepAndGoOn(options, intervalMs, printer, progress);
    return EXIT.ok;
  } finally {
    listener?.close();
  }
}

/** A container that starts again is no reason for another backup. */
function untilNextMs(folder: KeptFolder, intervalMs: number): number {
  const newest = folder.list().find(isWhole);
  return newest === undefined ? 0 : Math.min(intervalMs, Math.max(0, newest.takenAtMs + intervalMs - Date.now()));
}

/** What fails is said, is in the metrics, and is tried again; what is set wrong ends it. @returns ms until the next */
async function keepAndGoOn(
  options: KeepBackupOptions,
  intervalMs: number,
  printer: Printer,
  progress: Progress,
): Promise<number> {
  try {
    await keepOne(options, printer, progress);
    return untilNextMs(options.folder, intervalMs);
  } catch (error) {
    if (!(error instanceof CliError) || error.exitCode === EXIT.usage || error.exitCode === EXIT.internal) throw error;
    if (options.isJson) printer.jsonLine({ failure: error.code, detail: error.message });
    else printer.check("fail", error.code, error.message);
    return Math.min(intervalMs, RETRY_MS_MAX);
  }
}

async function keepOne(options: KeepBackupOptions, printer: Printer, progress: Progress): Promise<ExitCode> {
  const { folder, retention, isJson, intervalMs } = options;
  const kept = await noted("keep", options, async () => {
    const made = await makeOne(options, progress);
    return { file: made.name, made, pruned: await prune(folder, retention, false) };
  });
  const { made, pruned } = kept;
  const { note, plainBytes } = made;
  if (isJson) {
    const { sha256, bytes, isSigned: state_signed } = note;
    const value = { file: made.name, bytes, sha256, backup_bytes: plainBytes, state_signed, ...prunedJson(pruned) };
    if (intervalMs === null) printer.json(value);
    else printer.jsonLine(value);
    return EXIT.ok;
  }
  printer.check("pass", "kept", `${made.name}, ${note.bytes} bytes, unpacked ${plainBytes}`);
  if (!note.isSigned) printer.check("warn", "NOT SIGNED", "no quorum has signed it: a restore takes it on your word");
  describePruned(pruned, printer);
  return EXIT.ok;
}

interface Made {
  readonly name: string;
  readonly note: KeptNote;
  readonly plainBytes: number;
}

function makeOne(
  { database, controlSocket, folder, recipients }: KeepBackupOptions,
  progress: Progress,
): Promise<Made> {
  return folder.add<Made>(async (file) => {
    const packer = await BackupPacker.begin(recipients, file);
    try {
      const { manifest, bytes, sha256 } = await withStatePoint(controlSocket, progress, (point) => {
        const onProgress = (leaves: number, of: number): void => progress.say(`${leaves} of ${of} leaves`);
        const options = { ...point, ...database, nowMs: Date.now(), onProgress };
        return streamBackup(options, (piece) => packer.add(piece));
      });
      const packed = await packer.finish();
      progress.end();
      const note = { ...packed, backupSha256: bytesToHex(sha256), backupBytes: bytes, isSigned: manifest.isSigned };
      return { name: keptName(manifest.takenAtMs, manifest.nodeId), note, plainBytes: bytes };
    } catch (error) {
      await packer.abandon();
      throw error;
    }
  });
}

/**
 * Runs it, and writes down how it has ended: in the folder, and for the collector of metrics.
 * @throws whatever the work throws
 */
export async function noted<Result extends { readonly file: string }>(
  kind: "keep" | "drill",
  { folder, metricsPath }: { readonly folder: KeptFolder; readonly metricsPath: string | null },
  work: () => Promise<Result>,
): Promise<Result> {
  let result: Result;
  try {
    result = await work();
  } catch (error) {
    const failure = error instanceof CliError ? error.code : "internal_error";
    // On a full disk that fails, too; what the work has thrown says more.
    await written(folder, kind, { failure }, metricsPath).catch(() => undefined);
    throw error;
  }
  await written(folder, kind, { file: result.file }, metricsPath);
  return result;
}

async function written(
  folder: KeptFolder,
  kind: "keep" | "drill",
  outcome: Parameters<typeof noteRun>[3],
  metricsPath: string | null,
): Promise<void> {
  noteRun(folder, kind, Date.now(), outcome);
  if (metricsPath !== null) await writeMetrics(metricsPath, folder);
}

interface Pruned {
  readonly kept: readonly string[];
  readonly removed: readonly string[];
  /** Without a note, or shorter than it says: nobody counts on them, and nobody removes them. */
  readonly notWhole: readonly string[];
}

/**
 * Removes what the retention does not keep. The newest one whose bytes are as noted stays, and so does the newest one
 * that a drill has found good; if there is none whose bytes are as noted, nothing goes.
 * @param isDry nothing is removed
 * @throws CliError `nothing_intact`
 */
async function prune(folder: KeptFolder, retention: Retention, isDry: boolean): Promise<Pruned> {
  const all = folder.list();
  const whole = all.filter(isWhole);
  const names = (backups: readonly KeptBackup[]): readonly string[] => backups.map(({ name }) => name);
  const notWhole = names(all.filter((backup) => !isWhole(backup)));
  if (whole.length === 0) return { kept: [], removed: [], notWhole };
  const good = await newestIntact(whole);
  if (good === null) {
    const message = `none of ${whole.length} backups in ${folder.path} has the bytes that it was written with`;
    throw new CliError(EXIT.invalid, "nothing_intact", `${message}: nothing is removed`);
  }
  const times = keptTimes(
    whole.map(({ takenAtMs }) => takenAtMs),
    retention,
  );
  const drilled = readLastRun(folder, "drill")?.file;
  const stays = (backup: KeptBackup): boolean =>
    backup === good || backup.name === drilled || times.has(backup.takenAtMs);
  const going = whole.filter((backup) => !stays(backup));
  if (!isDry) for (const backup of going) folder.remove(backup);
  return { kept: names(whole.filter(stays)), removed: names(going), notWhole };
}

async function newestIntact(newestFirst: readonly KeptBackup[]): Promise<KeptBackup | null> {
  for (const backup of newestFirst) if (await isIntact(backup)) return backup;
  return null;
}

function prunedJson({ kept, removed, notWhole }: Pruned): object {
  return { kept, removed, not_whole: notWhole };
}

function describePruned({ kept, removed, notWhole }: Pruned, printer: Printer): void {
  printer.check("pass", "in all", `${kept.length} kept, ${removed.length} removed`);
  for (const name of removed) printer.check("skip", "removed", name);
  for (const name of notWhole) printer.check("warn", "not whole", `${name}: it is not counted, and not removed`);
}

export interface PruneOptions {
  readonly folder: KeptFolder;
  readonly retention: Retention;
  readonly isDry: boolean;
  readonly isJson: boolean;
}

/** `anchorctl backup prune`: what `keep` does after each backup. */
export async function pruneBackupsCommand(options: PruneOptions, printer: Printer): Promise<ExitCode> {
  const pruned = await prune(options.folder, options.retention, options.isDry);
  if (options.isJson) printer.json({ dry_run: options.isDry, ...prunedJson(pruned) });
  else {
    describePruned(pruned, printer);
    if (options.isDry) printer.verdict("warn", "Nothing is removed: --dry-run.");
  }
  return EXIT.ok;
}
