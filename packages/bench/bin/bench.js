#!/usr/bin/env node
// `npm run bench`: makes the build if it is missing or old, then measures.
import { makeBuild } from "./build.js";

makeBuild();
const { benchCommand } = await import("../dist/index.js");
// The first Ctrl-C, or SIGTERM, ends the run in order, with the figures there are by then; the second one ends it.
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());
process.exitCode = await benchCommand(process.argv.slice(2), process.stdout, process.stderr, stop.signal);
