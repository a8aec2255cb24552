/** From the JSON of a run to the figures of a document. */
import type { Report } from "../figures/rows.ts";
import { tablesOf, warningsOf } from "./report-tables.ts";
import { markdownTable } from "../figures/table.ts";

const BEGIN = "<!-- figures: written by packages/bench/bin/table.js -->";
const END = "<!-- end of figures -->";

/** @throws for what `npm run bench -- --json` did not print */
export function parseReport(text: string): Report {
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null) throw new Error("not the JSON of a benchmark");
  const { format, rows, machine, ratios }: Partial<Record<keyof Report, unknown>> = value;
  if (format !== 1) throw new Error(`a benchmark of format ${String(format)}; this program reads format 1`);
  if (!Array.isArray(rows) || !Array.isArray(ratios) || typeof machine !== "object" || machine === null) {
    throw new Error("not the JSON of a benchmark: rows, ratios or machine are missing");
  }
  return value as Report;
}

/**
 * Merges runs on one machine, such as the usual one and a growth. The first says when and with what it was measured;
 * rows are compared within the run they are of.
 */
export function mergedReport(reports: readonly Report[]): Report {
  const [first, ...others] = reports;
  if (first === undefined) throw new Error("there is no report");
  return {
    ...first,
    rows: reports.flatMap(({ rows }) => rows),
    failed: reports.flatMap(({ failed }) => failed),
    ratios: reports.flatMap(({ ratios }) => ratios),
    receiptsVerified: others.reduce((sum, { receiptsVerified }) => sum + receiptsVerified, first.receiptsVerified),
  };
}

export function reportAsMarkdown(report: Report): string {
  const { machine, measuredAt, commit, secondsEach, receiptsVerified } = report;
  const memory = `${(machine.memoryMb / 1000).toFixed(0)} GB`;
  // The model and the kernel stand in the JSON: figures are compared within one machine, and with no other.
  const where = `${machine.cores} vCPU, ${memory}, Node ${machine.node}`;
  const etcd = machine.etcd === null ? "" : `, ${machine.etcd}`;
  const verified = `${receiptsVerified.toLocaleString("en")} receipts of sampled answers verified offline`;
  const when = `${measuredAt.slice(0, 10)}${commit === null ? "" : `, commit ${commit}`}`;
  return [
    ...warningsOf(report).map((warning) => `> **${warning}**\n`),
    `${when}; ${where}${etcd}; ${secondsEach} s each; ${verified}.`,
    "",
    tablesOf(report).map(markdownTable).join("\n\n"),
  ].join("\n");
}

/** The document with new figures between its two marks. @throws when it has none */
export function withFigures(document: string, figures: string): string {
  const from = document.indexOf(BEGIN);
  const to = document.indexOf(END);
  if (from < 0 || to < from) throw new Error(`the document has no place for figures: ${BEGIN} … ${END}`);
  return `${document.slice(0, from)}${BEGIN}\n\n${figures}\n\n${document.slice(to)}`;
}
