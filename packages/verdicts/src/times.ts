/** Unix milliseconds, as ISO 8601 has it. */
export function isoMs(ms: number): string {
  return new Date(ms).toISOString();
}

/** Unix seconds. */
export function isoSeconds(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
}
