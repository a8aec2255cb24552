/** `1 file`, `2 files`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** `1 leaf`, `2 leaves`. */
export const leaves = (count: number): string => counted(count, "leaf", "leaves");
