/** Durations and points in time, as a person writes them on a command line. */
import { CliError, EXIT } from "./cli-error.ts";

const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
  y: 365 * 86_400_000,
};

/** The end of the year 9999, beyond which RFC 3339 has no times. */
const LATEST_MS = 253_402_300_799_999;

const DURATION = /^([0-9]{1,12})(ms|s|m|h|d|w|y)$/u;
const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/u;

/** `90s`, `15m`, `24h`, `30d`, `2w`, `1y` (365 days) in milliseconds; null for anything else. */
function durationMs(text: string): number | null {
  const [, digits = "", unit = ""] = DURATION.exec(text) ?? [];
  const ms = Number(digits) * (UNITS_MS[unit] ?? Number.NaN);
  return digits === "" || !Number.isSafeInteger(ms) ? null : ms;
}

/** Unix milliseconds of an RFC 3339 time; NaN for anything else, days that no calendar has included. */
function timeMs(text: string): number {
  const [, year, month, day] = RFC3339.exec(text) ?? [];
  // Date.parse takes a 31st of February for the 3rd of March.
  const isDay = Number(day) <= new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  return isDay ? Date.parse(text) : Number.NaN;
}

/** @throws CliError `usage` */
export function parseDuration(option: string, text: string): number {
  const ms = durationMs(text);
  if (ms !== null) return ms;
  throw new CliError(EXIT.usage, "duration_invalid", `${option} takes a duration such as 90s, 15m, 24h or 30d`);
}

/**
 * When something ends, Unix milliseconds, 0 = never: `never`, a duration from now on, or an RFC 3339 time.
 * @throws CliError `usage`
 */
export function parseExpiry(option: string, text: string, nowMs: number): number {
  if (text === "never") return 0;
  const inMs = durationMs(text);
  const expiresMs = inMs === null ? timeMs(text) : nowMs + inMs;
  if (expiresMs > nowMs && expiresMs <= LATEST_MS) return Math.ceil(expiresMs);
  const message = `${option} takes never, a duration such as 30d, or a time to come such as 2031-01-31T00:00:00Z`;
  throw new CliError(EXIT.usage, "expiry_invalid", message);
}

/** `24h`: in the largest unit that leaves no rest. */
export function durationText(ms: number): string {
  const units = Object.entries(UNITS_MS).toSorted(([, a], [, b]) => b - a);
  const [unit, unitMs] = units.find(([name, each]) => name !== "y" && ms >= each && ms % each === 0) ?? ["ms", 1];
  return `${ms / unitMs}${unit}`;
}

/** An RFC 3339 time in Unix milliseconds. @throws CliError `usage` */
export function parseTime(option: string, text: string): number {
  const ms = timeMs(text);
  if (ms >= 0 && ms <= LATEST_MS) return Math.floor(ms);
  throw new CliError(EXIT.usage, "time_invalid", `${option} takes an RFC 3339 time such as 2031-01-31T00:00:00Z`);
}
