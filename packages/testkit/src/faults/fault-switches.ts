import { spawnSync } from "node:child_process";
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SOURCE = fileURLToPath(new URL("../../src/faults/preload.c", import.meta.url));
const SWITCHES_BYTES = 16;
const SYNC_ERRNO_AT = 8;

/**
 * Faults inside processes: a small library, compiled here and loaded into them before all others, reads the faults of
 * its process from a file. Linux, and a C compiler, are needed.
 */
export class FaultSwitches {
  readonly #folder: string;
  readonly #files = new Map<string, number>();

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns why there are none on this machine. */
  static make(): FaultSwitches | { readonly missing: string } {
    if (process.platform !== "linux")
      return { missing: `the preloaded library is made for Linux, not ${process.platform}` };
    const folder = mkdtempSync(join(tmpdir(), "anchoring-switches-"));
    chmodSync(folder, 0o755);
    const options = ["-shared", "-fPIC", "-O2", "-o", join(folder, "preload.so"), SOURCE, "-ldl"];
    const { status, stderr, error } = spawnSync("cc", options, { encoding: "utf8" });
    if (status === 0) return new FaultSwitches(folder);
    rmSync(folder, { recursive: true });
    return { missing: `the library does not compile: ${error?.message ?? stderr.trim()}` };
  }

  /** What a process must be started with to be switched. */
  environment(process: string): Readonly<Record<string, string>> {
    const path = join(this.#folder, `${process.replaceAll(" ", "-")}.switches`);
    if (!this.#files.has(process)) {
      const file = openSync(path, "w", 0o644);
      writeSync(file, new Uint8Array(SWITCHES_BYTES));
      this.#files.set(process, file);
    }
    return { LD_PRELOAD: join(this.#folder, "preload.so"), FAULT_SWITCHES: path };
  }

  /** Its wall clock is so much ahead from now on, or behind. */
  setClock(process: string, offsetMs: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(offsetMs) * 1_000_000n);
    writeSync(this.#file(process), bytes, 0, bytes.length, 0);
  }

  /** Whether fsync and fdatasync fail with EIO. */
  setSyncFails(process: string, isFailing: boolean): void {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32LE(isFailing ? constants.errno.EIO : 0);
    writeSync(this.#file(process), bytes, 0, bytes.length, SYNC_ERRNO_AT);
  }

  /** Every switch off. */
  reset(): void {
    for (const file of this.#files.values()) writeSync(file, new Uint8Array(SWITCHES_BYTES), 0, SWITCHES_BYTES, 0);
  }

  close(): void {
    for (const file of this.#files.values()) closeSync(file);
    rmSync(this.#folder, { recursive: true });
  }

  #file(process: string): number {
    const file = this.#files.get(process);
    if (file === undefined) throw new Error(`${process} was not started with switches`);
    return file;
  }
}
