import { mkdirSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { SpoolFull, SpoolWriteFailed } from "./errors.ts";
import type { RecorderFiles } from "./files.ts";
import { SpoolCorrupt, frameLength, readSpool, writeFrame } from "./spool-frame.ts";
import type { SpooledEvent } from "./spool-frame.ts";

/** From here on a new file is begun, so that the space of what is anchored is given back. */
const SEGMENT_BYTES = 8 * 1024 * 1024;
const SCRATCH_BYTES = 64 * 1024;
const NAME = /^(\d{16})\.spool$/;

/** One file of the spool. */
interface Segment {
  readonly number: number;
  readonly path: string;
  readonly fd: number;
  /** Where the next frame goes. */
  size: number;
  /** Up to here it is synced. */
  synced: number;
  /** Events in it that are not kept yet. */
  waiting: number;
  /** Kept files of its events, to be synced before it is deleted. */
  kept: string[];
}

/** Where an event is. */
export interface SpoolPlace {
  readonly segment: Segment;
  readonly offset: number;
  readonly length: number;
}

/** An event that an earlier run has left. */
export interface RecoveredEvent {
  readonly event: SpooledEvent;
  readonly place: SpoolPlace;
}

/** Events on their way, in files: docs/recorder.md, "The spool". */
export class Spool {
  readonly #folder: string;
  readonly #files: RecorderFiles;
  readonly #bytesMax: number;
  #segments: Segment[] = [];
  #current: Segment;
  #bytes = 0;
  #scratch = Buffer.allocUnsafe(SCRATCH_BYTES);
  /** Syncs and deletions go one after the other: a file is not closed while it is synced. */
  #last: Promise<void> = Promise.resolve();
  /** The sync that is asked for and has not begun. */
  #nextSync: Promise<void> | null = null;

  private constructor(folder: string, files: RecorderFiles, bytesMax: number, last: number) {
    this.#folder = folder;
    this.#files = files;
    this.#bytesMax = bytesMax;
    this.#current = this.#begin(last + 1);
  }

  /**
   * Reads what an earlier run has left, and begins a file of its own.
   * @throws SpoolCorrupt nothing was changed then
   */
  static open(folder: string, files: RecorderFiles, bytesMax: number): { spool: Spool; events: RecoveredEvent[] } {
    mkdirSync(folder, { recursive: true });
    const names = readdirSync(folder)
      .filter((name) => NAME.test(name))
      .sort();
    const read = names.map((name) => ({ name, ...contentOf(join(folder, name)) }));
    const spool = new Spool(folder, files, bytesMax, Number(names.at(-1)?.slice(0, 16) ?? 0));
    const events = read.flatMap(({ name, events: found, length }) => spool.#recover(name, found, length));
    return { spool, events };
  }

  /** Bytes that wait. */
  get bytes(): number {
    return this.#bytes;
  }

  hasRoom(bytes: number): boolean {
    return this.#bytes + bytes <= this.#bytesMax;
  }

  /**
   * Returns once the event would survive the end of this process.
   * @throws SpoolFull, SpoolWriteFailed nothing was recorded
   */
  append(event: SpooledEvent): SpoolPlace {
    const length = frameLength(event);
    if (!this.hasRoom(length)) throw new SpoolFull(this.#bytesMax);
    if (this.#current.size >= SEGMENT_BYTES) this.#current = this.#begin(this.#current.number + 1);
    const frame = length <= this.#scratch.length ? this.#scratch : Buffer.allocUnsafe(length);
    writeFrame(frame, 0, event);
    const segment = this.#current;
    const offset = segment.size;
    this.#write(segment, frame, length);
    segment.size += length;
    segment.waiting++;
    this.#bytes += length;
    return { segment, offset, length };
  }

  /** The frame of an event, which is read again and not held in memory. */
  read({ segment, offset, length }: SpoolPlace): SpooledEvent {
    const frame = Buffer.allocUnsafe(length);
    for (let done = 0; done < length;) {
      const count = this.#files.readSync(segment.fd, frame, done, length - done, offset + done);
      if (count === 0) throw new SpoolCorrupt(offset, "the file has become shorter", segment.path);
      done += count;
    }
    const [event] = readSpool(frame).events;
    if (event === undefined) throw new SpoolCorrupt(offset, "the frame has changed", segment.path);
    return event;
  }

  /** Resolves once everything that was appended before would survive the loss of power. */
  sync(): Promise<void> {
    this.#nextSync ??= this.#afterOthers(() => {
      this.#nextSync = null;
      return this.#syncNow();
    });
    return this.#nextSync;
  }

  /** The event is kept in these files, which are not synced yet; none: it was refused. */
  release({ segment }: SpoolPlace, paths: readonly string[]): void {
    segment.waiting--;
    segment.kept.push(...paths);
  }

  /** Files of which every event is kept: their kept files are synced, then they are deleted. One call at a time. */
  async clear(syncAll: (paths: readonly string[]) => Promise<void>): Promise<void> {
    for (const segment of this.#segments) {
      if (segment.waiting > 0 || segment.size === 0) continue;
      const { size } = segment;
      await syncAll(segment.kept);
      await this.#afterOthers(() => {
        // Something may have been recorded meanwhile: then the file is left until that is kept too.
        if (segment.size === size) this.#delete(segment);
        return Promise.resolve();
      });
    }
  }

  /** Lets go of the files; empty ones are deleted. */
  close(): Promise<void> {
    return this.#afterOthers(() => {
      for (const { fd, path, size } of this.#segments) {
        this.#files.closeSync(fd);
        if (size === 0) rmSync(path, { force: true });
      }
      this.#segments = [];
      return Promise.resolve();
    });
  }

  #begin(number: number): Segment {
    const path = join(this.#folder, `${String(number).padStart(16, "0")}.spool`);
    const fd = this.#files.openSync(path, "wx+", 0o600);
    const segment = { number, path, fd, size: 0, synced: 0, waiting: 0, kept: [] };
    this.#segments.push(segment);
    return segment;
  }

  #recover(name: string, events: readonly SpooledEvent[], length: number): RecoveredEvent[] {
    const path = join(this.#folder, name);
    const fd = this.#files.openSync(path, "r+");
    this.#files.ftruncateSync(fd, length);
    const segment: Segment = {
      number: Number(name.slice(0, 16)),
      path,
      fd,
      size: length,
      synced: 0,
      waiting: events.length,
      kept: [],
    };
    if (length === 0) {
      this.#files.closeSync(fd);
      rmSync(path, { force: true });
      return [];
    }
    this.#segments.push(segment);
    this.#bytes += length;
    let offset = 0;
    return events.map((event) => {
      const place = { segment, offset, length: frameLength(event) };
      offset += place.length;
      return { event, place };
    });
  }

  #write(segment: Segment, frame: Buffer, length: number): void {
    try {
      for (let done = 0; done < length;) {
        done += this.#files.writeSync(segment.fd, frame, done, length - done, segment.size + done);
      }
    } catch (cause) {
      this.#cutBack(segment);
      const { code = "failed" } = cause as NodeJS.ErrnoException;
      throw new SpoolWriteFailed(`${segment.path} cannot be written (${code})`, { cause });
    }
  }

  /** A part of a frame may be there. Where it cannot be cut off, a new file is begun: the end of any may be torn. */
  #cutBack(segment: Segment): void {
    try {
      this.#files.ftruncateSync(segment.fd, segment.size);
    } catch {
      // The frame behind it goes into another file, so nothing is ever written behind a torn frame.
      this.#current = this.#begin(segment.number + 1);
    }
  }

  async #syncNow(): Promise<void> {
    for (const segment of this.#segments) {
      if (segment.synced === segment.size) continue;
      const { size } = segment;
      const isNew = segment.synced === 0;
      try {
        await this.#files.syncFile(segment.fd);
        if (isNew) await this.#files.syncPath(this.#folder);
      } catch (cause) {
        // What the kernel has dropped it does not report again: new events go where a sync still says the truth.
        if (segment === this.#current) this.#current = this.#begin(segment.number + 1);
        throw new SpoolWriteFailed(`${segment.path} cannot be synced`, { cause });
      }
      segment.synced = size;
    }
  }

  #afterOthers(run: () => Promise<void>): Promise<void> {
    const result = this.#last.then(run);
    // Who asked is told of a failure; the next one begins all the same.
    this.#last = Promise.allSettled([result]).then(() => undefined);
    return result;
  }

  #delete(segment: Segment): void {
    if (segment === this.#current) this.#current = this.#begin(segment.number + 1);
    this.#bytes -= segment.size;
    this.#segments = this.#segments.filter((other) => other !== segment);
    this.#files.closeSync(segment.fd);
    rmSync(segment.path, { force: true });
  }
}

/** @throws SpoolCorrupt with the file */
function contentOf(path: string): ReturnType<typeof readSpool> {
  try {
    return readSpool(readFileSync(path));
  } catch (error) {
    if (error instanceof SpoolCorrupt) throw new SpoolCorrupt(error.offset, "a frame is spoiled", path);
    throw error;
  }
}
