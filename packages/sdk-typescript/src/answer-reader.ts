/**
 * From the JSON of an answer to typed results: one reader for each shape. Members that are not known are left out, for
 * there may be more of them one day; what is known has to be there, and of its form.
 */
import { base64ToBytes } from "@event-anchoring/protocol";
import { UnexpectedAnswer } from "./errors.ts";
import { wireName } from "./wire-names.ts";

/** @throws UnexpectedAnswer naming the path */
export type Reader<Value> = (value: unknown, path: string) => Value;

/** @throws UnexpectedAnswer */
export function refuse(path: string, expected: string): never {
  throw new UnexpectedAnswer(`${path} of the answer is not ${expected}`);
}

export const readText: Reader<string> = (value, path) => (typeof value === "string" ? value : refuse(path, "a text"));

export const readFlag: Reader<boolean> = (value, path) =>
  typeof value === "boolean" ? value : refuse(path, "true or false");

export const readNumber: Reader<number> = (value, path) =>
  typeof value === "number" && value >= 0 ? value : refuse(path, "a number");

export const readCount: Reader<number> = (value, path) =>
  Number.isSafeInteger(value) ? readNumber(value, path) : refuse(path, "an integer up to 2^53 - 1");

function hexReader(digits: number): Reader<string> {
  const pattern = new RegExp(`^[0-9a-f]{${digits}}$`);
  return (value, path) =>
    typeof value === "string" && pattern.test(value) ? value : refuse(path, `${digits} hex digits`);
}

/** 64 lower-case digits. */
export const readHex32 = hexReader(64);
/** 128 lower-case digits. */
export const readHex64 = hexReader(128);

/** 32 bytes, which stand in base64. */
export const readHash: Reader<Uint8Array> = (value, path) => {
  const bytes = readBase64(value, path);
  return bytes.length === 32 ? bytes : refuse(path, "a hash");
};

const readBase64: Reader<Uint8Array> = (value, path) => {
  try {
    return base64ToBytes(readText(value, path));
  } catch {
    // Naming the wrong character would not help here.
    return refuse(path, "base64");
  }
};

export function nullable<Value>(read: Reader<Value>): Reader<Value | null> {
  return (value, path) => (value === null ? null : read(value, path));
}

/** Absent is null. */
export function optional<Value>(read: Reader<Value>): Reader<Value | null> {
  return (value, path) => (value === undefined || value === null ? null : read(value, path));
}

export function listOf<Value>(read: Reader<Value>): Reader<readonly Value[]> {
  return (value, path) =>
    Array.isArray(value) ? value.map((item: unknown, at) => read(item, `${path}[${at}]`)) : refuse(path, "a list");
}

/** Absent is the empty list. */
export function listOrNone<Value>(read: Reader<Value>): Reader<readonly Value[]> {
  const readList = listOf(read);
  return (value, path) => (value === undefined ? [] : readList(value, path));
}

export function oneOf<const Word extends string>(words: readonly Word[]): Reader<Word> {
  return (value, path) => words.find((word) => word === value) ?? refuse(path, `one of ${words.join(", ")}`);
}

/** The members of an object by their wire names. */
export function readObject(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return refuse(path, "an object");
  return value as Readonly<Record<string, unknown>>;
}

/** An object with these members. */
export function record<Shape extends object>(readers: {
  readonly [Name in keyof Shape]: Reader<Shape[Name]>;
}): Reader<Shape> {
  const rows = Object.entries<Reader<unknown>>(readers).map(([name, read]) => ({ name, wire: wireName(name), read }));
  return (value, path) => {
    const given = readObject(value, path);
    const shape: Record<string, unknown> = {};
    for (const { name, wire, read } of rows) shape[name] = read(given[wire], `${path}.${wire}`);
    return shape as Shape;
  };
}

/**
 * Readers for the answers of `client.request`: each takes a value and its path, and refuses what is of another form by
 * an UnexpectedAnswer that names the path. `record` reads the members that it is given, by this language's names.
 *
 *     const { anchor } = answer.read(readers.record({ anchor: readers.record({ anchorId: readers.hex32 }) }));
 */
export const readers = Object.freeze({
  text: readText,
  flag: readFlag,
  count: readCount,
  hex32: readHex32,
  base64: readBase64,
  object: readObject,
  nullable,
  optional,
  listOf,
  listOrNone,
  oneOf,
  record,
});
