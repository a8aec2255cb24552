/** A file of lines that grows, is rotated and is read on where an earlier run has ended. */
import { createHash, createHmac, randomBytes } from "node:crypto";
import { closeSync, fstatSync, openSync, readFileSync, readSync, readdirSync, statSync } from "node:fs";
import type { Stats } from "node:fs";
import { basename, dirname, join } from "node:path";
import { asCliError, replaceDurably } from "../files/read-input.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { LineSplitter } from "./lines.ts";

const CHUNK_BYTES = 1024 * 1024;
const NEWLINE_BYTES = 1;
const SEED_BYTES = 32;

/** How far a file was recorded. It is saved before its lines are recorded, and again behind them. */
interface TailState {
  readonly file: string;
  readonly inode: number;
  /** Up to here every line is recorded, and durable. */
  readonly offset: number;
  /** The `when` of the lines from there on: recorded again they are the same events. */
  readonly when: string;
  /**
   * Makes the salts of those lines, and is forgotten once they are durable: nobody can make the salt of a line again
   * whose envelope was deleted.
   */
  readonly saltSeed: string;
  /** Makes the ids of the lines, with generation, inode and offset. */
  readonly seed: string;
  /** How often a file was begun: an inode and its offsets may come again with other lines. */
  readonly generation: number;
}

/** A line, with what makes it the same event whenever it is recorded. */
export interface FollowedLine {
  readonly line: Uint8Array;
  readonly when: string;
  readonly clientEventId: string;
  /** For the envelope, if it is to have one: 64 hex digits. */
  readonly salt: string;
}

/** Lines that were read together; `settle` once all of them are durable. */
export interface FollowedChunk {
  readonly lines: readonly FollowedLine[];
  settle(): void;
}

export class FollowedFile {
  readonly #path: string;
  readonly #statePath: string;
  #state: TailState;
  #fd: number | null = null;
  /** The file was rotated while nobody followed it, and its rest cannot be found. */
  readonly #onGap: (message: string) => void;

  private constructor(path: string, statePath: string, state: TailState, onGap: (message: string) => void) {
    this.#path = path;
    this.#statePath = statePath;
    this.#state = state;
    this.#onGap = onGap;
  }

  /** @throws CliError: the state is of another file, or cannot be read */
  static open(path: string, statePath: string, onGap: (message: string) => void): FollowedFile {
    const state = loadState(statePath) ?? {
      file: path,
      inode: 0,
      offset: 0,
      when: "",
      saltSeed: "",
      seed: randomBytes(SEED_BYTES).toString("hex"),
      generation: 0,
    };
    if (state.file === path) return new FollowedFile(path, statePath, state, onGap);
    const message = `${statePath} is of ${state.file}: one folder for each file that is followed`;
    throw new CliError(EXIT.usage, "tail_of_another_file", message);
  }

