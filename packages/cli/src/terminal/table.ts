import { stripVTControlCharacters } from "node:util";

/** Columns as wide as their widest cell, two spaces apart; nothing is cut. Colours take no room. */
export function alignColumns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, widthOf(cell));
    });
  }
  return rows.map((row) =>
    row
      .map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - widthOf(cell)))
      .join("  ")
      .trimEnd(),
  );
}

function widthOf(cell: string): number {
  return stripVTControlCharacters(cell).length;
}
