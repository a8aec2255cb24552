/** The shared vectors, as tests read them. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** @returns what the file holds; its reader says of which shape that is */
export function vectors(name: string): unknown {
  const path = fileURLToPath(new URL(`../../../test/vectors/${name}.json`, import.meta.url));
  return JSON.parse(readFileSync(path, "utf8"));
}

/** Sets the members at RFC 6901 pointers, as bundle.json describes its bad cases. */
export function changed(document: unknown, changes: readonly { at: string; to?: unknown }[]): unknown {
  const copy: unknown = structuredClone(document);
  for (const { at, to } of changes) {
    const path = at.split("/").slice(1);
    const last = path.pop() ?? "";
    let target = copy as Record<string, unknown>;
    for (const name of path) target = target[name] as Record<string, unknown>;
    target[last] = structuredClone(to);
  }
  return copy;
}
