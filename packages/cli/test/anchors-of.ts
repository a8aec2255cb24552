/** Anchors of a page's headings, as readers of Markdown make them. */
export function anchorsOf(page: string): readonly string[] {
  const headings = page.match(/^#+ .*$/gmu) ?? [];
  return headings.map((line) =>
    line
      .replace(/^#+ /u, "")
      .toLowerCase()
      .replaceAll(/[^\w -]/gu, "")
      .replaceAll(" ", "-"),
  );
}
