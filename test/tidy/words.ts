/** Words that say less than they seem to, and are kept out. Listed in `docs/GLOSSARY.md`. */

const PROSE = ["simply", "just", "magic", "manager", "helper", "util", "blockchain", "trustless", "guaranteed"];

/** In a name these add nothing either; in prose they are ordinary words. */
const NAMES = new Set([...PROSE, "data", "info"]);

/** Names that others gave: on the wire, or in an interface that is not ours. */
const GIVEN_NAMES = new Set(["info", "handleDataRow", "spanData", "versionInfo"]);
const GIVEN_TERMS = /event_?data/gi;

const PROSE_PATTERN = new RegExp(`(?<!node:)\\b(?:${PROSE.join("|")})s?\\b`, "i");

/** The kept-out word in a line of code, comment or documentation; null: none. */
export function wordInLine(line: string): string | null {
  return PROSE_PATTERN.exec(line)?.[0] ?? null;
}

const BARE_OF = /^\s*(?:\/\*\*|\*|\/\/[/!]?|#|--)\s+Of |^\s*"""Of /;

/** The first words of a comment that begins with what it leaves out, as in "Of the group."; null: it does not. */
export function bareOf(line: string): string | null {
  return BARE_OF.exec(line)?.[0].trim() ?? null;
}

/** The kept-out word inside a name; null: none. */
export function wordInName(name: string): string | null {
  if (GIVEN_NAMES.has(name)) return null;
  const words = name.replace(GIVEN_TERMS, "_").split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/);
  return words.find((word) => NAMES.has(word.toLowerCase().replace(/s$/, ""))) ?? null;
}
