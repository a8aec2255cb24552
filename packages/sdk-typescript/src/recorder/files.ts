/**
 * What a recorder needs of a file system. Tests put a full disk or a failing one in its place. Its types need none of
 * Node's.
 */
import { close, closeSync, fdatasync, ftruncateSync, open, openSync, readSync, writeSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";

export interface RecorderFiles {
  readonly openSync: (path: string, flags: string, mode?: number) => number;
  readonly writeSync: (fd: number, buffer: Uint8Array, offset: number, length: number, position: number) => number;
  readonly readSync: (fd: number, buffer: Uint8Array, offset: number, length: number, position: number) => number;
  readonly ftruncateSync: (fd: number, length: number) => void;
  readonly closeSync: (fd: number) => void;
  /** Resolves once the bytes of an open file would survive the loss of power. */
  readonly syncFile: (fd: number) => Promise<void>;
  /** The same of a file or a folder by its path. */
  readonly syncPath: (path: string) => Promise<void>;
  /** A new file is for the user of the program alone. */
  readonly writeFile: (path: string, content: Uint8Array | string) => Promise<void>;
  /** With those above it, for the user of the program alone. Resolves to the first that was made. */
  readonly makeFolder: (path: string) => Promise<string | undefined>;
}

/** Modes of the files and folders that a recorder makes: what it records may be nobody else's business. */
export const FILE_MODE = 0o600;
export const FOLDER_MODE = 0o700;

const [openAsync, closeAsync, syncFile] = [promisify(open), promisify(close), promisify(fdatasync)];

export const NODE_FILES: RecorderFiles = {
  openSync,
  writeSync,
  readSync,
  ftruncateSync,
  closeSync,
  syncFile,
  syncPath: async (path) => {
    const fd = await openAsync(path, "r");
    try {
      await syncFile(fd);
    } finally {
      await closeAsync(fd);
    }
  },
  writeFile: (path, content) => writeFile(path, content, { mode: FILE_MODE }),
  makeFolder: (path) => mkdir(path, { recursive: true, mode: FOLDER_MODE }),
};

/** `ENOENT`, say; "failed" of what is no system error. */
export function codeOf(cause: unknown): string {
  return (cause as NodeJS.ErrnoException | null)?.code ?? "failed";
}

/**
 * Folders that have to be synced for a folder to be found after the loss of power: those that name what was made, and
 * two in any case, as an earlier run may have made them and not come to sync them.
 * @param firstMade the highest that was made; undefined: none
 */
export function parentsOf(folder: string, firstMade: string | undefined): ReadonlySet<string> {
  let parent = dirname(resolve(folder));
  const parents = new Set([parent, dirname(parent)]);
  const last = firstMade === undefined ? parent : dirname(resolve(firstMade));
  for (; parent !== last && parent !== dirname(parent); parent = dirname(parent)) parents.add(parent);
  return parents.add(last);
}

/** Syncs folders. One that is gone, or that this program may not read, was not made by it or has been moved. */
export async function syncParents(files: Pick<RecorderFiles, "syncPath">, folders: Iterable<string>): Promise<void> {
  for (const folder of folders) {
    try {
      await files.syncPath(folder);
    } catch (error) {
      if (!["ENOENT", "EACCES", "EPERM"].includes(codeOf(error))) throw error;
    }
  }
}
