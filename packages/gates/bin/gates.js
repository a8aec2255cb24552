#!/usr/bin/env node
// `npm run gates`: makes the build if it is missing or old, then runs.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import setUpTemplates from "../../../test/run/set-up.js";

const checkout = fileURLToPath(new URL("../../..", import.meta.url));
const compiler = join(checkout, "node_modules/typescript/bin/tsc");
const build = spawnSync(process.execPath, [compiler, "-b"], { cwd: checkout, stdio: ["ignore", 2, 2] });
if (build.status !== 0) {
  process.stderr.write("The build failed; the messages above say where.\n");
  process.exit(1);
}

// A gate's next cluster copies the databases that the first one has made.
if (process.argv.some((argument) => argument.startsWith("--minutes"))) setUpTemplates();
const { gatesCommand } = await import("../dist/index.js");
// The first Ctrl-C, or SIGTERM, ends the run in order, and what was finished is kept; the second one ends it.
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());
// A reader that has gone (`| head`) ends it in order, too.
process.stdout.on("error", (error) => {
  if (error.code !== "EPIPE") throw error;
  stop.abort();
});
process.exitCode = await gatesCommand(process.argv.slice(2), process.stdout, process.stderr, stop.signal);
