/** A file of lines that grows, is rotated and is read on where an earlier run has ended. */
import { createHash, randomBytes } from "node:crypto";
import { closeSync, fstatSync, openSync, readFileSync, readSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { asCliError, replaceDurably } from "../files/read-input.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { LineSplitter } from "./lines.ts";

const CHUNK_BYTES = 1024 * 1024;
const NEWLINE_BYTES = 1;

/** How far a file was recorded. It is saved before its lines are recorded, and again behind them. */
interface TailState {
  readonly file: string;
  readonly inode: number;
  /** Up to here every line is recorded, and durable. */
  readonly offset: number;
  /** The `when` of the lines from there on: recorded again they are the same events. */
  readonly when: string;
  /** Makes the ids of the lines, with inode and offset. */
  readonly seed: string;
}

/** A line, with what makes it the same event whenever it is recorded. */
export interface FollowedLine {
  readonly line: Uint8Array;
  readonly when: string;
  readonly clientEventId: string;
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
      seed: randomBytes(32).toString("hex"),
    };
    if (state.file === path) return new FollowedFile(path, statePath, state, onGap);
    const message = `${statePath} is of ${state.file}: one folder for each file that is followed`;
    throw new CliError(EXIT.usage, "tail_of_another_file", message);
  }

  /** The next whole lines; null: there are none now. */
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
    const isCurrent = inode === 0 || current?.ino === inode;
    const path = isCurrent ? this.#path : fileOf(inode, this.#path);
    if (path !== null && statSync(path, { throwIfNoEntry: false }) !== undefined) this.#fd = openSync(path, "r");
    else if (current === undefined) return false;
    else {
      this.#onGap(`${this.#path} was rotated, and the file that it was is not beside it: lines may be missing`);
      this.#fd = openSync(this.#path, "r");
    }
    const { ino, size } = fstatSync(this.#fd);
    if (ino !== inode) this.#state = { ...this.#state, inode: ino, offset: 0 };
    else if (size < this.#state.offset) this.#state = { ...this.#state, offset: 0 };
    return true;
  }

  #read(): FollowedChunk | null {
    const fd = this.#fd;
    if (fd === null) return null;
    const { offset: start, inode, seed } = this.#state;
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
    this.#save({ ...this.#state, when });
    let offset = start;
    const followed = lines.map((line) => {
      const clientEventId = idOf(seed, inode, offset);
      offset += line.length + NEWLINE_BYTES;
      return { line, when, clientEventId };
    });
    return { lines: followed, settle: () => this.#save({ ...this.#state, offset, when: "" }) };
  }

  /** Another file has its name, or it was emptied. */
  #isRotated(): boolean {
    const current = statSync(this.#path, { throwIfNoEntry: false });
    if (current === undefined || this.#fd === null) return false;
    return current.ino !== this.#state.inode || current.size < this.#state.offset - NEWLINE_BYTES;
  }

  #leave(): void {
    this.close();
    const { ino } = statSync(this.#path);
    this.#save({ ...this.#state, inode: ino, offset: 0, when: "" });
  }

  #save(state: TailState): void {
    this.#state = state;
    replaceDurably(this.#statePath, `${JSON.stringify(state)}\n`, 0o600);
  }
}

/** The file that has this inode now, beside the one that it was. */
function fileOf(inode: number, path: string): string | null {
  const folder = dirname(path);
  const names = readdirSync(folder).filter((name) => name.startsWith(basename(path)));
  const found = names.find((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.ino === inode);
  return found === undefined ? null : join(folder, found);
}

function idOf(seed: string, inode: number, offset: number): string {
  return createHash("sha256").update(`${seed}:${inode}:${offset}`).digest("hex").slice(0, 32);
}

function loadState(path: string): TailState | null {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as TailState;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    if (error instanceof SyntaxError)
      throw new CliError(EXIT.usage, "tail_state_malformed", `${path} is no state of tail`);
    throw asCliError(path, "read", error);
  }
}
