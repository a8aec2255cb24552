/**
 * Whether a caught value is a system error of this code. `instanceof Error` is not asked: errors of Node's own modules
 * may come from another realm than the caller's (test runners, `node:vm`).
 */
export function hasCode(error: unknown, code: string): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === code;
}
