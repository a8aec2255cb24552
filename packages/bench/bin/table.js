#!/usr/bin/env node
// The JSON of `npm run bench -- --json` as Markdown: printed, or written between the marks of a document.
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { makeBuild } from "./build.js";

const HELP = `Usage: node packages/bench/bin/table.js <figures.json> ... [--into <document.md>]

Prints the figures of npm run bench -- --json as tables; several files are runs on one machine.

  --into FILE       writes them between the marks of this document
  --help, --version print this, or the version
`;
const { values, positionals } = argumentsOf();
if (values.help || values.version) {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  process.stdout.write(values.help ? HELP : `table ${version}\n`);
  process.exit();
}
if (positionals.length === 0) refuse("no figures");

makeBuild();
const { mergedReport, parseReport, reportAsMarkdown, withFigures } = await import("../dist/index.js");
const figures = reportAsMarkdown(mergedReport(positionals.map((source) => parseReport(readFileSync(source, "utf8")))));
if (values.into === undefined) process.stdout.write(`${figures}\n`);
else writeFileSync(values.into, withFigures(readFileSync(values.into, "utf8"), figures));

function argumentsOf() {
  const options = { into: { type: "string" }, help: { type: "boolean" }, version: { type: "boolean" } };
  try {
    return parseArgs({ options, allowPositionals: true });
  } catch (error) {
    return refuse(error.message);
  }
}

function refuse(why) {
  process.stderr.write(`${why}\n${HELP}`);
  process.exit(2);
}
