import { linkSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { hasCode, identityOf, isAlive, signalProcess } from "@event-anchoring/provision";
import type { ProcessIdentity } from "@event-anchoring/provision";
import { writeAtomically } from "./write-atomically.ts";

/** A process that the supervisor started, as a later start must be able to recognise it. */
export interface Child extends ProcessIdentity {
  /** Such as `n1 postgres`. */
  readonly name: string;
}

interface LockFile {
  readonly supervisor: ProcessIdentity;
  readonly children: readonly Child[];
}

/** Another live process serves this folder. */
export class AlreadySupervisedError extends Error {
  override readonly name = "AlreadySupervisedError";
  readonly pid: number;
  constructor(root: string, pid: number) {
    super(`${root} is served by process ${pid} already; stop that one first (Ctrl-C there, or: kill ${pid})`);
    this.pid = pid;
  }
}

const ASK_MS = 8000;
const POLL_MS = 50;

/**
 * `supervisor.json`: who serves the folder, and the processes it started. Held from `take` to `release`. A file whose
 * supervisor has died names the leftovers, which `stopLeftovers` ends.
 */
export class SupervisorLock {
  readonly #path: string;
  readonly #self: ProcessIdentity;
  readonly #children = new Map<string, ProcessIdentity>();
  #leftovers: readonly Child[] = [];

  private constructor(path: string, self: ProcessIdentity) {
    this.#path = path;
    this.#self = self;
  }

  /** @throws AlreadySupervisedError */
  static take(root: string): SupervisorLock {
    const self = identityOf(process.pid);
    if (self === null) throw new Error("this process cannot find out its own start time");
    const lock = new SupervisorLock(join(root, "supervisor.json"), self);
    const mine = `${lock.#path}.${process.pid}.claim`;
    for (;;) {
      writeAtomically(mine, lock.#text());
      try {
        // A link fails if the name exists: of two starts at the same moment one gets it, with its whole content.
        linkSync(mine, lock.#path);
        return lock;
      } catch (error) {
        if (!hasCode(error, "EEXIST")) throw error;
        const found = readLock(lock.#path);
        if (found !== null && isAlive(found.supervisor)) {
          throw new AlreadySupervisedError(root, found.supervisor.pid);
        }
        lock.#leftovers = [...lock.#leftovers, ...(found?.children ?? [])];
        rmSync(lock.#path, { force: true });
      } finally {
        rmSync(mine, { force: true });
      }
    }
  }

  /** Processes of a killed supervisor that still live. */
  get leftovers(): readonly Child[] {
    return this.#leftovers.filter(isAlive);
  }

  /** Remembers, or forgets (null), the process of this name. */
  record(name: string, pid: number | null): void {
    const identity = pid === null ? null : identityOf(pid);
    if (identity === null) this.#children.delete(name);
    else this.#children.set(name, identity);
    writeAtomically(this.#path, this.#text());
  }

  /** Asks the leftovers to end (Postgres: fast), insists after some seconds, and returns when all are gone. */
  async stopLeftovers(): Promise<void> {
    for (const child of this.leftovers) signalProcess(child, child.name.endsWith("postgres") ? "SIGINT" : "SIGTERM");
    const insistAt = performance.now() + ASK_MS;
    while (this.leftovers.length > 0) {
      if (performance.now() > insistAt) for (const child of this.leftovers) signalProcess(child, "SIGKILL");
      await delay(POLL_MS);
    }
  }

  release(): void {
    rmSync(this.#path, { force: true });
  }

  #text(): string {
    const children = [...this.#children].map(([name, identity]) => ({ name, ...identity }));
    const file: LockFile = { supervisor: this.#self, children };
    return `${JSON.stringify(file, null, 2)}\n`;
  }
}

/** Null when there is none; a file that is no lock (a torn disk) is refused rather than overwritten. */
function readLock(path: string): LockFile | null {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return null;
    throw error;
  }
  const value: unknown = JSON.parse(text);
  if (typeof value === "object" && value !== null && "supervisor" in value && "children" in value) {
    const { supervisor, children } = value;
    if (isIdentity(supervisor) && Array.isArray(children) && children.every(isChild)) return { supervisor, children };
  }
  throw new Error(`${path} is damaged; delete it if no cluster runs in this folder`);
}

function isIdentity(value: unknown): value is ProcessIdentity {
  return (
    typeof value === "object" &&
    value !== null &&
    "pid" in value &&
    typeof value.pid === "number" &&
    "started" in value &&
    typeof value.started === "string"
  );
}

function isChild(value: unknown): value is Child {
  return isIdentity(value) && "name" in value && typeof value.name === "string";
}
