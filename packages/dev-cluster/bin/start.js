#!/usr/bin/env node
// `npm start`. Committed as it runs, so that it exists before the first build; it makes the build when that is missing
// or older than the sources, then starts the cluster.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const built = join(here, "../dist/index.js");
const checkout = join(here, "../../..");
const compiler = join(checkout, "node_modules/typescript/bin/tsc");

if (existsSync(join(checkout, "tsconfig.json")) && existsSync(compiler)) {
  if (!existsSync(built)) process.stdout.write("  … building (first start only)\n");
  const run = async (...args) => {
    const [code] = await once(
      spawn(process.execPath, args, { cwd: checkout, stdio: ["ignore", "inherit", "inherit"] }),
      "exit",
    );
    return code === 0;
  };
  const outcomes = await Promise.all([
    run(compiler, "-b", "packages/dev-cluster", "packages/cli"),
    run("packages/explorer/scripts/build-page.js"),
  ]);
  if (outcomes.includes(false)) {
    process.stderr.write("The build failed; the messages above say where.\n");
    process.exit(1);
  }
}

const { startCommand } = await import("../dist/index.js");
process.exitCode = await startCommand(process.argv.slice(2), process.stdout);
// Nothing may keep a stopped supervisor alive: not a pipe, not a timer.
process.exit();
