import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

/** The file of the sums, as `sha256sum --check` reads it. */
export const SUMS_FILE = "SHA256SUMS";

/** @returns 64 lower-case hex digits */
async function fileSha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

/** A line for each file, sorted by name, byte by byte. */
export async function sumsOf(folder: string, files: readonly string[]): Promise<string> {
  const sorted = [...files].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const lines: string[] = [];
  for (const file of sorted) lines.push(`${await fileSha256(join(folder, file))}  ${file}\n`);
  return lines.join("");
}
