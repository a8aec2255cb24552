#!/usr/bin/env node
// Committed as it runs, so that `npm ci` can link it before the first build; it makes the build if there is none.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
if (!existsSync(join(here, "../dist/index.js"))) {
  const checkout = join(here, "../../..");
  const compiler = join(checkout, "node_modules/typescript/bin/tsc");
  // The compiler's words go to stderr: stdout belongs to the command.
  const build = spawnSync(process.execPath, [compiler, "-b", "packages/cli"], {
    cwd: checkout,
    stdio: ["ignore", 2, 2],
  });
  if (build.status !== 0) {
    process.stderr.write("anchorctl could not be built; the messages above say where.\n");
    process.exit(70);
  }
}

const { refusalOf } = await import("../dist/doctor/node-js.js");
const [command, ...flags] = process.argv.slice(2);
const isDoctor = command === "doctor";
const refusal = refusalOf(process.versions.node, isDoctor && flags.includes("--json"));
if (refusal !== null) {
  // It is doctor's finding; any other command has failed by it.
  (isDoctor ? process.stdout : process.stderr).write(refusal);
  process.exit(isDoctor ? 1 : 70);
}

await import("../dist/main.js");
