import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import { randomBytes } from "node:crypto";

const TAKEOVERS_NESTED_MAX = 2;

/** A living process holds the lock, or is taking it. */
export class LockHeldError extends Error {
  readonly pid: number;
  constructor(path: string, pid: number) {
    super(`${path} is held by process ${pid}`);
    this.name = "LockHeldError";
    this.pid = pid;
  }
}

interface LockOwner {
  readonly pid: number;
  /** When the process started, in the kernel's ticks since boot; "-" where the system does not tell. */
  readonly startedAt: string;
}

/**
 * A lock file that names its owner by process id *and* start time, so that a crashed owner is recognised even if its
 * id was given to another process. It keeps two processes of one machine apart; a copy of the file on another machine
 * is found by the peers, which accept only the highest incarnation.
 */
export class PromiseLock {
  readonly #path: string;
  readonly #text: string;

  private constructor(path: string, text: string) {
    this.#path = path;
    this.#text = text;
  }

  /** @throws LockHeldError while another living process, or this one, holds it */
  static async acquire(path: string): Promise<PromiseLock> {
    const nonce = randomBytes(8).toString("hex");
    const text = `${process.pid} ${(await startOf(process.pid)) ?? "-"} ${nonce}\n`;
    const draft = `${path}.${nonce}`;
    try {
      await writeFile(draft, text, { flag: "wx", mode: 0o600 });
      await place(draft, path, TAKEOVERS_NESTED_MAX);
    } finally {
      await rm(draft, { force: true });
    }
    return new PromiseLock(path, text);
  }

  /** Gives the lock up; a lock that has become another's is left alone. */
  async release(): Promise<void> {
    const text = await readIfPresent(this.#path);
    if (text === this.#text) await rm(this.#path, { force: true });
  }
}

async function isLinked(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (errorCodeOf(error) === "EEXIST") return false;
    throw error;
  }
}

/**
 * Puts the finished lock at `path`: by a link if there is none (atomic, and no reader ever sees a lock without its
 * owner), else by replacing a stale one. Between judging a lock stale and replacing it a rival could do the same, so
 * both need the takeover lock first; a crash while holding it is handled the same way, one level down.
 */
async function place(draft: string, path: string, takeoversLeft: number): Promise<void> {
  if (await isLinked(draft, path)) return;
  const stale = await readIfPresent(path);
  if (stale === null) return place(draft, path, takeoversLeft);
  const owner = parseOwner(stale);
  if (owner !== null && (await isAlive(owner))) throw new LockHeldError(path, owner.pid);
  if (takeoversLeft === 0) throw new LockHeldError(path, owner?.pid ?? 0);
  const takeover = `${path}.takeover`;
  await place(draft, takeover, takeoversLeft - 1);
  try {
    if ((await readIfPresent(path)) !== stale) throw new LockHeldError(path, owner?.pid ?? 0);
    await rename(takeover, path);
  } catch (error) {
    await rm(takeover, { force: true });
    throw error;
  }
}

function parseOwner(text: string): LockOwner | null {
  const match = /^(\d{1,10}) (\d+|-) [0-9a-f]{16}\n$/.exec(text);
  return match === null ? null : { pid: Number(match[1]), startedAt: String(match[2]) };
}

async function isAlive(owner: LockOwner): Promise<boolean> {
  const startedAt = await startOf(owner.pid);
  if (startedAt !== null) return owner.startedAt === "-" || owner.startedAt === startedAt;
  try {
    process.kill(owner.pid, 0);
    return true;
  } catch (error) {
    return errorCodeOf(error) === "EPERM";
  }
}

/** Start time of a process where the system shows it (Linux, proc(5), field 22); null elsewhere and for no process. */
async function startOf(pid: number): Promise<string | null> {
  const stat = await readIfPresent(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The second field, the command in parentheses, may itself hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[19] ?? null;
}

async function readIfPresent(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const code = errorCodeOf(error);
    if (code === "ENOENT" || code === "ESRCH") return null;
    throw error;
  }
}

/** The code of a system error; null for anything else. */
export function errorCodeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : null;
}
