/** Names for what is otherwise a hash or a number. They prove nothing, and change no verdict. docs/names.md */
import { isOverUtf8Bytes } from "../json/text-size.ts";
import { NamesError } from "./names-error.ts";

/** Limits of readers. All inclusive. */
export const NAMES_LIMITS = {
  /** Bytes of UTF-8 of a file. */
  bytesMax: 1024 * 1024,
  /** Names of all three kinds together. */
  namesMax: 10_000,
  /** Characters of a name, as Unicode counts them. */
  characterMax: 80,
} as const;

/** What a file of names says. */
export interface NameFile {
  /** By 64 lower-case hex digits: of an anchor id, an entity, a public key, a scope hash, an origin. */
  readonly hashes: ReadonlyMap<string, string>;
  /** By `attribute_type`. */
  readonly attributeTypes: ReadonlyMap<number, string>;
  /** What a statement of a scope document means, by its name. */
  readonly statements: ReadonlyMap<string, string>;
}

const HASH = "([0-9a-fA-F]{64})";
const TYPE = "attribute[ \\t]+(0x[0-9a-fA-F]{1,8}|[0-9]{1,10})";
const STATEMENT = "scope[ \\t]+([a-z][a-z0-9_.-]{0,63})";
/** What is named, and its name: a hash, an attribute type, or a statement of scope documents. */
const LINE = new RegExp(`^[ \\t]*(?:${HASH}|${TYPE}|${STATEMENT})[ \\t]+([^ \\t].*?)[ \\t]*$`, "u");
const SAYS_NOTHING = /^[ \t]*(#|$)/u;
const TYPE_MAX = 0xffff_ffff;
/** Controls, and what changes how other characters are shown or cannot be seen. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/u;

/** Whether a text is meant as a file of names. */
export function looksLikeNames(text: string): boolean {
  return /^# names\r?(\n|$)/u.test(text);
}

/**
 * Reads a file of names; it may be attacker-controlled.
 * @throws NamesError
 */
export function parseNames(text: string): NameFile {
  if (isOverUtf8Bytes(text, NAMES_LIMITS.bytesMax)) throw new NamesError("names_too_large", "over 1 MiB");
  if (!looksLikeNames(text)) throw new NamesError("names_malformed", 'the first line is not "# names"');
  const hashes = new Map<string, string>();
  const attributeTypes = new Map<number, string>();
  const statements = new Map<string, string>();
  for (const [at, line] of text.split(/\r?\n/u).entries()) {
    if (SAYS_NOTHING.test(line)) continue;
    const [, hash, type, statement, name = ""] = LINE.exec(line) ?? [];
    if (name === "" || Number(type) > TYPE_MAX) {
      throw new NamesError("names_malformed", "no named hash, attribute type or scope statement", at + 1);
    }
    if (hash !== undefined) put(hashes, hash.toLowerCase(), name, at + 1);
    else if (type !== undefined) put(attributeTypes, Number(type), name, at + 1);
    else if (statement !== undefined) put(statements, statement, name, at + 1);
    if (hashes.size + attributeTypes.size + statements.size > NAMES_LIMITS.namesMax) {
      throw new NamesError("names_too_large", "over 10,000 names", at + 1);
    }
  }
  return { hashes, attributeTypes, statements };
}

function put<Key>(names: Map<Key, string>, key: Key, name: string, line: number): void {
  if (Array.from(name).length > NAMES_LIMITS.characterMax || UNSEEN.test(name)) {
    throw new NamesError("names_malformed", "the name is too long, or has unseen characters", line);
  }
  if (names.has(key)) throw new NamesError("names_repeated", "named already", line);
  names.set(key, name);
}
