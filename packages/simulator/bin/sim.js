#!/usr/bin/env node
// `npm run sim`: makes the build if it is missing or old, then lives.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const checkout = fileURLToPath(new URL("../../..", import.meta.url));
const compiler = join(checkout, "node_modules/typescript/bin/tsc");
const isBuilt = process.argv.includes("--built");
const build = isBuilt
  ? { status: 0 }
  : spawnSync(process.execPath, [compiler, "-b", "packages/simulator"], {
      cwd: checkout,
      stdio: ["ignore", 2, 2],
    });
if (build.status !== 0) {
  process.stderr.write("The build failed; the messages above say where.\n");
  process.exit(1);
}

const { simCommand } = await import("../dist/index.js");
try {
  process.exitCode = await simCommand(process.argv.slice(2), process.stdout, process.stderr);
} catch (error) {
  if (!String(error?.code).startsWith("ERR_PARSE_ARGS")) throw error;
  process.stderr.write(`${error.message}\nnpm run sim -- --help says what there is\n`);
  process.exitCode = 2;
}
