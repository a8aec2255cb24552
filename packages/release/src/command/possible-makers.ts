import type { Maker } from "../artefact.ts";
import { ReleaseError } from "../artefact.ts";

/** Where the words of the command go. */
export interface Output {
  write(text: string): unknown;
}

/**
 * Leaves out what this machine cannot make and a release may be without, and says so.
 * @param only names that were asked for: these are not left out
 * @throws ReleaseError if one that was asked for cannot be made
 */
export function possibleMakers(makers: readonly Maker[], only: readonly string[], stderr: Output): readonly Maker[] {
  return makers.filter((maker) => {
    const lacking = maker.lacks?.() ?? null;
    if (lacking === null) return true;
    if (only.includes(maker.name)) throw new ReleaseError(`${maker.name} cannot be made: ${lacking}`);
    stderr.write(`${maker.name} is left out: ${lacking}\n`);
    return false;
  });
}
