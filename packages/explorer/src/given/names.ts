/** Names for hashes, from a file that the reader has made or was given. They are shown, and change no verdict. */
import type { Names } from "@event-anchoring/verdicts";

/** The first line of such a file. */
const FIRST_LINE = "# names";
const LINE = /^([0-9a-f]{64})\s+(\S.*)$/iu;
const NAME_LENGTH_MAX = 80;

export function looksLikeNames(text: string): boolean {
  return text.startsWith(`${FIRST_LINE}\n`) || text.startsWith(`${FIRST_LINE}\r\n`);
}

/**
 * A line for each name: 64 hex digits, white space, the name. Empty lines and those that begin with # say nothing.
 * @returns names by hex digits, or the number of the first line that cannot be read
 */
export function parseNames(text: string): Names | number {
  const names = new Map<string, string>();
  for (const [at, line] of text.split(/\r?\n/u).entries()) {
    if (line.trim() === "" || line.startsWith("#")) continue;
    const [, hex = "", name = ""] = LINE.exec(line.trim()) ?? [];
    if (hex === "") return at + 1;
    names.set(hex.toLowerCase(), name.slice(0, NAME_LENGTH_MAX));
  }
  return names;
}
