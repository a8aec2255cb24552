import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { chmod, mkdir, open, readFile, rename, stat, unlink } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { hexToBytes } from "@event-anchoring/protocol";

/** Files that hold secrets, or are trusted because of where they stand, and what made one unusable. */
export type PrivateFileCode = "missing" | "exists" | "mode_too_wide" | "malformed";

/** A file of the cluster is missing, readable by others, or not what it should be. */
export class PrivateFileError extends Error {
  readonly code: PrivateFileCode;
  readonly path: string;
  constructor(code: PrivateFileCode, path: string, message: string) {
    super(`${path}: ${message}`);
    this.name = "PrivateFileError";
    this.code = code;
    this.path = path;
  }
}

/** Makes a folder of ours (and those above it) that only its owner can enter. One that is there is closed. */
export async function makePrivateDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await chmod(path, 0o700);
}

/**
 * Makes a folder that a person has named (and those above it): only its owner can enter it. One that is there keeps its
 * mode, as it may hold other things: the working folder, or `/tmp`.
 */
export async function makeNamedDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}

/**
 * Writes a file that only its owner can read, whole or not at all: temporary file, fsync, rename, fsync of the folder.
 * A reader sees the old file or the new one. Written by root, it belongs to the folder's owner.
 */
export async function writePrivateFile(path: string, content: string | Uint8Array, mode = 0o600): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  const file = await open(temporary, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600);
  try {
    await file.writeFile(content);
    await file.chmod(mode);
    await giveToOwnerOf(dirname(path), file);
    await file.sync();
  } catch (error) {
    await unlink(temporary);
    throw error;
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  await syncDirectory(dirname(path));
}

/** What root writes for a service of another account must be readable by it. */
async function giveToOwnerOf(folder: string, file: FileHandle): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(folder);
  await file.chown(uid, gid);
}

/** Reads a file that must be private. @throws PrivateFileError `missing`, `mode_too_wide` */
export async function readPrivateFile(path: string): Promise<string> {
  await checkMode(path);
  return readFile(path, "utf8");
}

/** Reads what writeSeed wrote: 32 bytes as 64 hex digits and a line feed. @throws PrivateFileError */
export async function readSeed(path: string): Promise<Uint8Array> {
  const text = await readPrivateFile(path);
  if (!/^[0-9a-f]{64}\n$/.test(text))
    throw new PrivateFileError("malformed", path, "not 64 hex digits and a line feed");
  return hexToBytes(text.trimEnd(), 32);
}

export async function writeSeed(path: string, seed: Uint8Array): Promise<void> {
  await writePrivateFile(path, `${Buffer.from(seed).toString("hex")}\n`);
}

export async function fileExists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

async function checkMode(path: string): Promise<void> {
  try {
    const { mode } = await stat(path);
    if ((mode & 0o077) !== 0) {
      throw new PrivateFileError("mode_too_wide", path, `mode ${(mode & 0o777).toString(8)}, must be 600 or stricter`);
    }
  } catch (error) {
    if (isMissing(error)) throw new PrivateFileError("missing", path, "no such file");
    throw error;
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(join(path, "."), constants.O_RDONLY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function isMissing(error: unknown): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === "ENOENT";
}
