import { randomBytes } from "node:crypto";
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FolderInUse } from "./errors.ts";
import { FILE_MODE } from "./files.ts";

/** `lock-<process id>-<start>-<nonce>` */
const LOCK = /^lock-(\d{1,10})-(\d{1,20})-[0-9a-f]{8}$/;

/**
 * When a process began, in ticks: another process that gets its id later has another one. "0" where there is no /proc;
 * null: there is no such process.
 */
function startOf(pid: number): string | null {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return null;
    // EPERM: it lives, and belongs to somebody else.
  }
  try {
    // The name of the program, in brackets, may hold anything: fields are counted behind it. Field 22 is the start.
    const behindName = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1) ?? "";
    return behindName.split(" ")[19] ?? "0";
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "0";
    throw error;
  }
}

/** Null: it is no lock, or the process that made it has ended. */
function holderOf(folder: string, name: string): number | null {
  const [, pid, start] = LOCK.exec(name) ?? [];
  if (pid === undefined) return null;
  if (startOf(Number(pid)) === start) return Number(pid);
  rmSync(join(folder, name), { force: true });
  return null;
}

/**
 * Keeps two recorders of one machine apart. Each makes a file of its own before it looks for those of others: of two
 * that begin at once neither can miss the other, and both may be refused.
 */
export class FolderLock {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  /** @param folder is there @throws FolderInUse */
  static take(folder: string): FolderLock {
    const name = `lock-${process.pid}-${startOf(process.pid) ?? "0"}-${randomBytes(4).toString("hex")}`;
    const lock = new FolderLock(join(folder, name));
    writeFileSync(lock.#path, "", { flag: "wx", mode: FILE_MODE });
    const others = readdirSync(folder).filter((other) => other !== name);
    const holder = others.map((other) => holderOf(folder, other)).find((pid) => pid !== null);
    if (holder === undefined || holder === null) return lock;
    lock.release();
    throw new FolderInUse(folder, holder);
  }

  release(): void {
    rmSync(this.#path, { force: true });
  }
}
