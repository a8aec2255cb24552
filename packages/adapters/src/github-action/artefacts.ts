/** The files of a build. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { ActionError } from "./runner.ts";

export const RECEIPT_ENDING = ".tlog-proof";

export interface Artefact {
  readonly path: string;
  /** From the workspace, with forward slashes. */
  readonly name: string;
  readonly size: number;
  /** SHA-256, 64 lower-case hex digits. */
  readonly hash: string;
}

/**
 * Files, and what is in folders, but for receipts; each once, in the order of their names.
 * @throws ActionError if a path is not there, or there is no file
 */
export async function artefactsOf(given: readonly string[], workspace: string): Promise<readonly Artefact[]> {
  const found = await Promise.all(given.map((path) => filesAt(resolve(workspace, path), path)));
  const paths = [...new Set(found.flat())].filter((path) => !path.endsWith(RECEIPT_ENDING)).sort();
  if (paths.length === 0) throw new ActionError(`there is no file in ${given.join(", ")}`);
  const artefacts: Artefact[] = [];
  // One after the other: a build may be larger than memory.
  for (const path of paths) artefacts.push(await artefactAt(path, workspace));
  return artefacts;
}

async function filesAt(path: string, given: string): Promise<readonly string[]> {
  const found = await stat(path).catch((cause: unknown) => {
    throw new ActionError(`${given} is not there`, { cause });
  });
  if (found.isFile()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

async function artefactAt(path: string, workspace: string): Promise<Artefact> {
  const hash = createHash("sha256");
  let size = 0;
  await pipeline(createReadStream(path), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) {
      hash.update(chunk);
      size += chunk.length;
    }
  });
  return { path, name: relative(workspace, path).split(sep).join("/"), size, hash: hash.digest("hex") };
}
