/** The operating system's name of an error (`ECONNREFUSED`), or null for any other kind of error. */
export function systemCodeOf(error: unknown): string | null {
  if (typeof error !== "object" || error === null || !("code" in error)) return null;
  return typeof error.code === "string" && error.code.startsWith("E") ? error.code : null;
}
