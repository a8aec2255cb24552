#!/usr/bin/env node
/**
 * Writes the proof page as it is released: `verify.html`, and its SHA-256 in `verify.html.sha256`, as `sha256sum -c`
 * reads it. Both depend on the sources alone.
 *
 * Usage: make-release.js [folder]   default: dist/release of this package
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const SCRIPTS = fileURLToPath(new URL(".", import.meta.url));
const folder = resolve(process.argv[2] ?? join(SCRIPTS, "../dist/release"));
const page = join(folder, "verify.html");

const { status } = spawnSync(process.execPath, [join(SCRIPTS, "build-page.js"), page], { stdio: "inherit" });
if (status !== 0) process.exit(status ?? 1);
const sha256 = createHash("sha256").update(readFileSync(page)).digest("hex");
writeFileSync(`${page}.sha256`, `${sha256}  verify.html\n`);
process.stdout.write(`${page}\nSHA-256 ${sha256}\n`);
