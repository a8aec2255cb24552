export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** Two spaces, final newline. */
export function formatJson(value: Json): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
