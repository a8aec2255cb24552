import { closeSync, fsyncSync, openSync, renameSync, writeSync } from "node:fs";

/** Replaces a private file (0600) so that a reader, or a start after a crash, sees the old text or the new one. */
export function writeAtomically(path: string, text: string): void {
  const partial = `${path}.${process.pid}.tmp`;
  const file = openSync(partial, "w", 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(partial, path);
}
