/** A table of text, printed for a terminal or as Markdown. */
export interface Table {
  readonly title: string;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly string[])[];
}

export interface Column {
  readonly title: string;
  /** On a terminal; what is longer is not cut off. */
  readonly width: number;
  readonly isText?: boolean;
}

export function textHeading({ columns }: Pick<Table, "columns">): string {
  return textLine(
    columns,
    columns.map(({ title }) => title),
  );
}

/** Numbers stand right, text stands left. */
export function textLine(columns: readonly Column[], cells: readonly string[]): string {
  const padded = columns.map(({ width, isText }, at) => {
    const cell = cells[at] ?? "";
    return isText === true ? cell.padEnd(width) : cell.padStart(width);
  });
  return padded.join("  ").trimEnd();
}

export function textTable(table: Table): string {
  const lines = table.rows.map((cells) => textLine(table.columns, cells));
  return [table.title, textHeading(table), ...lines].join("\n");
}

export function markdownTable({ title, columns, rows }: Table): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  const rule = columns.map(({ isText }) => (isText === true ? "---" : "---:"));
  return [
    `**${title}**`,
    "",
    line(columns.map((column) => column.title)),
    `|${rule.join("|")}|`,
    ...rows.map((cells) => line(columns.map((_, at) => cells[at] ?? ""))),
  ].join("\n");
}
