/** The command line as people install it: one file, which starts in less than half of the time of the checkout's. */
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const RELEASE = fileURLToPath(new URL("../../packages/release/bin/release.js", import.meta.url));

/** Makes it. @param folder where it goes; a new one @returns its path */
export function installAnchorctl(folder: string): string {
  execFileSync(process.execPath, [RELEASE, "--dry", "--only", "npm-anchorctl", "--out", folder], { stdio: "pipe" });
  const files = readdirSync(folder).filter((name) => /^anchorctl-.*\.js$/u.test(name));
  const [file] = files;
  if (file === undefined || files.length > 1) throw new Error(`the release has ${files.length} command lines`);
  return join(folder, file);
}
