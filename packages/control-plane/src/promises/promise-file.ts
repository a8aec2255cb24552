import { constants } from "node:fs";
import { type FileHandle, link, lstat, open, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import {
  type Promises,
  SLOT_CLASS_MAX,
  type SlotPosition,
  brokenPromise,
  encodePromises,
  encodeSlot,
  newestSlot,
  slotBytesOf,
  slotClassFor,
  slotOffsetOf,
} from "@event-anchoring/control-contract";
import { syncDirectory, writeDurably } from "./durable-files.ts";
import { LockHeldError, PromiseLock, errorCodeOf } from "./promise-lock.ts";

export type { PeerPromises, Promises, SignedHead, SignedState } from "@event-anchoring/control-contract";

/**
 * - `missing`: there is no such file.
 * - `exists`: asked to create a file that is there already.
 * - `torn`: no slot can be read. What this node promised is not known any more.
 * - `foreign`: the file is not a promise file, or has the format of another build.
 * - `mode`: not a regular file, or readable by others than its owner (wider than 0600).
 * - `locked`: another process uses it.
 * - `broken_promise`: asked to save less than was promised. The caller is wrong; nothing was written.
 * - `unusable`: a write or flush failed. What the disk holds is not known; close, open again and read.
 */
export type PromiseFileCode =
  | "missing"
  | "exists"
  | "torn"
  | "foreign"
  | "mode"
  | "locked"
  | "broken_promise"
  | "unusable";

/** Match on `code`; the message is for people. */
export class PromiseFileError extends Error {
  readonly code: PromiseFileCode;
  constructor(code: PromiseFileCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PromiseFileError";
    this.code = code;
  }
}

/** Where the slots live. The simulator keeps them in memory and fails before or after a write. */
export interface SlotIo {
  /** Everything there is, read anew. */
  read(): Promise<Uint8Array>;
  /** Overwrites at this offset; grows the file where it ends earlier. Not durable before `sync`. */
  writeSlot(offset: number, bytes: Uint8Array): Promise<void>;
  /** Resolves when everything written is durable. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface OpenedPromiseFile {
  readonly file: PromiseFile;
  readonly promises: Promises;
  /**
   * One of the two newest slots could not be read. After a crash during a save this is expected: that save never
   * resolved. Otherwise the disk is rotting, and up to one save may be forgotten: say so loudly.
   */
  readonly hasDamagedSlot: boolean;
}

interface SaveWaiter {
  resolve(): void;
  reject(error: PromiseFileError): void;
}

/**
 * What this node has promised, on a volume of its own, so that a database set back to an earlier time is noticed.
 *
 * Two slots are written alternately; each has a counter and a CRC, so a torn write leaves the other one whole. When
 * promises outgrow a slot, writing moves on to a larger pair behind it; the older pair stays until it is older by
 * counter. Order: first the database commit that a promise speaks of, then `save`, then the message.
 *
 * States: usable → unusable (after the first failed write or flush; every later save is refused) → closed. A save
 * that was refused with `unusable` may or may not be on disk: open again and read.
 */
export class PromiseFile {
  readonly #io: SlotIo;
  #counter: number;
  #position: SlotPosition;
  #current: Promises;
  /**
   * The newest promises passed to `save`; they become `#current` once durable. Invariant: takes back nothing in
   * `#current`.
   */
  #requested: Promises;
  #waiters: SaveWaiter[] = [];
  #writing: Promise<void> | null = null;
  #failure: PromiseFileError | null = null;

  private constructor(io: SlotIo, counter: number, position: SlotPosition, current: Promises) {
    this.#io = io;
    this.#counter = counter;
    this.#position = position;
    this.#current = current;
    this.#requested = current;
  }

  /**
   * Makes the file of a node that has none. File and directory entry are durable when it resolves.
   * @throws PromiseFileError `exists`, `locked`
   */
  static async create(path: string, promises: Promises): Promise<PromiseFile> {
    const lock = await acquireLock(path);
    const draft = `${path}.new`;
    try {
      await writeDurably(draft, initialBytes(promises));
      await linkNew(draft, path);
      await syncDirectory(dirname(path));
    } catch (error) {
      await lock.release();
      throw error;
    } finally {
      await rm(draft, { force: true });
    }
    return (await PromiseFile.#openLocked(path, lock)).file;
  }

  /** @throws PromiseFileError `missing`, `torn`, `foreign`, `mode`, `locked`, `unusable` */
  static async open(path: string): Promise<OpenedPromiseFile> {
    await assertPrivate(path);
    return PromiseFile.#openLocked(path, await acquireLock(path));
  }

  /**
   * What the newest whole slot holds, whoever uses the file: it is neither locked nor written.
   * @throws PromiseFileError `missing`, `torn`, `foreign`, `mode`
   */
  static async inspect(path: string): Promise<Promises> {
    await assertPrivate(path);
    const newest = newestSlot(await readFile(path));
    if (newest.state === "good") return newest.promises;
    throw new PromiseFileError(newest.state, `${path}: ${newest.detail}`);
  }

  static async #openLocked(path: string, lock: PromiseLock): Promise<OpenedPromiseFile> {
    let handle: FileHandle;
    try {
      handle = await open(path, constants.O_RDWR | durableWrites());
    } catch (error) {
      await lock.release();
      throw error;
    }
    const io = new FileSlotIo(handle, lock);
    try {
      return await PromiseFile.openOn(io);
    } catch (error) {
      await io.close();
      throw error;
    }
  }

  /** As `create`, on slots of the caller's own. */
  static async createOn(io: SlotIo, promises: Promises): Promise<PromiseFile> {
    if ((await io.read()).length > 0) throw new PromiseFileError("exists", "the slots are in use");
    await io.writeSlot(0, initialBytes(promises));
    await io.sync();
    return (await PromiseFile.openOn(io)).file;
  }

  /**
   * As `open`, on slots of the caller's own. What was read is written once more, into the other slot, before this
   * resolves: after a failed flush a read may show bytes that a power cut would still lose.
   */
  static async openOn(io: SlotIo): Promise<OpenedPromiseFile> {
    const newest = newestSlot(await io.read());
    if (newest.state !== "good") throw new PromiseFileError(newest.state, newest.detail);
    const file = new PromiseFile(io, newest.counter, newest.position, newest.promises);
    await file.save(newest.promises);
    return { file, promises: newest.promises, hasDamagedSlot: newest.hasDamagedSlot };
  }

  /** The newest promises that are durable. */
  get current(): Promises {
    return this.#current;
  }

  /**
   * Resolves when a slot that holds at least these promises is durable. Calls during a write are taken together by
   * the next one: each must build on the one before it, and the newest is written for all.
   * @param left peers that have left the group for good, by Raft id: their words may be gone
   * @throws PromiseFileError `broken_promise`, `unusable`
   */
  save(promises: Promises, left: ReadonlySet<string> = new Set()): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    const broken = brokenPromise(this.#requested, promises, left);
    if (broken !== null) return Promise.reject(new PromiseFileError("broken_promise", `refused to save ${broken}`));
    this.#requested = promises;
    const saved = new Promise<void>((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
    });
    this.#writing ??= this.#writeWaiting();
    return saved;
  }

  /** Waits for the saves under way, then gives the file up. Later saves are refused. */
  async close(): Promise<void> {
    this.#failure ??= new PromiseFileError("unusable", "the promise file is closed");
    await this.#writing;
    await this.#io.close();
  }

  async #writeWaiting(): Promise<void> {
    while (this.#waiters.length > 0) {
      const waiters = this.#waiters;
      this.#waiters = [];
      try {
        await this.#write(this.#requested);
      } catch (error) {
        const failure = new PromiseFileError("unusable", "the promise file could not be written", { cause: error });
        this.#failure = failure;
        for (const waiter of [...waiters, ...this.#waiters]) waiter.reject(failure);
        this.#waiters = [];
        break;
      }
      for (const waiter of waiters) waiter.resolve();
    }
    this.#writing = null;
  }

  async #write(promises: Promises): Promise<void> {
    const body = encodePromises(promises);
    const slotClass = Math.max(slotClassFor(body.length), this.#position.slotClass);
    const grows = slotClass > this.#position.slotClass;
    const position: SlotPosition = { slotClass, slot: grows || this.#position.slot === 1 ? 0 : 1 };
    const counter = this.#counter + 1;
    const slot = encodeSlot(counter, body, slotBytesOf(slotClass));
    await this.#io.writeSlot(slotOffsetOf(slotClass, position.slot), slot);
    await this.#io.sync();
    this.#counter = counter;
    this.#position = position;
    this.#current = promises;
  }
}

/** Both slots of the first class that fits, the second one empty. */
function initialBytes(promises: Promises): Uint8Array {
  const body = encodePromises(promises);
  const slotClass = slotClassFor(body.length);
  const bytes = new Uint8Array(slotOffsetOf(slotClass, 1) + slotBytesOf(slotClass));
  bytes.set(encodeSlot(1, body, slotBytesOf(slotClass)), slotOffsetOf(slotClass, 0));
  return bytes;
}

/** The slots of a real file. Once a call has failed every later one fails too: the caller opens anew. */
class FileSlotIo implements SlotIo {
  readonly #handle: FileHandle;
  readonly #lock: PromiseLock;

  constructor(handle: FileHandle, lock: PromiseLock) {
    this.#handle = handle;
    this.#lock = lock;
  }

  async read(): Promise<Uint8Array> {
    const { size } = await this.#handle.stat();
    const bytes = new Uint8Array(Math.min(size, slotOffsetOf(SLOT_CLASS_MAX + 1, 0)));
    for (let at = 0; at < bytes.length;) {
      const { bytesRead } = await this.#handle.read(bytes, at, bytes.length - at, at);
      if (bytesRead === 0) throw new Error(`the promise file ended at ${at} of ${bytes.length} bytes`);
      at += bytesRead;
    }
    return bytes;
  }

  async writeSlot(offset: number, bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      at += (await this.#handle.write(bytes, at, bytes.length - at, offset + at)).bytesWritten;
    }
  }

  /** Nothing to do: the file is open with O_DSYNC, so a write that has returned is durable. */
  async sync(): Promise<void> {}

  async close(): Promise<void> {
    try {
      await this.#handle.close();
    } finally {
      await this.#lock.release();
    }
  }
}

async function acquireLock(path: string): Promise<PromiseLock> {
  try {
    return await PromiseLock.acquire(`${path}.lock`);
  } catch (error) {
    if (error instanceof LockHeldError) throw new PromiseFileError("locked", error.message, { cause: error });
    throw error;
  }
}

async function assertPrivate(path: string): Promise<void> {
  const stat = await lstat(path).catch((error: unknown) => {
    if (errorCodeOf(error) === "ENOENT") throw new PromiseFileError("missing", `there is no promise file at ${path}`);
    throw error;
  });
  if (!stat.isFile()) throw new PromiseFileError("mode", `${path} is not a regular file`);
  if ((stat.mode & 0o177) !== 0) {
    const mode = (stat.mode & 0o777).toString(8).padStart(4, "0");
    throw new PromiseFileError("mode", `${path} has mode ${mode}; it must not be wider than 0600`);
  }
}

async function linkNew(draft: string, path: string): Promise<void> {
  try {
    await link(draft, path);
  } catch (error) {
    if (errorCodeOf(error) === "EEXIST")
      throw new PromiseFileError("exists", `${path} is there already`, { cause: error });
    throw error;
  }
}

/** The open flag that makes a write durable before it returns. Without it the file would keep nothing it promises. */
function durableWrites(): number {
  const flag: number | undefined = constants.O_DSYNC;
  if (flag === undefined) throw new PromiseFileError("unusable", "this platform has no O_DSYNC");
  return flag;
}
