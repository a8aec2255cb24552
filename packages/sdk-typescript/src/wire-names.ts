/** Names of members in JSON, and in this language's casing. */
import { InvalidInput } from "./errors.ts";

/** `eventDataHash` stands as `event_data_hash` in JSON; of a path such as `semanticAnchor.irisRef`, every part. */
export function wireName(name: string): string {
  return name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}

/**
 * A JSON object by this language's names, at every depth of objects: what `prepareClaimAnchor` and its like take.
 * @throws InvalidInput for a name that is no wire name: it would pass for another one
 */
export function fromWireNames(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const renamed = Object.entries(value).map(([name, member]): [string, unknown] => {
    if (/[A-Z]/.test(name)) throw new InvalidInput(name, "unknown: names of JSON members are in lower case");
    return [name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()), fromWireNames(member)];
  });
  return Object.fromEntries(renamed);
}
