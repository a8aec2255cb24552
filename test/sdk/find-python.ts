import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const PYTHON_PACKAGE = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "packages", "sdk-python");

/**
 * The interpreter that ci.sh of the SDK has set up, or one of the machine.
 * @param requirements a program that ends with 0 if the interpreter will do
 * @returns null: there is none
 */
export function findPython(requirements: string): string | null {
  const candidates = [
    process.env["EVENT_ANCHORING_PYTHON"],
    join(PYTHON_PACKAGE, ".venv", "bin", "python"),
    "python3",
    "python",
  ];
  for (const candidate of candidates) {
    if (candidate === undefined || (candidate.includes("/") && !existsSync(candidate))) continue;
    if (spawnSync(candidate, ["-c", requirements], { stdio: "ignore" }).status === 0) return candidate;
  }
  return null;
}
