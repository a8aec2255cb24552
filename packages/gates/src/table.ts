import type { Gate } from "./gates/gate.ts";
import { type ResultLine, isBatch } from "./results.ts";
import { batchesOf, totalsOf } from "./totals.ts";

/** Between these lines a page holds the table, which is made from the file of results. */
const TABLE_BEGINS = "<!-- gates: made by npm run gates -- --table -->";
const TABLE_ENDS = "<!-- gates end -->";

/** The table of a page: totals for the newest code that was run, totals ever, and every failure. */
export function tableOf(gates: readonly Gate[], lines: readonly ResultLine[]): string {
  const rows = gates.map((gate) => {
    const ever = batchesOf(lines, gate.name);
    const newest = ever.at(-1);
    const here = totalsOf(newest === undefined ? [] : batchesOf(lines, gate.name, newest.sources));
    const all = totalsOf(ever);
    const code = newest === undefined ? "–" : `\`${newest.commit}\``;
    return `| ${gate.name} | ${gate.counts} | ${code} | ${number(here.count)} | ${number(gate.firstStop)} | ${number(
      gate.toReach,
    )} | ${here.failures} | ${number(all.count)} | ${all.failures} | ${hours(all.seconds)} |`;
  });
  return [
    "| gate | counts | newest code | on it | first stop | for a release | failures | ever | failures ever | took |",
    "|---|---|---|---|---|---|---|---|---|---|",
    ...rows,
    "",
    ...figureLines(gates, lines),
    "",
    ...failureLines(lines),
  ].join("\n");
}

/** The page with the table as the file of results says it. Null: the page has no place for it. */
export function withTable(page: string, table: string): string | null {
  const [before, rest] = page.split(TABLE_BEGINS);
  const after = rest?.split(TABLE_ENDS)[1];
  if (before === undefined || after === undefined) return null;
  return `${before}${TABLE_BEGINS}\n\n${table}\n\n${TABLE_ENDS}${after}`;
}

function figureLines(gates: readonly Gate[], lines: readonly ResultLine[]): readonly string[] {
  return gates.flatMap(({ name }) => {
    const newest = batchesOf(lines, name).at(-1);
    if (newest === undefined) return [];
    const { figures } = totalsOf(batchesOf(lines, name, newest.sources));
    const told = [...figures].sort(([left], [right]) => (left < right ? -1 : 1));
    return told.length === 0
      ? []
      : [`- \`${name}\` on that code: ${told.map(([figure, sum]) => `${figure} ${number(sum)}`).join("; ")}.`];
  });
}

function failureLines(lines: readonly ResultLine[]): readonly string[] {
  const mended = new Map(
    lines.flatMap((line) => (isBatch(line) ? [] : [[`${line.mended.gate} ${line.mended.seed}`, line.mended.commit]])),
  );
  const failures = lines.filter(isBatch).flatMap((batch) => batch.failures.map((failure) => ({ batch, failure })));
  if (failures.length === 0) return ["No batch has had a failure."];
  return [
    "| failure | seed | on | what | mended by |",
    "|---|---|---|---|---|",
    ...failures.map(({ batch, failure }) => {
      const commit = mended.get(`${batch.gate} ${failure.seed}`);
      const by = commit === undefined ? "not yet" : `\`${commit}\``;
      return `| ${batch.gate} | ${failure.seed} | \`${batch.commit}\` | ${cell(failure.what)} | ${by} |`;
    }),
  ];
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}

function number(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function hours(seconds: number): string {
  return `${(seconds / 3600).toFixed(1)} h`;
}
