/** The name that was probably meant: the same but for its case, or at most two letters from it. null: none is near. */
export function nearestName(given: string, names: readonly string[]): string | null {
  const wanted = given.toLowerCase();
  const distances = names.map((name) => distanceOf(wanted, name.toLowerCase()));
  const least = Math.min(...distances);
  return least <= 2 ? (names[distances.indexOf(least)] ?? null) : null;
}

/** Letters to add, leave out or change (Levenshtein). */
function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [at, letter] of one.split("").entries()) {
    const next = [at + 1];
    for (const [place, against] of other.split("").entries()) {
      const changed = (row[place] ?? 0) + (letter === against ? 0 : 1);
      next.push(Math.min(changed, (row[place + 1] ?? 0) + 1, (next[place] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
