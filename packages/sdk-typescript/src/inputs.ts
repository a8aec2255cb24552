/** The only door for values of the caller: what passes here is never questioned again. */
import { REVOCATION_REASONS, bytesToHex, hexToBytes } from "@event-anchoring/protocol";
import { InvalidInput } from "./errors.ts";

/** A hash, id, fingerprint or public key: 32 bytes, or 64 hex digits. Nothing else passes. */
export type Bytes32 = Uint8Array | string;

/** A signature: 64 bytes, or 128 hex digits. */
export type Bytes64 = Uint8Array | string;

/** Bytes32, or nothing: undefined, null, "" and zeros all mean an empty reference. */
export type Reference = Bytes32 | null | undefined;

/** Why a claim or a grant is revoked. */
export type RevocationReason = (typeof REVOCATION_REASONS)[number];

const U32_MAX = 2 ** 32 - 1;
const CLIENT_EVENT_ID = /^[\x20-\x7e]{1,128}$/;
const ATTRIBUTE_TYPE = /^0x[0-9a-fA-F]{1,8}$/;

/** What a value is, without the value: it may be a secret that was put into the wrong place. */
function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (typeof value === "string") return `a text of ${value.length} characters`;
  return Array.isArray(value) ? "a list" : typeof value;
}

function bytesOf(field: string, value: unknown, length: number): Uint8Array {
  if (value instanceof Uint8Array && value.length === length) return Uint8Array.from(value);
  // The protocol's reader takes ASCII hex digits alone: no prefix, space, newline, or digits of other scripts.
  if (typeof value === "string" && value.length === length * 2 && /^[0-9a-fA-F]+$/.test(value))
    return hexToBytes(value, length);
  throw new InvalidInput(field, `expected ${length} bytes or ${length * 2} hex digits, got ${kindOf(value)}`);
}

/** A copy of 32 bytes. @throws InvalidInput */
export function bytes32(field: string, value: unknown): Uint8Array {
  return bytesOf(field, value, 32);
}

/** A copy of 64 bytes. @throws InvalidInput */
export function bytes64(field: string, value: unknown): Uint8Array {
  return bytesOf(field, value, 64);
}

/** 64 lower-case hex digits. @throws InvalidInput */
export function hex32(field: string, value: unknown): string {
  return bytesToHex(bytes32(field, value));
}

/** Zeros for an empty one. @throws InvalidInput */
export function reference(field: string, value: unknown): Uint8Array {
  const isEmpty = value === undefined || value === null || value === "";
  return isEmpty ? new Uint8Array(32) : bytes32(field, value);
}

function integer(field: string, value: unknown, max: number): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= max) return value;
  const got = typeof value === "number" ? String(value) : kindOf(value);
  throw new InvalidInput(field, `expected an integer from 0 to ${max}, got ${got}`);
}

/** @throws InvalidInput */
export function u32(field: string, value: unknown): number {
  return integer(field, value, U32_MAX);
}

/** @throws InvalidInput */
export function count(field: string, value: unknown): number {
  return integer(field, value, Number.MAX_SAFE_INTEGER);
}

/** Unix milliseconds; 0 for none. @throws InvalidInput */
export function timeMs(field: string, value: unknown): number {
  return value === undefined || value === null ? 0 : count(field, value);
}

/** A u32, or `0x` and 1 to 8 hex digits. @throws InvalidInput */
export function attributeType(field: string, value: unknown): number {
  if (typeof value !== "string") return u32(field, value);
  if (!ATTRIBUTE_TYPE.test(value)) {
    throw new InvalidInput(field, "expected an integer, or 0x and 1 to 8 hex digits");
  }
  return Number.parseInt(value.slice(2), 16);
}

/** @throws InvalidInput */
export function clientEventId(field: string, value: unknown): string {
  if (typeof value === "string" && CLIENT_EVENT_ID.test(value)) return value;
  throw new InvalidInput(field, `expected 1 to 128 printable ASCII characters, got ${kindOf(value)}`);
}

/** Number of the reason. @throws InvalidInput */
export function reasonNumber(field: string, value: unknown): number {
  if (value === undefined || value === null) return 0;
  const at = REVOCATION_REASONS.findIndex((reason) => reason === value);
  if (at < 0) throw new InvalidInput(field, `expected one of ${REVOCATION_REASONS.join(", ")}`);
  return at;
}

/** An object, so that its members can be read by name. @throws InvalidInput */
export function members(field: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)) {
    return value as Readonly<Record<string, unknown>>;
  }
  throw new InvalidInput(field, `expected an object, got ${kindOf(value)}`);
}

/** Reads a value of the caller. @throws InvalidInput naming the field */
export type Door<Value> = (field: string, value: unknown) => Value;

/** Null for what is not there. */
export function absentOr<Value>(door: Door<Value>): Door<Value | null> {
  return (field, value) => (value === undefined || value === null ? null : door(field, value));
}

/**
 * An object of these members and no others, each through its door.
 * @param name of a member that is an object itself; its own members are `name.member`
 * @throws InvalidInput
 */
export function contentOf<Shape extends object>(
  value: unknown,
  doors: { readonly [Name in keyof Shape]: Door<Shape[Name]> },
  name = "",
): Shape {
  const given = members(name === "" ? "content" : name, value);
  const fieldOf = (member: string): string => (name === "" ? member : `${name}.${member}`);
  // A misspelt name would leave out what was meant.
  const unknown = Object.keys(given).find((member) => !Object.hasOwn(doors, member));
  if (unknown !== undefined) {
    throw new InvalidInput(fieldOf(unknown), `unknown; known are ${Object.keys(doors).join(", ")}`);
  }
  const read = Object.entries<Door<unknown>>(doors).map(([member, door]) => {
    return [member, door(fieldOf(member), given[member])] as const;
  });
  return Object.fromEntries(read) as Shape;
}
