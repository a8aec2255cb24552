/** How single figures are written. */
import { median } from "../figures/percentile.ts";
import type { Row } from "../figures/rows.ts";

/** Three figures that count, with separators; an en dash where there is no number. */
export function number(value: number | null): string {
  // JSON writes null for what is no number.
  if (value === null || !Number.isFinite(value)) return "–";
  if (value >= 100) return Math.round(value).toLocaleString("en");
  if (value >= 10) return value.toFixed(1);
  return value >= 1 || value === 0 ? value.toFixed(2) : value.toPrecision(2);
}

/** As in `78 ms`, `0.37 s`. */
export function durationText(ms: number): string {
  return ms < 100 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

/** One row on one line. */
export function rowText(row: Row): string {
  if (row.type === "load") return `${row.scenario}: ${number(row.ratePerSecond)} /s`;
  const value = row.type === "times" ? durationText(median(row.ms)) : `${number(row.value)} ${row.unit}`.trimEnd();
  return `${row.scenario}: ${row.measure}: ${value}`;
}
