/**
 * What a recorder needs of a file system. Tests put a full disk or a failing one in its place. Its types need none of
 * Node's.
 */
import { close, closeSync, fdatasync, ftruncateSync, open, openSync, readSync, writeSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
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
  readonly writeFile: (path: string, content: Uint8Array | string) => Promise<void>;
  readonly makeFolder: (path: string) => Promise<void>;
}

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
  writeFile: (path, content) => writeFile(path, content),
  makeFolder: async (path) => {
    await mkdir(path, { recursive: true });
  },
};
