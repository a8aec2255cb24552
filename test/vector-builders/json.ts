export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** Two spaces, final newline. */
export function formatJson(value: Json): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** A member, by RFC 6901, and what stands there instead. */
export type Change = readonly [at: string, to: Json];

/** Sets a member that is there. @param at RFC 6901, without escapes */
export function changed(value: Json, [at, to]: Change): Json {
  const [, name, ...rest] = at.split("/");
  if (name === undefined) return to;
  const next: Change = [rest.length === 0 ? "" : `/${rest.join("/")}`, to];
  if (Array.isArray(value)) {
    const items = value as readonly Json[];
    if (items[Number(name)] === undefined) throw new RangeError(`nothing at ${at}`);
    return items.map((item, index) => (index === Number(name) ? changed(item, next) : item));
  }
  if (typeof value !== "object" || value === null) throw new RangeError(`nothing at ${at}`);
  const members = value as { readonly [name: string]: Json };
  const member = members[name];
  if (member === undefined) throw new RangeError(`nothing at ${at}`);
  return { ...members, [name]: changed(member, next) };
}
