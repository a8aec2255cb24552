import { spawnSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SOURCE = fileURLToPath(new URL("../../src/faults/forget.c", import.meta.url));
const PAGE = 4096;
const RECORD_HEAD = 16;
const WRITTEN_DURABLY = -1n;

/** What a power cut took from a node. */
export interface Forgotten {
  /** Files that held unsynced writes. */
  readonly files: number;
  /** Pages of 4 KiB that are as they were at the last sync of their file. */
  readonly pages: number;
  /** Unsynced pages that stay all the same, as the kernel may have written them. */
  readonly kept: number;
}

interface Journal {
  readonly path: string;
  readonly sizeBefore: number;
  /** As they were at the last sync, by number. */
  readonly pages: ReadonlyMap<number, Uint8Array>;
}

/**
 * Disks that lose what was not synced. A small library, compiled here and loaded into the processes of a node, keeps
 * what each unsynced write replaces; `forget` puts it back after they have ended by SIGKILL. `forget.c` says which
 * operations are forgotten. Linux, and a C compiler, are needed.
 */
export class ForgetfulDisks {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns why there are none on this machine. */
  static make(): ForgetfulDisks | { readonly missing: string } {
    if (process.platform !== "linux")
      return { missing: `the preloaded library is made for Linux, not ${process.platform}` };
    const folder = mkdtempSync(join(tmpdir(), "anchoring-forgetful-"));
    chmodSync(folder, 0o755);
    const options = ["-shared", "-fPIC", "-O2", "-o", join(folder, "forget.so"), SOURCE, "-ldl", "-lpthread"];
    const { status, stderr, error } = spawnSync("cc", options, { encoding: "utf8" });
    if (status === 0) return new ForgetfulDisks(folder);
    rmSync(folder, { recursive: true });
    return { missing: `the library does not compile: ${error?.message ?? stderr.trim()}` };
  }

  /**
   * What a process must be started with.
   * @param node whose power is cut as one
   * @param paths what the paths of its files contain
   */
  environment(node: string, paths: string): Readonly<Record<string, string>> {
    const journals = this.#journals(node);
    mkdirSync(journals, { recursive: true });
    // The processes of a node run as several users.
    chmodSync(journals, 0o777);
    return { LD_PRELOAD: join(this.#folder, "forget.so"), FORGET_JOURNALS: journals, FORGET_PATHS: paths };
  }

  /**
   * Takes from the files of a node what was not synced. All of its processes have ended.
   * @param isKept asked for each unsynced page: whether it has reached the disk all the same
   */
  forget(node: string, isKept: () => boolean): Forgotten {
    const folder = this.#journals(node);
    let [files, pages, kept] = [0, 0, 0];
    for (const name of readdirSync(folder)) {
      const journal = readJournal(readFileSync(join(folder, name)));
      rmSync(join(folder, name));
      if (journal === null || journal.pages.size === 0 || !isStillThere(journal.path, name)) continue;
      const lost = undo(journal, isKept);
      files += 1;
      pages += lost;
      kept += journal.pages.size - lost;
    }
    return { files, pages, kept };
  }

  close(): void {
    rmSync(this.#folder, { recursive: true });
  }

  #journals(node: string): string {
    return join(this.#folder, node);
  }
}

/** Another file may have its name now, or its inode. */
function isStillThere(path: string, name: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && `${found.dev}-${found.ino}` === name;
}

/** Null: the process ended before it had written the beginning. A record that was cut off was of no write. */
function readJournal(bytes: Buffer): Journal | null {
  const pathEnd = bytes.indexOf("\n");
  const headEnd = bytes.indexOf("\n", pathEnd + 1);
  if (pathEnd < 0 || headEnd < 0) return null;
  const sizeBefore = Number(bytes.toString("latin1", pathEnd + 1, headEnd));
  const pages = new Map<number, Uint8Array>();
  const durable = new Set<number>();
  for (let at = headEnd + 1; at + RECORD_HEAD + PAGE <= bytes.length; at += RECORD_HEAD + PAGE) {
    const page = Number(bytes.readBigInt64LE(at));
    const count = bytes.readBigInt64LE(at + 8);
    if (count === WRITTEN_DURABLY) {
      pages.delete(page);
      durable.add(page);
    } else if (!pages.has(page)) {
      pages.set(page, bytes.subarray(at + RECORD_HEAD, at + RECORD_HEAD + Number(count)));
    }
  }
  const durableEnd = Math.max(0, ...[...durable].map((page) => (page + 1) * PAGE));
  return { path: bytes.toString("utf8", 0, pathEnd), sizeBefore: Math.max(sizeBefore, durableEnd), pages };
}

/** @returns how many pages are as they were before */
function undo({ path, sizeBefore, pages }: Journal, isKept: () => boolean): number {
  const file = openSync(path, "r+");
  try {
    let end = sizeBefore;
    let lost = 0;
    const size = statSync(path).size;
    for (const [page, was] of pages) {
      if (isKept()) {
        end = Math.max(end, Math.min(size, (page + 1) * PAGE));
        continue;
      }
      lost += 1;
      const whole = Buffer.alloc(PAGE);
      whole.set(was);
      writeSync(file, whole, 0, PAGE, page * PAGE);
    }
    ftruncateSync(file, Math.min(end, Math.max(size, sizeBefore)));
    return lost;
  } finally {
    closeSync(file);
  }
}
