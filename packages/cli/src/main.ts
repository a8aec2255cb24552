#!/usr/bin/env node
import { anchorctl } from "./anchorctl.ts";

// Ctrl-C or a supervisor ends a watch and `tail` in order, and every other command at once.
const stop = new AbortController();
if (process.argv.some((argument, at) => argument.startsWith("--interval") || (at === 2 && argument === "tail"))) {
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());
}
// A reader that has gone (`| head`) ends a watch; every other command does what it began, unread.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    stop.abort();
  });
}
process.exitCode = await anchorctl(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  stdin: process.stdin,
  workingDir: process.cwd(),
  environment: process.env,
  signal: stop.signal,
});
