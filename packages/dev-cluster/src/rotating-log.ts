import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";

export interface RotatingLogOptions {
  readonly path: string;
  /** One file is at most this long; two are kept: `<path>` and `<path>.1`. */
  readonly bytesMax?: number;
}

const DEFAULT_BYTES_MAX = 8 * 1024 * 1024;
const TAIL_BYTES = 4096;

/** A log file that cannot fill the disk. Writes are synchronous: what a dying process said is in the file. */
export class RotatingLog {
  readonly #path: string;
  readonly #bytesMax: number;
  #file: number | null;
  #size: number;
  #tail = "";

  constructor(options: RotatingLogOptions) {
    this.#path = options.path;
    this.#bytesMax = options.bytesMax ?? DEFAULT_BYTES_MAX;
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    this.#file = openSync(this.#path, "a", 0o600);
    this.#size = fstatSync(this.#file).size;
  }

  /** The newest line that was written for people (not a JSON record); empty if there is none. */
  get newestRemark(): string {
    const lines = this.#tail.split("\n").map((line) => line.trim());
    return lines.findLast((line) => line !== "" && !line.startsWith("{") && !line.endsWith("}")) ?? "";
  }

  /** What comes after `close` is dropped: the pipe of an ended process may still hold some. */
  write(chunk: Uint8Array): void {
    if (this.#file === null) return;
    if (this.#size > 0 && this.#size + chunk.length > this.#bytesMax) this.#file = this.#rotated(this.#file);
    writeSync(this.#file, chunk);
    this.#size += chunk.length;
    this.#tail = (this.#tail + Buffer.from(chunk).toString("utf8")).slice(-TAIL_BYTES);
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #rotated(file: number): number {
    closeSync(file);
    renameSync(this.#path, `${this.#path}.1`);
    this.#size = 0;
    return openSync(this.#path, "a", 0o600);
  }
}
