import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { identityOf } from "@event-anchoring/provision";
import { asCliError } from "../files/read-input.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";

/** `.lock-<process id>-<life>-<nonce>` */
const LOCK = /^\.lock-(\d{1,10})-([0-9a-f]{16})-[0-9a-f]{8}$/u;

/**
 * Keeps two processes of one machine apart. Each makes a file of its own before it looks for those of others: so of two
 * that begin at once neither can miss the other, and both may be refused. A file of a process that has ended is never
 * made again under its name, so whoever finds it can remove it.
 */
export class FolderLock {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  /** The folder is made if there is none. @throws CliError `locked` while another export has it */
  static take(folder: string): FolderLock {
    const name = `.lock-${process.pid}-${lifeOf(process.pid) ?? ""}-${randomBytes(4).toString("hex")}`;
    const lock = new FolderLock(join(folder, name));
    try {
      mkdirSync(folder, { recursive: true });
      writeFileSync(lock.#path, "", { flag: "wx" });
    } catch (error) {
      throw asCliError(folder, "write", error);
    }
    const holder = readdirSync(folder)
      .filter((other) => other !== name)
      .map((other) => holderOf(folder, other))
      .find((pid) => pid !== null);
    if (holder === undefined) return lock;
    lock.release();
    const message = `process ${holder} exports to ${folder}: one export for a folder at a time`;
    throw new CliError(EXIT.usage, "locked", message);
  }

  release(): void {
    rmSync(this.#path, { force: true });
  }
}

/** Null: it is no lock, or the process that made it has ended. */
function holderOf(folder: string, name: string): number | null {
  const [, pid, life] = LOCK.exec(name) ?? [];
  if (pid === undefined) return null;
  if (lifeOf(Number(pid)) === life) return Number(pid);
  rmSync(join(folder, name), { force: true });
  return null;
}

/** Another one for another process that gets the same id later. Null: there is no such process. */
function lifeOf(pid: number): string | null {
  const identity = identityOf(pid);
  return identity === null ? null : createHash("sha256").update(identity.started).digest("hex").slice(0, 16);
}
