const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/u;

/** A text as one word of a POSIX shell, for command lines that are printed to be pasted. */
export function shellWord(text: string): string {
  return PLAIN.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
