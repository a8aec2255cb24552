import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** The built entry point of a node process. */
export function processScript(packageName: "api" | "control-plane"): string {
  const entry = createRequire(import.meta.url).resolve(`@event-anchoring/${packageName}`);
  return join(dirname(dirname(entry)), "dist", "main.js");
}
