import { mkdirSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { InvalidInput } from "../errors.ts";
import { SpoolCorrupt, SpoolFull, SpoolWriteFailed } from "./errors.ts";
import { FILE_MODE, FOLDER_MODE, codeOf, parentsOf, syncParents } from "./files.ts";
import type { RecorderFiles } from "./files.ts";
import { frameLength, readSpool, writeFrame } from "./spool-frame.ts";
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
  events: number;
  /** Up to here it is synced. */
  synced: number;
  /** Events up to there. */
  eventsSynced: number;
  /** Events in it that are not kept yet. */
  waiting: number;
  /** Kept files of its events, to be synced before it is deleted. */
  kept: string[];
  /** It gets no more frames. */
  isEnded: boolean;
  /** A sync has failed: what is not synced by then never counts as durable here. */
  fault: SpoolWriteFailed | null;
  /** It is left for the next recorder of the folder: what its events are kept in may be lost with the power. */
  isLeft: boolean;
  isDeleted: boolean;
}

/** Where an event is. */
export interface SpoolPlace {
  readonly segment: Segment;
  readonly offset: number;
  readonly length: number;
}

/** Whether an event was recorded later than another one. */
export function isBehind(place: SpoolPlace, other: SpoolPlace): boolean {
  const [file, otherFile] = [place.segment.number, other.segment.number];
  return file === otherFile ? place.offset > other.offset : file > otherFile;
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
  /** Folders above it that are not synced yet. */
  #parents: ReadonlySet<string>;
  #bytes = 0;
  #bytesRefused = 0;
  #durable = 0;
  #faults: SpoolWriteFailed[] = [];
  #scratch = Buffer.allocUnsafe(SCRATCH_BYTES);
  /** Syncs and deletions go one after the other: a file is not closed while it is synced. */
  #last: Promise<void> = Promise.resolve();
  /** The sync that is asked for and has not begun. */
  #nextSync: Promise<void> | null = null;

  private constructor(
    { folder, firstMade }: { readonly folder: string; readonly firstMade: string | undefined },
    files: RecorderFiles,
    bytesMax: number,
    last: number,
  ) {
    this.#folder = folder;
    this.#parents = parentsOf(folder, firstMade);
    this.#files = files;
    this.#bytesMax = bytesMax;
    this.#current = this.#begin(last + 1);
  }

  /**
   * Reads what an earlier run has left, and begins a file of its own.
   * @param firstMade the highest folder above it that was made for it
   * @throws SpoolCorrupt nothing was changed then
   */
  static open(
    folder: string,
    files: RecorderFiles,
    bytesMax: number,
    firstMade?: string,
  ): { spool: Spool; events: RecoveredEvent[] } {
    mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
    const names = readdirSync(folder)
      .filter((name) => NAME.test(name))
      .sort();
    const read = names.map((name) => ({ name, ...contentOf(join(folder, name)) }));
    const last = Number(names.at(-1)?.slice(0, 16) ?? 0);
    const spool = new Spool({ folder, firstMade }, files, bytesMax, last);
    const events = read.flatMap(({ name, events: found, length }) => spool.#recover(name, found, length));
    return { spool, events };
  }

  /** Bytes that wait. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Events that would survive the loss of power, here or where they are kept. */
  get durable(): number {
    return this.#durable;
  }

  /** Bytes of the event that was refused last; 0: one was taken since. */
  get bytesRefused(): number {
    return this.#bytesRefused;
  }

  hasRoom(bytes: number): boolean {
    return this.#bytes + bytes <= this.#bytesMax;
  }

  /**
   * Returns once the event would survive the end of this process.
   * @throws InvalidInput, SpoolFull, SpoolWriteFailed nothing was recorded
   */
  append(event: SpooledEvent): SpoolPlace {
    const length = frameLength(event);
    if (length > this.#bytesMax) {
      throw new InvalidInput(
        "content",
        `it takes ${length} bytes of the spool, which never has more than ${this.#bytesMax}`,
      );
    }
    if (!this.hasRoom(length)) {
      this.#bytesRefused = length;
      throw new SpoolFull(this.#bytesMax);
    }
    const segment = this.#segmentForNext();
    const frame = length <= this.#scratch.length ? this.#scratch : Buffer.allocUnsafe(length);
    writeFrame(frame, 0, event);
    const offset = segment.size;
    this.#write(segment, frame, length);
    segment.size += length;
    segment.events++;
    segment.waiting++;
    this.#bytes += length;
    this.#bytesRefused = 0;
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

  /** Syncs what was appended before. What cannot be synced is told by `takeFaults`, and by `durable` of its events. */
  sync(): Promise<void> {
    this.#nextSync ??= this.#afterOthers(() => {
      this.#nextSync = null;
      return this.#syncNow();
    });
    return this.#nextSync;
  }

  /**
   * Resolves once the event would survive the loss of power.
   * @throws SpoolWriteFailed a sync of its file has failed: nobody can say whether it would
   */
  async whenDurable({ segment, offset, length }: SpoolPlace): Promise<void> {
    const isSynced = (): boolean => segment.isDeleted || offset + length <= segment.synced;
    if (!isSynced() && segment.fault === null) await this.sync();
    if (!isSynced() && segment.fault !== null) throw segment.fault;
  }

  /** What has failed since the last call. */
  takeFaults(): readonly SpoolWriteFailed[] {
    return this.#faults.splice(0);
  }

  /** The event is kept in these files, which are not synced yet; none: it was refused. */
  release({ segment }: SpoolPlace, paths: readonly string[]): void {
    segment.waiting--;
    segment.kept.push(...paths);
  }

  /**
   * Files of which every event is kept: their kept files are synced, then they are deleted. One call at a time.
   * Where that sync fails, the file stays: a second one may succeed though the first has lost what was written.
   */
  async clear(syncAll: (paths: readonly string[]) => Promise<void>): Promise<void> {
    for (const segment of this.#segments) {
      if (segment.waiting > 0 || segment.size === 0 || segment.isLeft) continue;
      const { size } = segment;
      try {
        await syncAll(segment.kept);
      } catch (cause) {
        segment.isLeft = true;
        segment.isEnded = true;
        // Nothing in it waits any more: others get its room.
        this.#bytes -= segment.size;
        const unsynced = `what was kept of ${segment.path} cannot be synced`;
        this.#faults.push(
          new SpoolWriteFailed(`${unsynced}: the next recorder of the folder keeps it again`, { cause }),
        );
        continue;
      }
      await this.#afterOthers(() => {
        // Something may have been recorded meanwhile: then the file is left until that is kept too.
        if (segment.size === size) this.#delete(segment);
        return Promise.resolve();
      });
    }
  }

  /** Syncs the files and lets go of them; empty ones are deleted. */
  close(): Promise<void> {
    return this.#afterOthers(async () => {
      await this.#syncNow();
      for (const { fd, path, size } of this.#segments) {
        this.#files.closeSync(fd);
        if (size === 0) rmSync(path, { force: true });
      }
      this.#segments = [];
    });
  }

  /** @throws SpoolWriteFailed */
  #segmentForNext(): Segment {
    const { number, path, size, isEnded } = this.#current;
    if (!isEnded && size < SEGMENT_BYTES) return this.#current;
    try {
      this.#current = this.#begin(number + 1);
    } catch (cause) {
      throw new SpoolWriteFailed(`no file can be made behind ${path} (${codeOf(cause)})`, { cause });
    }
    return this.#current;
  }

  #begin(number: number): Segment {
    const path = join(this.#folder, `${String(number).padStart(16, "0")}.spool`);
    return this.#add(number, path, this.#files.openSync(path, "wx+", FILE_MODE));
  }

  #add(number: number, path: string, fd: number): Segment {
    const counts = { size: 0, events: 0, synced: 0, eventsSynced: 0, waiting: 0 };
    const states = { isEnded: false, fault: null, isLeft: false, isDeleted: false };
    const segment: Segment = { number, path, fd, ...counts, kept: [], ...states };
    this.#segments.push(segment);
    return segment;
  }

  #recover(name: string, events: readonly SpooledEvent[], length: number): RecoveredEvent[] {
    const path = join(this.#folder, name);
    const fd = this.#files.openSync(path, "r+");
    this.#files.ftruncateSync(fd, length);
    if (length === 0) {
      this.#files.closeSync(fd);
      rmSync(path, { force: true });
      return [];
    }
    const segment = this.#add(Number(name.slice(0, 16)), path, fd);
    segment.size = length;
    segment.events = events.length;
    segment.waiting = events.length;
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
      throw new SpoolWriteFailed(`${segment.path} cannot be written (${codeOf(cause)})`, { cause });
    }
  }

  /** A part of a frame may be there. Where it cannot be cut off, a new file is begun: the end of any may be torn. */
  #cutBack(segment: Segment): void {
    try {
      this.#files.ftruncateSync(segment.fd, segment.size);
    } catch {
      // The next frame goes into another file, so nothing is ever written behind a torn frame.
      segment.isEnded = true;
    }
  }

  async #syncNow(): Promise<void> {
    for (const segment of this.#segments) {
      const { size, events, synced, fault } = segment;
      if (synced === size || fault !== null) continue;
      try {
        await this.#files.syncFile(segment.fd);
        if (synced === 0) await this.#files.syncPath(this.#folder);
        await syncParents(this.#files, this.#parents);
        this.#parents = new Set();
        segment.synced = size;
        this.#countDurable(segment, events);
      } catch (cause) {
        // The kernel may have dropped what it could not write, and say nothing of it at the next sync.
        segment.fault = new SpoolWriteFailed(`${segment.path} cannot be synced (${codeOf(cause)})`, { cause });
        segment.isEnded = true;
        this.#faults.push(segment.fault);
      }
    }
  }

  #countDurable(segment: Segment, events: number): void {
    this.#durable += events - segment.eventsSynced;
    segment.eventsSynced = events;
  }

  #afterOthers(run: () => Promise<void>): Promise<void> {
    const result = this.#last.then(run);
    // Who asked is told of a failure; the next one begins all the same.
    this.#last = Promise.allSettled([result]).then(() => undefined);
    return result;
  }

  #delete(segment: Segment): void {
    segment.isEnded = true;
    segment.isDeleted = true;
    this.#countDurable(segment, segment.events);
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
