#!/usr/bin/env node
// Builds the site of the documentation, from the build of this checkout.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const HELP = `Usage: node packages/site/bin/build-site.js [folder]

Writes the site of the documentation into the folder, in place of what was there. Default: dist/site of this package.

  --help, --version print this, or the version
`;
const { values, positionals } = argumentsOf();
if (values.help) process.stdout.write(HELP);
else if (values.version) process.stdout.write(`site ${versionHere()}\n`);
else {
  const { buildSite } = await import("../dist/index.js");
  await buildSite(positionals[0] ?? fileURLToPath(new URL("../dist/site", import.meta.url)));
}

function argumentsOf() {
  try {
    const options = { help: { type: "boolean" }, version: { type: "boolean" } };
    const parsed = parseArgs({ options, allowPositionals: true });
    if (parsed.positionals.length <= 1) return parsed;
    process.stderr.write(`one folder, not ${parsed.positionals.length}\n${HELP}`);
  } catch (error) {
    process.stderr.write(`${error.message}\n${HELP}`);
  }
  process.exit(2);
}

function versionHere() {
  return JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version;
}
