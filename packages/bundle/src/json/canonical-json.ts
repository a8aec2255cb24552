/** RFC 8785: the one text of a value. */
import type { BundleJson } from "./strict-json.ts";

/**
 * JSON without spaces, the names of an object ascending by their UTF-16 code units, which is how JavaScript compares
 * texts; JSON.stringify writes texts and numbers as section 3.2.2 asks.
 * @param value whole Unicode in every text, and finite numbers
 */
export function canonicalJson(value: BundleJson): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (isList(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(",")}}`;
}

export function isList(value: BundleJson): value is readonly BundleJson[] {
  return Array.isArray(value);
}
