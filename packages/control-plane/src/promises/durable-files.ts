import { open } from "node:fs/promises";

/** Writes a file that only its owner can read. Its bytes are durable when this resolves, its name is not. */
export async function writeDurably(path: string, bytes: Uint8Array | string): Promise<void> {
  const handle = await open(path, "w", 0o600);
  try {
    // The mode above applies to a new file only, and a crash may have left an old one.
    await handle.chmod(0o600);
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes the names in a folder durable. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
