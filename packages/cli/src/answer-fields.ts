/** Reads what a server sent, field by field: an answer of another shape is an error that names the field. */
import { CliError, EXIT } from "./cli-error.ts";
import { isRecord } from "./nearest-cluster.ts";

export type Fields = Readonly<Record<string, unknown>>;

function malformed(name: string, wanted: string): CliError {
  return new CliError(EXIT.unavailable, "answer_malformed", `the service's answer has no ${wanted} at ${name}`);
}

/** @throws CliError `answer_malformed` */
export function fieldsAt(parent: Fields, name: string): Fields {
  const value = parent[name];
  if (!isRecord(value)) throw malformed(name, "object");
  return value;
}

/** Null for a field that is null or absent. @throws CliError `answer_malformed` */
export function fieldsOrNullAt(parent: Fields, name: string): Fields | null {
  return parent[name] === null || parent[name] === undefined ? null : fieldsAt(parent, name);
}

/** @throws CliError `answer_malformed` */
export function textAt(parent: Fields, name: string): string {
  const value = parent[name];
  if (typeof value !== "string") throw malformed(name, "text");
  return value;
}

/** 64 lower-case hex digits. @throws CliError `answer_malformed` */
export function hashAt(parent: Fields, name: string): string {
  const value = textAt(parent, name);
  if (!/^[0-9a-f]{64}$/u.test(value)) throw malformed(name, "hash");
  return value;
}

/** Null for a field that is null or absent. @throws CliError `answer_malformed` */
export function textOrNullAt(parent: Fields, name: string): string | null {
  return parent[name] === null || parent[name] === undefined ? null : textAt(parent, name);
}

/** A whole number of at least 0. @throws CliError `answer_malformed` */
export function countAt(parent: Fields, name: string): number {
  const value = parent[name];
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) throw malformed(name, "count");
  return value;
}

/** Null for a field that is null or absent. @throws CliError `answer_malformed` */
export function countOrNullAt(parent: Fields, name: string): number | null {
  return parent[name] === null || parent[name] === undefined ? null : countAt(parent, name);
}

/** @throws CliError `answer_malformed` */
export function flagAt(parent: Fields, name: string): boolean {
  const value = parent[name];
  if (typeof value !== "boolean") throw malformed(name, "true or false");
  return value;
}

/** One of the given words. @throws CliError `answer_malformed` */
export function wordAt<Word extends string>(parent: Fields, name: string, words: readonly Word[]): Word {
  const found = words.find((word) => word === parent[name]);
  if (found === undefined) throw malformed(name, `word of ${words.join(", ")}`);
  return found;
}

/** Each item read by `read`. @throws CliError `answer_malformed` */
export function listAt<Item>(parent: Fields, name: string, read: (item: Fields) => Item): readonly Item[] {
  const value: unknown = parent[name];
  if (!Array.isArray(value)) throw malformed(name, "list");
  return value.map((item: unknown, at) => read(fieldsAt({ [`${name}[${at}]`]: item }, `${name}[${at}]`)));
}

/** @throws CliError `answer_malformed` unless every item is text */
export function textsAt(parent: Fields, name: string): readonly string[] {
  const value: unknown = parent[name];
  if (!Array.isArray(value)) throw malformed(name, "list");
  return value.map((item: unknown, at) => textAt({ [`${name}[${at}]`]: item }, `${name}[${at}]`));
}
