import type { Failure, Gate } from "./gates/gate.ts";
import { type BatchLine, type MendedLine, type ResultLine, isBatch, isMended } from "./results.ts";
import { batchesOf, totalsOf } from "./totals.ts";

/** Between these lines a page holds the table, which is made from the file of results. */
const TABLE_BEGINS = "<!-- gates: made by npm run gates -- --table -->";
const TABLE_ENDS = "<!-- gates end -->";

/**
 * The table of a page: totals for the code as it is, totals ever, and the failures.
 * @param hashOf the hash of a gate's sources as they are
 */
export function tableOf(gates: readonly Gate[], lines: readonly ResultLine[], hashOf: (gate: Gate) => string): string {
  const rows = gates.map((gate) => {
    const ever = batchesOf(lines, gate.name);
    const ofNow = batchesOf(lines, gate.name, hashOf(gate));
    const [here, all] = [totalsOf(ofNow), totalsOf(ever)];
    const commits = [...new Set(ofNow.map(({ commit }) => `\`${commit}\``))].join(", ");
    const open = failuresOf(lines).filter(({ batch, mended }) => ofNow.includes(batch) && mended === null);
    const isReached = here.count >= gate.firstStop && open.length === 0 ? "reached" : "";
    return `| ${gate.name} | ${gate.counts} | ${number(here.count)} | ${commits} | ${here.failures} | ${number(
      gate.firstStop,
    )} | ${isReached} | ${number(gate.toReach)} | ${number(all.count)} | ${all.failures} | ${hours(all.seconds)} |`;
  });
  return [
    "| gate | counts | on this code | run at | failures | first stop | | for a release | ever | failures ever | took |",
    "|---|---|---|---|---|---|---|---|---|---|---|",
    ...rows,
    "",
    ...figureLines(gates, lines, hashOf),
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

function figureLines(
  gates: readonly Gate[],
  lines: readonly ResultLine[],
  hashOf: (gate: Gate) => string,
): readonly string[] {
  return gates.flatMap((gate) => {
    const { name, means = {} } = gate;
    const { figures, count } = totalsOf(batchesOf(lines, name, hashOf(gate)));
    const told = folded(figures)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([figure, sum]) => {
        const by = means[figure];
        if (by === undefined) return `${figure} ${number(sum)}`;
        return `${figure} ${(sum / (by === null ? count : (figures.get(by) ?? 0))).toFixed(1)} each`;
      });
    return told.length === 0 ? [] : [`- \`${name}\` on that code: ${told.join("; ")}.`];
  });
}

/** Hundreds of figures begin with this. The table has how many. */
const COVERED = "covered: ";

function folded(figures: ReadonlyMap<string, number>): (readonly [string, number])[] {
  const shown = [...figures].filter(([name]) => !name.startsWith(COVERED));
  const covered = figures.size - shown.length;
  return covered === 0 ? shown : [...shown, ["kinds covered", covered]];
}

interface ShownFailure {
  readonly batch: BatchLine;
  readonly failure: Failure;
  /** null: not yet. */
  mended: MendedLine["mended"] | null;
}

/** More failures of a batch that one commit has mended have one row, with the first of them. */
const ROWS_MAX = 4;

function failureLines(lines: readonly ResultLine[]): readonly string[] {
  const batches = lines.filter(isBatch).length;
  const shown = failuresOf(lines);
  if (shown.length === 0) return [batches === 0 ? "No batch has been run." : "No batch has had a failure."];
  return ["| failure | seed | on | what | mended by |", "|---|---|---|---|---|", ...alikeIn(shown).flatMap(rowsOf)];
}

/** Failures of one batch that one commit has mended are together; each that is open is alone. */
function alikeIn(shown: readonly ShownFailure[]): readonly (readonly ShownFailure[])[] {
  const groups: ShownFailure[][] = [];
  for (const each of shown) {
    const { batch, mended } = each;
    const isAlike = ([first]: readonly ShownFailure[]): boolean =>
      mended !== null &&
      first?.batch === batch &&
      first.mended?.commit === mended.commit &&
      first.mended.in === mended.in;
    const group = groups.find(isAlike);
    if (group === undefined) groups.push([each]);
    else group.push(each);
  }
  return groups;
}

function rowsOf(group: readonly ShownFailure[]): readonly string[] {
  const isFolded = group.length > ROWS_MAX;
  const others = isFolded ? ` and ${group.length - 1} more of that batch` : "";
  return (isFolded ? group.slice(0, 1) : group).map(({ batch, failure, mended }) => {
    const where = mended?.in === "judge" ? ", in what runs and judges" : "";
    const by = mended === null ? "not yet" : `\`${mended.commit}\`${where}`;
    return `| ${batch.gate} | ${failure.seed}${others} | \`${batch.commit}\` | ${cell(failure.what)} | ${by} |`;
  });
}

/** A commit mends what was seen before it; the same seed that fails later is another failure. */
function failuresOf(lines: readonly ResultLine[]): readonly ShownFailure[] {
  const shown: ShownFailure[] = [];
  for (const line of lines) {
    if (isBatch(line)) {
      for (const failure of line.failures) shown.push({ batch: line, failure, mended: null });
      continue;
    }
    if (!isMended(line)) continue;
    const { mended } = line;
    for (const each of shown) {
      const isIt = each.batch.gate === mended.gate && each.failure.seed === mended.seed;
      if (isIt && (each.mended === null || each.mended.commit === mended.commit)) each.mended = mended;
    }
  }
  return shown;
}

/** Characters of a failure; the file has all of it. */
const CELL_MAX = 400;

function cell(text: string): string {
  const shown = text.length > CELL_MAX ? `${text.slice(0, CELL_MAX)}…` : text;
  return shown.replaceAll("|", "\\|").replaceAll("\n", " ");
}

function number(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function hours(seconds: number): string {
  return `${(seconds / 3600).toFixed(1)} h`;
}
