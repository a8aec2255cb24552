#!/usr/bin/env node
/** Speaks JSON lines on stdin and stdout with the tests that hold the SDKs against one another. Needs the build. */
import { createInterface } from "node:readline";
import { crosscheck } from "../dist/crosscheck.js";

for await (const line of createInterface({ input: process.stdin })) {
  if (line !== "") process.stdout.write(`${crosscheck(line)}\n`);
}
