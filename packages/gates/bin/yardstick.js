#!/usr/bin/env node
// A server that has nothing to do with the service, and does the same for each request all day: a little hashing, and
// a page written and flushed. How long it takes says what the machine does meanwhile. Its argument is a folder; it
// prints its port, and ends with its standard input.
import { createHash } from "node:crypto";
import { fdatasyncSync, openSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

if (process.argv.length !== 3) {
  process.stderr.write("Usage: yardstick.js <folder>: a part of the gate of days\n");
  process.exit(2);
}
const HASHES = 300;
const page = Buffer.alloc(4096);
const file = openSync(join(process.argv[2], "yardstick"), "w");

const server = createServer((request, response) => {
  for (let at = 0; at < HASHES; at++) createHash("sha256").update(page).digest().copy(page);
  writeSync(file, page, 0, page.length, 0);
  fdatasyncSync(file);
  response.end("{}");
});
// A connection is kept for as long as its client likes: a client that is late finds it open.
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
process.stdin.resume();
process.stdin.once("end", () => process.exit());
