/** The value below or at which a share p of all values lies (nearest rank). @param sorted ascending, not empty */
export function percentile(sorted: readonly number[], p: number): number {
  const rank = Math.max(1, Math.ceil(p * sorted.length));
  const value = sorted[rank - 1];
  if (value === undefined) throw new RangeError("no values");
  return value;
}

/** The nearest-rank median of values in any order. */
export function median(values: readonly number[]): number {
  return percentile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}
