/** The last millisecond that a Date can hold. A leaf, a cosignature or a trust root may legally name a later one. */
const DATE_MS_MAX = 8.64e15;

/** Unix milliseconds, as ISO 8601 has it. */
export function isoMs(ms: number): string {
  return ms > DATE_MS_MAX ? `${ms} ms (Unix)` : new Date(ms).toISOString();
}

/** Unix seconds. */
export function isoSeconds(seconds: number): string {
  const ms = seconds * 1000;
  return ms > DATE_MS_MAX ? `${seconds} s (Unix)` : new Date(ms).toISOString().replace(".000Z", "Z");
}
