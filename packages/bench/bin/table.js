#!/usr/bin/env node
// The JSON of `npm run bench -- --json` as Markdown: printed, or written between the marks of a document.
//   node packages/bench/bin/table.js <figures.json> ... [--into docs/benchmarks.md]
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { makeBuild } from "./build.js";

makeBuild();
const { mergedReport, parseReport, reportAsMarkdown, withFigures } = await import("../dist/index.js");
const { values, positionals } = parseArgs({ options: { into: { type: "string" } }, allowPositionals: true });
if (positionals.length === 0) {
  process.stderr.write("Usage: node packages/bench/bin/table.js <figures.json> ... [--into <document.md>]\n");
  process.exit(2);
}
const figures = reportAsMarkdown(mergedReport(positionals.map((source) => parseReport(readFileSync(source, "utf8")))));
if (values.into === undefined) process.stdout.write(`${figures}\n`);
else writeFileSync(values.into, withFigures(readFileSync(values.into, "utf8"), figures));