  /** @throws CliError: there is no such file, and none was read before; who follows may wait for one instead */
  assertThere(): void {
    if (this.#state.inode !== 0 || statSync(this.#path, { throwIfNoEntry: false }) !== undefined) return;
    throw unreadable(this.#path, "there is no such file");
  }

  /** The next whole lines; null: there are none now. @throws CliError: it is no file of lines */
  next(): FollowedChunk | null {
    for (;;) {
      if (this.#fd === null && !this.#openWhereItEnded()) return null;
      const chunk = this.#read();
      if (chunk !== null) return chunk;
      if (!this.#isRotated()) return null;
      this.#leave();
    }
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }

  /** @returns false: there is no file yet */
  #openWhereItEnded(): boolean {
    const { inode } = this.#state;
    const current = statSync(this.#path, { throwIfNoEntry: false });
    if (current?.isDirectory() === true) throw unreadable(this.#path, "it is a folder");
    if (current?.isFile() === false) throw unreadable(this.#path, "it is no regular file; record --stdin takes lines");
    const isCurrent = inode === 0 || current?.ino === inode;
    const path = isCurrent ? this.#path : fileOf(inode, this.#path);
    if (path !== null && statSync(path, { throwIfNoEntry: false }) !== undefined) this.#fd = openSync(path, "r");
    else if (current === undefined) return false;
    else {
      this.#onGap(`${this.#path} was rotated, and the file that it was is not beside it: lines may be missing`);
      this.#fd = openSync(this.#path, "r");
    }
    const { ino, size } = fstatSync(this.#fd);
    if (ino !== inode || isShorter(size, this.#state)) this.#state = begun(this.#state, ino);
    return true;
  }

  #read(): FollowedChunk | null {
    const fd = this.#fd;
    if (fd === null) return null;
    const { offset: start } = this.#state;
    const splitter = new LineSplitter();
    const lines: Uint8Array[] = [];
    let at = start;
    while (lines.length === 0) {
      const bytes = Buffer.allocUnsafe(CHUNK_BYTES);
      const count = readSync(fd, bytes, 0, CHUNK_BYTES, at);
      if (count === 0) break;
      at += count;
      lines.push(...splitter.take(bytes.subarray(0, count)));
    }
    // The end of a file that was rotated has no newline to wait for.
    if (lines.length === 0 && splitter.begun.length > 0 && this.#isRotated()) lines.push(splitter.begun);
    if (lines.length === 0) return null;
    const when = this.#state.when === "" ? new Date().toISOString() : this.#state.when;
    const saltSeed = this.#state.saltSeed === "" ? randomBytes(SEED_BYTES).toString("hex") : this.#state.saltSeed;
    this.#save({ ...this.#state, when, saltSeed });
    let offset = start;
    const followed = lines.map((line) => {
      const clientEventId = idOf(this.#state, offset);
      offset += line.length + NEWLINE_BYTES;
      return { line, when, clientEventId, salt: saltOf(saltSeed, clientEventId) };
    });
    return { lines: followed, settle: () => this.#save({ ...this.#state, offset, when: "", saltSeed: "" }) };
  }

  /** Another file has its name, or it was emptied. */
  #isRotated(): boolean {
    const current = statSync(this.#path, { throwIfNoEntry: false });
    if (current === undefined || this.#fd === null) return false;
    return current.ino !== this.#state.inode || isShorter(current.size, this.#state);
  }

  #leave(): void {
    const { ino } = statSync(this.#path);
    const between =
      this.#fd === null || ino === this.#state.inode ? null : newerThan(fstatSync(this.#fd), ino, this.#path);
    if (between !== null) {
      this.#onGap(`${this.#path} was rotated more than once, and ${between} was not followed: lines may be missing`);
    }
    this.close();
    this.#save(begun(this.#state, ino));
  }

  #save(state: TailState): void {
    this.#state = state;
    replaceDurably(this.#statePath, `${JSON.stringify(state)}\n`, 0o600);
  }
}

/** A file from its beginning: none of its lines is one that was recorded. */
function begun(state: TailState, inode: number): TailState {
  return { ...state, inode, offset: 0, when: "", saltSeed: "", generation: state.generation + 1 };
}

/** Whether the file was emptied. A last line without a newline counts as if it had one. */
function isShorter(size: number, { offset }: TailState): boolean {
  return size < offset - NEWLINE_BYTES;
}

/** The file and those beside it whose names begin alike. */
function siblingsOf(path: string): (Stats & { readonly path: string })[] {
  const folder = dirname(path);
  const names = readdirSync(folder).filter((name) => name.startsWith(basename(path)));
  return names.flatMap((name) => {
    const sibling = join(folder, name);
    const found = statSync(sibling, { throwIfNoEntry: false });
    return found === undefined ? [] : [Object.assign(found, { path: sibling })];
  });
}

/** The file that has this inode now, beside the one that it was. */
function fileOf(inode: number, path: string): string | null {
  return siblingsOf(path).find(({ ino }) => ino === inode)?.path ?? null;
}

/** A file that was written after the one that is left and is not the present one; null: there is none. */
function newerThan(left: Stats, present: number, path: string): string | null {
  const found = siblingsOf(path).find((sibling) => {
    const isOther = sibling.ino !== left.ino && sibling.ino !== present;
    return isOther && sibling.isFile() && sibling.size > 0 && sibling.mtimeMs > left.mtimeMs;
  });
  return found?.path ?? null;
}

/** A state of an earlier release has no generation until a file is begun: its lines keep their ids. */
function idOf({ seed, inode, generation }: TailState, offset: number): string {
  const place = generation === 0 ? `${inode}:${offset}` : `${generation}:${inode}:${offset}`;
  return createHash("sha256").update(`${seed}:${place}`).digest("hex").slice(0, 32);
}

/** No line's salt says anything about another's. */
function saltOf(saltSeed: string, clientEventId: string): string {
  return createHmac("sha256", Buffer.from(saltSeed, "hex")).update(clientEventId).digest("hex");
}

function unreadable(path: string, reason: string): CliError {
  return new CliError(EXIT.usage, "cannot_read", `cannot read ${path}: ${reason}`);
}

function loadState(path: string): TailState | null {
  try {
    const state = JSON.parse(readFileSync(path, "utf8")) as TailState | null;
    if (typeof state?.file !== "string") throw new SyntaxError("no state");
    return { ...state, generation: state.generation ?? 0, saltSeed: state.saltSeed ?? "" };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    if (error instanceof SyntaxError)
      throw new CliError(EXIT.usage, "tail_state_malformed", `${path} is no state of tail`);
    throw asCliError(path, "read", error);
  }
}
