import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Makes the build if it is missing or old; ends the process if that fails. */
export function makeBuild() {
  const checkout = fileURLToPath(new URL("../../..", import.meta.url));
  const compiler = join(checkout, "node_modules/typescript/bin/tsc");
  // The compiler's words go to stderr: stdout belongs to the command.
  const build = spawnSync(process.execPath, [compiler, "-b", "packages/bench"], {
    cwd: checkout,
    stdio: ["ignore", 2, 2],
  });
  if (build.status === 0) return;
  process.stderr.write("The build failed; the messages above say where.\n");
  process.exit(1);
}
