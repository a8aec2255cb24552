/** What a claim can be about: values of `attribute_type`. docs/names.md. No rule of the service depends on them. */
import type { Sha256 } from "./crypto.ts";
import { utf8ToBytes } from "./bytes.ts";

/** The registered values, by name. Every SDK has the same list. */
export const ATTRIBUTE_TYPES = {
  /** The key acts for the entity in a role. */
  role: 0x01,
  /** The key is that of a program. */
  software: 0x02,
  /** The key is that of an agent that a model drives. */
  model: 0x03,
  /** The key is that of a device. */
  device: 0x04,
  /** The key speaks for an organisation. */
  organisation: 0x10,
  /** The key is that of a natural person. */
  person: 0x11,
  /** The entity belongs to an organisation. */
  membership: 0x12,
  /** How the key is kept. */
  custody: 0x20,
} as const;

/** From this value on they are one's own: the highest of 32 bits is set. */
const OWN_BIT = 0x8000_0000;
/** A domain of one's own, reversed, and a word: `com.example.cost_centre`. */
const OWN_NAME = /^[a-z0-9][a-z0-9_-]*(\.[a-z0-9][a-z0-9_-]*){2,}$/u;
const OWN_NAME_LENGTH_MAX = 128;

/**
 * The value of a registered name, or of a name of one's own: the first four bytes of its SHA-256, big-endian, with the
 * highest bit set.
 * @returns a u32; null: the name is neither
 */
export function attributeTypeOf(name: string, sha256: Sha256): number | null {
  if (Object.hasOwn(ATTRIBUTE_TYPES, name)) return ATTRIBUTE_TYPES[name as keyof typeof ATTRIBUTE_TYPES];
  if (name.length > OWN_NAME_LENGTH_MAX || !OWN_NAME.test(name)) return null;
  const [first = 0, second = 0, third = 0, fourth = 0] = sha256(utf8ToBytes(name));
  return ((first << 24) | (second << 16) | (third << 8) | fourth | OWN_BIT) >>> 0;
}

/** The registered name of a value; null: it has none. */
export function attributeTypeName(value: number): string | null {
  return Object.entries(ATTRIBUTE_TYPES).find(([, registered]) => registered === value)?.[0] ?? null;
}
