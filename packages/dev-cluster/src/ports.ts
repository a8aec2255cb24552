import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { hasCode, identityOf, isAlive } from "@event-anchoring/provision";
import { ownFolder } from "./os-user.ts";

/** All listeners are on loopback: nothing of an embedded cluster is reachable from another machine. */
export const LOOPBACK = "127.0.0.1";

export interface NodePorts {
  readonly api: number;
  readonly metrics: number;
  readonly control: number;
}

/** The first node's; those of the next nodes follow. Metrics are a hundred higher, control planes two hundred. */
export const FIRST_PORT = 7301;
const KINDS_APART = 100;
/** The highest first port that leaves room for the others. */
export const FIRST_PORT_MAX = 65_000;

/**
 * The ports of this account's clusters on this machine. A cluster listens only seconds after it has chosen its ports,
 * so each choice is an empty file, named by the port and the process that has it. A process makes its own file before
 * it looks for those of others, so of two that begin at once neither misses the other.
 */
export class PortClaims {
  readonly #folder: string;
  readonly #self: string;
  readonly #files = new Set<string>();

  constructor(folder: string = join(tmpdir(), `anchoring-ports-${process.getuid?.() ?? 0}`)) {
    const self = identityOf(process.pid);
    if (self === null) throw new Error("this process cannot find out its own start time");
    this.#folder = folder;
    this.#self = `${self.pid}-${encodeURIComponent(self.started)}`;
    ownFolder(folder, 0o700, null);
  }

  /**
   * Ports of all nodes: those of the last run where they are free, the usual ones for a new cluster, and any free one
   * in place of one that is taken.
   */
  async choose(
    count: number,
    earlier: readonly (NodePorts | null)[],
    firstPort: number = FIRST_PORT,
  ): Promise<readonly NodePorts[]> {
    const ports: NodePorts[] = [];
    for (let i = 0; i < count; i++) {
      const before = earlier[i];
      ports.push({
        api: await this.#take(before?.api ?? firstPort + i),
        metrics: await this.#take(before?.metrics ?? firstPort + KINDS_APART + i),
        control: await this.#take(before?.control ?? firstPort + 2 * KINDS_APART + i),
      });
    }
    return ports;
  }

  /** Gives all of them free. Those of a process that has ended are free without it. */
  release(): void {
    for (const file of this.#files) rmSync(file, { force: true });
    this.#files.clear();
  }

  async #take(wanted: number): Promise<number> {
    if (await this.#tookFree(wanted)) return wanted;
    for (;;) {
      const port = await listenOnce(0);
      if (port !== null && (await this.#tookFree(port))) return port;
    }
  }

  /** Takes a port that nobody listens on and nobody has chosen. @returns whether it was one */
  async #tookFree(port: number): Promise<boolean> {
    if (!this.#claim(port)) return false;
    if (await isFree(port)) return true;
    this.#drop(this.#fileOf(port));
    return false;
  }

  #claim(port: number): boolean {
    const own = this.#fileOf(port);
    try {
      writeFileSync(own, "", { flag: "wx" });
    } catch (error) {
      // Another cluster of this process has it.
      if (hasCode(error, "EEXIST")) return false;
      throw error;
    }
    this.#files.add(own);
    const others = readdirSync(this.#folder).filter((name) => name.startsWith(`${port}-`));
    const isAnothers = others.map((name) => join(this.#folder, name)).some((file) => file !== own && isHeld(file));
    if (isAnothers) this.#drop(own);
    return !isAnothers;
  }

  #fileOf(port: number): string {
    return join(this.#folder, `${port}-${this.#self}`);
  }

  #drop(file: string): void {
    rmSync(file, { force: true });
    this.#files.delete(file);
  }
}

/** Whether the process that a file is named by lives; the file of one that has ended is removed. */
function isHeld(file: string): boolean {
  const [, pid = "", started = ""] = /^\d+-(\d+)-(.*)$/u.exec(basename(file)) ?? [];
  if (isAlive({ pid: Number(pid), started: decodeURIComponent(started) })) return true;
  rmSync(file, { force: true });
  return false;
}

async function isFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) === port;
}

/** The port that could be listened on; null if it is taken. */
function listenOnce(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(null));
    server.listen({ host: LOOPBACK, port, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : null));
    });
  });
}
