import { createHash } from "node:crypto";
import {
  accessSync,
  closeSync,
  constants,
  createReadStream,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { Progress } from "../terminal/progress.ts";

const CHUNK_BYTES = 1024 * 1024;
const MEGABYTE = 1e6;

/**
 * SHA-256 of a file's bytes, as `sha256sum` says it: 32 bytes. Streamed: the file may be larger than memory.
 * @param progress told how far it is
 */
export async function hashFile(path: string, progress?: Progress): Promise<Uint8Array> {
  try {
    const file = statSync(path);
    if (file.isDirectory()) throw new CliError(EXIT.usage, "not_a_file", `${path} is a folder, not a file`);
    const hash = createHash("sha256");
    let done = 0;
    for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES })) {
      const bytes = chunk as Buffer;
      hash.update(bytes);
      done += bytes.length;
      if (done < file.size)
        progress?.say(`read ${Math.floor(done / MEGABYTE)} of ${Math.floor(file.size / MEGABYTE)} MB of ${path}`);
    }
    progress?.end();
    return Uint8Array.from(hash.digest());
  } catch (error) {
    throw asCliError(path, "read", error);
  }
}

/** A whole file of at most `bytesMax` bytes. */
export function readBytes(path: string, bytesMax: number): Uint8Array {
  try {
    const { size } = statSync(path);
    if (size <= bytesMax) return Uint8Array.from(readFileSync(path));
    throw new CliError(EXIT.usage, "file_too_large", `${path} has ${size} bytes, more than the ${bytesMax} expected`);
  } catch (error) {
    throw asCliError(path, "read", error);
  }
}

/** A whole text file of at most `bytesMax` bytes. */
export function readText(path: string, bytesMax: number): string {
  return Buffer.from(readBytes(path, bytesMax)).toString("utf8");
}

/**
 * Asked before something is done that a file is to witness: a place that cannot be written to is no surprise then.
 * @throws CliError `cannot_write`
 */
export function assertWritable(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) {
    throw new CliError(EXIT.usage, "cannot_write", `cannot write ${path}: it is a folder`);
  }
  try {
    accessSync(dirname(path), constants.W_OK);
  } catch (error) {
    throw asCliError(path, "write", error);
  }
}

/** The same for files in a folder. @throws CliError `cannot_write` */
export function assertFolderWritable(folder: string): void {
  try {
    if (!statSync(folder).isDirectory()) {
      throw new CliError(EXIT.usage, "cannot_write", `cannot write into ${folder}: it is not a folder`);
    }
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw asCliError(folder, "write", error);
  }
}

/** Writes a file whole or not at all: an earlier one stays until the new one is complete. */
export function writeWhole(path: string, content: string | Uint8Array): void {
  const partial = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(partial, content);
    renameSync(partial, path);
  } catch (error) {
    throw asCliError(path, "write", error);
  }
}

/** The same, in a folder that is made if there is none; afterwards it is on disk, for its owner alone. */
export function writeDurably(path: string, content: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
  } catch (error) {
    throw asCliError(path, "write", error);
  }
  replaceDurably(path, content, 0o600);
}

/**
 * Writes a file beside its place, and renames it when it is on disk: after a crash there is the old one or the new one.
 * The name is durable with the folder.
 */
export function replaceDurably(path: string, content: Uint8Array | string, mode: number): void {
  const unfinished = `${path}.tmp`;
  try {
    const file = openSync(unfinished, "w", mode);
    try {
      writeFileSync(file, content);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(unfinished, path);
  } catch (error) {
    throw asCliError(path, "write", error);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "permission denied",
  EPERM: "the system does not permit it",
  EEXIST: "it exists already",
  EISDIR: "it is a folder",
  ENOTDIR: "a part of the path is not a folder",
  ENOSPC: "the disk is full",
  EROFS: "it is on a disk that is mounted read-only",
  ELOOP: "symbolic links lead round in a circle",
};

/** The codes of the system and of Node.js; those of our own errors are in lower case. */
const SYSTEM_CODE = /^E[A-Z0-9_]+$/u;

/** What the system says, in plain words. Other errors as they are. */
export function asCliError(path: string, verb: "read" | "write" | "access", error: unknown): unknown {
  if (!(typeof error === "object" && error !== null && "code" in error)) return error;
  const code = String(error.code);
  if (!SYSTEM_CODE.test(code)) return error;
  const isFolderMissing = verb === "write" && code === "ENOENT";
  const reason = isFolderMissing ? "there is no such folder" : (REASONS[code] ?? code);
  return new CliError(EXIT.usage, `cannot_${verb}`, `cannot ${verb} ${path}: ${reason}`, error);
}
