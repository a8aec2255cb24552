import { spawnSync } from "node:child_process";

/** Where Chromium is: what CHROMIUM names, or what is on the PATH. Null: nowhere. */
export function findChromium(): string | null {
  const named = process.env["CHROMIUM"] ?? "";
  const { status, stdout } = spawnSync("which", [named === "" ? "chromium" : named], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : null;
}
