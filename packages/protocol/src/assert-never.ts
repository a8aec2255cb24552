/** Marks the branch of a closed union that cannot be reached; a new member makes this a compile error. */
export function assertNever(value: never): never {
  throw new Error(`unreachable: ${String(value)}`);
}
