/**
 * Bugs in the processes of a node, for tests of what has to find them: modules in which a text was replaced when they
 * were loaded. Nothing of a build is changed.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { LoadHook } from "node:module";
import { fileURLToPath } from "node:url";

/** A bug in a module of the product. */
export interface PlantedCode {
  /** How the module's address ends. */
  readonly module: string;
  /** Compiled JavaScript, which is there once. */
  readonly text: string;
  readonly instead: string;
}

const HOOK = fileURLToPath(new URL("../../dist/faults/planted-code.js", import.meta.url));

/** What a process must be started with that has the bugs of this file, as long as it is there. */
export function planting(file: string): Readonly<Record<string, string>> {
  const program = `import { register } from "node:module"; register("file://${HOOK}");`;
  return {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(program)}`,
    PLANTED_CODE: file,
  };
}

export function plant(file: string, bugs: readonly PlantedCode[]): void {
  writeFileSync(file, JSON.stringify(bugs));
}

/** As Node asks for it of a module that is registered. @throws if a module is not as the bug wants it: it ends */
export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context);
  const file = process.env["PLANTED_CODE"];
  if (file === undefined || !existsSync(file)) return loaded;
  const bugs = (JSON.parse(readFileSync(file, "utf8")) as PlantedCode[]).filter(({ module }) => url.endsWith(module));
  if (bugs.length === 0) return loaded;
  const source = bugs.reduce(replaced, readFileSync(fileURLToPath(url), "utf8"));
  return { ...loaded, source };
};

function replaced(source: string, { module, text, instead }: PlantedCode): string {
  const parts = source.split(text);
  if (parts.length !== 2) throw new Error(`${module} does not have this once: ${text}`);
  return parts.join(instead);
}
