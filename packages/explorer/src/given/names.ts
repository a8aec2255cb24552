/**
 * Names for hashes, from a file that the reader has made or was given. They are shown, and change no verdict. The page
 * is held to a size, so it takes what it shows from the file and is no judge of the rest: docs/names.md has the format.
 */
import type { Names } from "@event-anchoring/verdicts";

/** The first line of such a file. */
const FIRST_LINE = "# names";
const LINE = /^([0-9a-f]{64})\s+(\S.*)$/iu;
/** Names of attribute types and scope statements, which are not shown here. */
const OTHER = /^(#|attribute\s|scope\s|\s*$)/u;
/** 80 characters of two UTF-16 units each. */
const NAME_LENGTH_MAX = 160;

export function looksLikeNames(text: string): boolean {
  return text.startsWith(`${FIRST_LINE}\n`) || text.startsWith(`${FIRST_LINE}\r\n`);
}

/**
 * A line for each name: 64 hex digits, white space, the name. Other lines of the format say nothing here.
 * @returns names by hex digits, or the number of the first line that cannot be read
 */
export function parseNames(text: string): Names | number {
  const names = new Map<string, string>();
  for (const [at, line] of text.split(/\r?\n/u).entries()) {
    const stated = line.trim();
    if (OTHER.test(stated)) continue;
    const [, hex = "", name = ""] = LINE.exec(stated) ?? [];
    if (hex === "") return at + 1;
    names.set(hex.toLowerCase(), name.slice(0, NAME_LENGTH_MAX));
  }
  return names;
}
