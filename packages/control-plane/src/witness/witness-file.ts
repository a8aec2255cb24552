import { readFile, rename, stat } from "node:fs/promises";
import { dirname } from "node:path";
import {
  WitnessPromisesError,
  brokenWitnessPromise,
  formatWitnessPromises,
  parseWitnessPromises,
} from "@event-anchoring/control-contract";
import type { WitnessPromises } from "@event-anchoring/control-contract";
import type { Crypto } from "@event-anchoring/protocol";
import { syncDirectory, writeDurably } from "../promises/durable-files.ts";
import { PromiseLock } from "../promises/promise-lock.ts";

/** Where a witness keeps what it has promised. */
export interface WitnessStore {
  /** The newest promises that are durable. */
  readonly current: WitnessPromises;
  /**
   * Resolves when these promises are durable. One call at a time. After a failure it is not known what the disk holds:
   * every later call fails.
   */
  save(promises: WitnessPromises): Promise<void>;
}

/** How a file is replaced by another text, durably. Tests fail before and after. */
export type ReplaceFile = (path: string, text: string) => Promise<void>;

/**
 * The promises of a witness on disk, replaced whole: a new file is written and synced, takes the old one's name, and
 * the folder is synced. After a crash there is the old file or the new one. It is never made here: a witness whose file
 * is gone has forgotten what it signed, and its key must not be used again.
 */
export class WitnessFile implements WitnessStore {
  readonly #path: string;
  readonly #lock: PromiseLock;
  readonly #replace: ReplaceFile;
  #current: WitnessPromises;
  #hasFailed = false;

  private constructor(path: string, lock: PromiseLock, current: WitnessPromises, replace: ReplaceFile) {
    this.#path = path;
    this.#lock = lock;
    this.#current = current;
    this.#replace = replace;
  }

  /** @throws WitnessPromisesError for what is no such file, or is readable by others; LockHeldError; a system error */
  static async open(path: string, crypto: Crypto, replace: ReplaceFile = replaceFile): Promise<WitnessFile> {
    await assertPrivate(path);
    const lock = await PromiseLock.acquire(`${path}.lock`);
    try {
      const current = parseWitnessPromises(await readFile(path, "utf8"), crypto);
      // What was read may not be on the disk yet: the last save may have ended between the new name and its sync.
      await syncDirectory(dirname(path));
      return new WitnessFile(path, lock, current, replace);
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  /**
   * What the file holds, whoever uses it.
   * @throws WitnessPromisesError for what is no such file, or is readable by others; a system error
   */
  static async read(path: string, crypto: Crypto): Promise<WitnessPromises> {
    await assertPrivate(path);
    return parseWitnessPromises(await readFile(path, "utf8"), crypto);
  }

  get current(): WitnessPromises {
    return this.#current;
  }

  async save(promises: WitnessPromises): Promise<void> {
    if (this.#hasFailed) throw new Error("an earlier save failed: what the disk holds is not known");
    const broken = brokenWitnessPromise(this.#current, promises);
    if (broken !== null) throw new WitnessPromisesError(`refused to save ${broken}`);
    this.#hasFailed = true;
    await this.#replace(this.#path, formatWitnessPromises(promises));
    this.#hasFailed = false;
    this.#current = promises;
  }

  async close(): Promise<void> {
    this.#hasFailed = true;
    await this.#lock.release();
  }
}

async function assertPrivate(path: string): Promise<void> {
  const { mode } = await stat(path);
  if ((mode & 0o077) !== 0) throw new WitnessPromisesError(`${path} is readable by others; chmod 600 it`);
}

async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}.new`;
  await writeDurably(draft, text);
  await rename(draft, path);
  await syncDirectory(dirname(path));
}
