import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The root of the repository. */
export const CHECKOUT = fileURLToPath(new URL("../../..", import.meta.url));

/** Text of a file of the repository. */
export function textOf(path: string): string {
  return readFileSync(join(CHECKOUT, path), "utf8");
}
