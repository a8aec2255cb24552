import { mkdir, open, readFile, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { systemCodeOf } from "../transport/system-code.ts";
import type { EvidenceFiles } from "../certification/evidence.ts";

const SUFFIX = ".notes";

/** Evidence as files of a folder, `<name>.notes`: PROTOCOL.md, "Evidence of a contradiction". */
export function evidenceFolder(folder: string): EvidenceFiles {
  return {
    load: async () => {
      const kept = new Map<string, string>();
      for (const name of await namesIn(folder)) kept.set(name, await readFile(join(folder, name), "utf8"));
      return kept;
    },
    keep: async (name, text) => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const path = join(folder, name);
      const file = await open(`${path}.new`, "w", 0o600);
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(`${path}.new`, path);
      const directory = await open(folder, "r");
      try {
        await directory.sync();
      } finally {
        await directory.close();
      }
    },
  };
}

/** A node that never met a contradiction has no folder. */
async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).filter((name) => name.endsWith(SUFFIX)).sort();
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return [];
    throw error;
  }
}
