// What the commands of this folder share: they run from the build of packages/provision, and make it if there is none.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const checkout = fileURLToPath(new URL("..", import.meta.url));
const built = join(checkout, "packages/provision/dist/index.js");

/** Runs the command with the arguments of this process; its exit code becomes that of the process. */
export async function run(name) {
  if (!existsSync(built)) {
    const compiler = join(checkout, "node_modules/typescript/bin/tsc");
    const options = { cwd: checkout, stdio: ["ignore", 2, 2] };
    const build = spawnSync(process.execPath, [compiler, "-b", "packages/provision"], options);
    if (build.status !== 0) {
      process.stderr.write(
        "The commands could not be built; run npm ci first. The messages above say what is wrong.\n",
      );
      process.exit(1);
    }
  }
  const { certsCommand } = await import(built);
  process.exitCode = await certsCommand(name, process.argv.slice(2), {
    write: (text) => process.stdout.write(text),
    error: (text) => process.stderr.write(text),
    workingDir: process.cwd(),
    nowMs: Date.now(),
  });
}
