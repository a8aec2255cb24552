import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { isRecord } from "../files/nearest-cluster.ts";
import { asCliError, replaceDurably } from "../files/read-input.ts";

/** What is not verified yet, by its later path. */
const STAGE = ".part";

/**
 * Files for any web server, by the paths of a public log. A file appears under its name whole and on disk, or not at
 * all. What is staged survives a crash, and is published when all of it was verified.
 */
export class LogFolder {
  readonly #root: string;
  readonly #staged = new Set<string>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Null: there is none. */
  read(path: string): Uint8Array | null {
    return this.#readFile(join(this.#root, path));
  }

  has(path: string): boolean {
    return existsSync(join(this.#root, path));
  }

  /** What an earlier run has staged, or this one. */
  readStaged(path: string): Uint8Array | null {
    return this.#readFile(join(this.#root, STAGE, path));
  }

  stage(path: string, bytes: Uint8Array | string): void {
    this.#write(join(this.#root, STAGE, path), bytes);
    this.#staged.add(path);
  }

  /** Forgets what was staged. */
  discard(): void {
    this.#staged.clear();
    rmSync(join(this.#root, STAGE), { recursive: true, force: true });
  }

  /** Moves what was staged to its place. Afterwards all of it is on disk. */
  publish(): void {
    const folders = new Set<string>();
    for (const path of this.#staged) {
      const target = join(this.#root, path);
      this.#make(dirname(target));
      try {
        renameSync(join(this.#root, STAGE, path), target);
      } catch (error) {
        throw asCliError(target, "write", error);
      }
      for (let at = dirname(path); !folders.has(at); at = dirname(at)) folders.add(at);
    }
    for (const folder of folders) syncFolder(join(this.#root, folder));
    this.#staged.clear();
  }

  /** Replaces one file. */
  replace(path: string, bytes: Uint8Array | string): void {
    this.stage(path, bytes);
    this.publish();
  }

  remove(path: string): void {
    rmSync(join(this.#root, path), { recursive: true, force: true });
  }

  #readFile(path: string): Uint8Array | null {
    try {
      return Uint8Array.from(readFileSync(path));
    } catch (error) {
      if (isRecord(error) && error["code"] === "ENOENT") return null;
      throw asCliError(path, "read", error);
    }
  }

  #write(path: string, bytes: Uint8Array | string): void {
    this.#make(dirname(path));
    replaceDurably(path, bytes, 0o644);
  }

  #make(folder: string): void {
    try {
      mkdirSync(folder, { recursive: true });
    } catch (error) {
      throw asCliError(folder, "write", error);
    }
  }
}

/** What was renamed into it stays so when power goes. */
function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
