import { spawnSync } from "node:child_process";
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statfsSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

type Kind = "ext4" | "tmpfs";

/** A small file system in the place of a folder, with what was in it, that can be filled to the last byte. */
export class SmallDisk {
  readonly kind: Kind;
  readonly #folder: string;
  readonly #image: string;

  private constructor(kind: Kind, folder: string, image: string) {
    this.kind = kind;
    this.#folder = folder;
    this.#image = image;
  }

  /** Which kind this machine allows: an ext4 image on a loop device, else memory; or why neither. */
  static kindHere(): Kind | { readonly missing: string } {
    const probe = mkdtempSync(join(tmpdir(), "anchoring-mount-"));
    try {
      const isExt4 = attempt(() => mountImage(join(probe, "image"), join(probe, "disk"), 8));
      if (isExt4 === null) {
        run("umount", join(probe, "disk"));
        return "ext4";
      }
      mkdirSync(join(probe, "memory"));
      const isTmpfs = attempt(() => run("mount", "-t", "tmpfs", "-o", "size=64k", "anchoring", join(probe, "memory")));
      if (isTmpfs !== null) return { missing: `${isExt4}; ${isTmpfs}` };
      run("umount", join(probe, "memory"));
      return "tmpfs";
    } finally {
      rmSync(probe, { recursive: true, force: true });
    }
  }

  /** Nothing may use the folder meanwhile. Its files stay beside it, as `<folder>-files`. */
  static under(folder: string, kind: Kind, mebibytes: number): SmallDisk {
    const image = `${folder}-image`;
    renameSync(folder, `${folder}-files`);
    if (kind === "ext4") mountImage(image, folder, mebibytes);
    else {
      mkdirSync(folder);
      run("mount", "-t", "tmpfs", "-o", `size=${mebibytes}m`, "anchoring", folder);
    }
    run("cp", "-pR", `${folder}-files/.`, folder);
    return new SmallDisk(kind, folder, image);
  }

  /** Takes every byte that is left. @returns what gives them back */
  fill(): () => void {
    const path = join(this.#folder, "filler");
    const file = openSync(path, "w");
    try {
      // A last piece that does not fit whole is written in part.
      for (const pieceBytes of [64 * 1024, 512]) fillWith(file, new Uint8Array(pieceBytes));
    } finally {
      closeSync(file);
    }
    return () => rmSync(path);
  }

  get freeBlocks(): number {
    return statfsSync(this.#folder).bavail;
  }

  /** Nothing may use the folder any more. */
  unmount(): void {
    run("umount", this.#folder);
    rmSync(this.#image, { force: true });
  }
}

function fillWith(file: number, piece: Uint8Array): void {
  try {
    for (;;) writeSync(file, piece);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}

/** Without blocks kept back for root: Postgres is not root, and full is full. */
function mountImage(image: string, folder: string, mebibytes: number): void {
  const file = openSync(image, "w");
  ftruncateSync(file, mebibytes * 1024 * 1024);
  closeSync(file);
  run("mkfs.ext4", "-q", "-F", "-m", "0", image);
  mkdirSync(folder);
  run("mount", "-o", "loop", image, folder);
}

function run(program: string, ...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${program}: ${error?.message ?? stderr.trim()}`);
}

/** Why it failed; null: it did not. */
function attempt(action: () => void): string | null {
  try {
    action();
    return null;
  } catch (error) {
    return String(error);
  }
}
