import { closestMatch } from "leven";

/** In a short name fewer letters may be wrong; two that changed places are two. */
const LETTERS_PER_FAULT = 2;
const FAULTS_MAX = 3;

/** The known name that a person may have meant; null: none is near. Capitals and small letters are the same. */
export function nearestName(given: string, known: readonly string[]): string | null {
  const maxDistance = Math.max(1, Math.min(FAULTS_MAX, Math.floor(given.length / LETTERS_PER_FAULT)));
  const bySmall = new Map(known.map((name) => [name.toLowerCase(), name]));
  const found = closestMatch(given.toLowerCase(), [...bySmall.keys()], { maxDistance });
  return found === undefined ? null : (bySmall.get(found) ?? null);
}

/** The words for a name that is not known. @param nearest null: none is near */
export function unknownName(nearest: string | null): string {
  return `there is no such setting${nearest === null ? "" : `; did you mean ${nearest}?`}`;
}
