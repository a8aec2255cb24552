import type { Failure, Gate } from "./gates/gate.ts";
import { type BatchLine, type ResultLine, isBatch } from "./results.ts";
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
  return gates.flatMap(({ name, means = {} }) => {
    const newest = batchesOf(lines, name).at(-1);
    if (newest === undefined) return [];
    const { figures, count } = totalsOf(batchesOf(lines, name, newest.sources));
    const told = [...figures]
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([figure, sum]) => {
        const by = means[figure];
        if (by === undefined) return `${figure} ${number(sum)}`;
        return `${figure} ${(sum / (by === null ? count : (figures.get(by) ?? 0))).toFixed(1)} each`;
      });
    return told.length === 0 ? [] : [`- \`${name}\` on that code: ${told.join("; ")}.`];
  });
}

interface ShownFailure {
  readonly batch: BatchLine;
  readonly failure: Failure;
  /** null: not yet. */
  mendedBy: string | null;
}

function failureLines(lines: readonly ResultLine[]): readonly string[] {
  const batches = lines.filter(isBatch).length;
  const shown = failuresOf(lines);
  if (shown.length === 0) return [batches === 0 ? "No batch has been run." : "No batch has had a failure."];
  return [
    "| failure | seed | on | what | mended by |",
    "|---|---|---|---|---|",
    ...shown.map(({ batch, failure, mendedBy }) => {
      const by = mendedBy === null ? "not yet" : `\`${mendedBy}\``;
      return `| ${batch.gate} | ${failure.seed} | \`${batch.commit}\` | ${cell(failure.what)} | ${by} |`;
    }),
  ];
}

/** A commit mends what was seen before it; the same seed that fails later is another failure. */
function failuresOf(lines: readonly ResultLine[]): readonly ShownFailure[] {
  const shown: ShownFailure[] = [];
  for (const line of lines) {
    if (isBatch(line)) {
      for (const failure of line.failures) shown.push({ batch: line, failure, mendedBy: null });
      continue;
    }
    const { gate, seed, commit } = line.mended;
    for (const each of shown) {
      if (each.batch.gate === gate && each.failure.seed === seed) each.mendedBy ??= commit;
    }
  }
  return shown;
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
