/** A folder of kept backups: their names, what was noted about each, and which of them are whole. */
import { existsSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { open, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { bytesToHex } from "@event-anchoring/protocol";
import { isRecord } from "../files/nearest-cluster.ts";
import { asCliError, hashFile, replaceDurably } from "../files/read-input.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";

/** Written beside each backup, under its name with `.json`. */
export interface KeptNote {
  /** Hash of the file, 64 hex digits. */
  readonly sha256: string;
  readonly bytes: number;
  /** Hash of the backup in it, as it says itself. */
  readonly backupSha256: string;
  readonly backupBytes: number;
  readonly isSigned: boolean;
}

export interface KeptBackup {
  readonly name: string;
  readonly path: string;
  /** When it was taken, by its name: Unix milliseconds, whole seconds. */
  readonly takenAtMs: number;
  /** null: there is none, or it cannot be read. */
  readonly note: KeptNote | null;
  readonly bytes: number;
}

const NAME = /^(\d{4}-\d\d-\d\d)T(\d\d)(\d\d)(\d\d)Z-[a-z][a-z0-9-]{0,31}\.backup\.zst\.age$/u;
const PARTIAL = /\.backup\.zst\.age\.partial$/u;
const PARTIAL_AGE_MS_MAX = 86_400_000;
const PRIVATE = 0o600;

/** `2026-11-23T030000Z-n1.backup.zst.age`: names are in the order of time, and are names on every file system. */
export function keptName(takenAtMs: number, nodeId: string | null): string {
  const time = new Date(takenAtMs).toISOString().replace(/\.\d{3}Z$/u, "Z");
  return `${time.replaceAll(":", "")}-${nodeId ?? "node"}.backup.zst.age`;
}

/** null: it is not the name of a kept backup. */
export function takenAtMsOf(name: string): number | null {
  const [, day, hours, minutes, seconds] = NAME.exec(name) ?? [];
  const takenAtMs = Date.parse(`${day}T${hours}:${minutes}:${seconds}Z`);
  return Number.isNaN(takenAtMs) ? null : takenAtMs;
}

export class KeptFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Newest first. @throws CliError `cannot_read` */
  list(): readonly KeptBackup[] {
    const found = this.#names().flatMap((name) => {
      const takenAtMs = takenAtMsOf(name);
      const path = join(this.path, name);
      const stat = statSync(path, { throwIfNoEntry: false });
      if (takenAtMs === null || stat === undefined || !stat.isFile()) return [];
      return [{ name, path, takenAtMs, note: parseNote(readIfThere(`${path}.json`)), bytes: stat.size }];
    });
    return found.toSorted((a, b) => b.takenAtMs - a.takenAtMs || (a.name < b.name ? 1 : -1));
  }

  #names(): readonly string[] {
    try {
      return readdirSync(this.path);
    } catch (error) {
      throw asCliError(this.path, "read", error);
    }
  }

  /**
   * A new file, which gets its name and its note when all of it is on the disk.
   * @param fill writes it, and says what to note and when the backup was taken
   * @throws CliError `cannot_write`; whatever `fill` throws
   */
  async add<Filled extends { readonly name: string; readonly note: KeptNote }>(
    fill: (file: Awaited<ReturnType<typeof open>>) => Promise<Filled>,
  ): Promise<Filled> {
    this.#removeOldPartials();
    const partial = join(this.path, `${process.pid}-${Date.now()}.backup.zst.age.partial`);
    try {
      const file = await open(partial, "wx", PRIVATE);
      try {
        const filled = await fill(file);
        await file.sync();
        const path = join(this.path, filled.name);
        if (existsSync(path)) throw new CliError(EXIT.usage, "cannot_write", `${path} exists; it is never overwritten`);
        replaceDurably(`${path}.json`, noteText(filled.note), PRIVATE);
        await rename(partial, path);
        await syncFolder(this.path);
        return filled;
      } catch (error) {
        await unlink(partial);
        throw error;
      } finally {
        await file.close();
      }
    } catch (error) {
      throw asCliError(this.path, "write", error);
    }
  }

  /** What a run has left that was killed. */
  #removeOldPartials(): void {
    for (const name of this.#names().filter((each) => PARTIAL.test(each))) {
      const path = join(this.path, name);
      const changedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
      if (Date.now() - changedMs > PARTIAL_AGE_MS_MAX) rmSync(path, { force: true });
    }
  }

  /** Both files; the backup first, so that a note alone is all that a crash can leave. */
  remove({ path }: KeptBackup): void {
    try {
      rmSync(path);
      rmSync(`${path}.json`, { force: true });
    } catch (error) {
      throw asCliError(path, "write", error);
    }
  }
}

/** Whether it has the length that was noted: what is shorter, or has no note, is no backup to rely on. */
export const isWhole = ({ note, bytes }: KeptBackup): boolean => note !== null && note.bytes === bytes;

/** Whether its bytes are those that were noted: reads all of it. */
export async function isIntact(kept: KeptBackup): Promise<boolean> {
  return isWhole(kept) && bytesToHex(await hashFile(kept.path)) === kept.note?.sha256;
}

function noteText({ sha256, bytes, backupSha256, backupBytes, isSigned }: KeptNote): string {
  const note = { sha256, bytes, backup_sha256: backupSha256, backup_bytes: backupBytes, state_signed: isSigned };
  return `${JSON.stringify(note, null, 2)}\n`;
}

/** null: it is not the text of a note. */
export function parseNote(text: string): KeptNote | null {
  const value = parseJson(text);
  if (value === null) return null;
  const { sha256, bytes, backup_sha256: backupSha256, backup_bytes: backupBytes, state_signed: isSigned } = value;
  if (typeof sha256 !== "string" || typeof bytes !== "number") return null;
  if (typeof backupSha256 !== "string" || typeof backupBytes !== "number") return null;
  return { sha256, bytes, backupSha256, backupBytes, isSigned: isSigned === true };
}

/** null: it is no JSON object. */
export function parseJson(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : null;
  } catch {
    // A note is a help, and the file it is about is judged without it.
    return null;
  }
}

/** Empty: it is not there, or this account may not read it. */
export function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // As with a note that says nothing.
    return "";
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
