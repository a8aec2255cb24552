/** One statement of a scope document: a name and a value under a salt. docs/PROTOCOL.md, "Scope documents". */
import { concatBytes, tag, utf8ToBytes } from "@event-anchoring/protocol";
import type { Sha256 } from "@event-anchoring/protocol";
import { hasLoneSurrogate } from "../json/strict-json.ts";
import { canonicalJson } from "../json/canonical-json.ts";
import { ScopeError } from "./scope-error.ts";

/** Limits of readers and makers. All inclusive. */
export const SCOPE_LIMITS = {
  /** Bytes of UTF-8 of a document. */
  bytesMax: 1024 * 1024,
  /** Statements, those that are withheld among them. */
  statementsMax: 1_024,
  /** Bytes of the canonical JSON of one statement. */
  statementBytesMax: 16_384,
  /** Nesting of lists and objects in a value. */
  nestingMax: 16,
} as const;

export const SALT_BYTES = 32;
const NAME = /^[a-z][a-z0-9_.-]{0,63}$/;

/** What a statement may say. Neither null, which means the same as absent elsewhere, nor fractions. */
export type ScopeValue = string | number | boolean | readonly ScopeValue[] | { readonly [name: string]: ScopeValue };

export interface ScopeStatement {
  /** 32 random bytes, of this statement alone. Whoever knows them can guess at the rest. */
  readonly salt: Uint8Array;
  readonly name: string;
  readonly value: ScopeValue;
}

function malformed(where: string, what: string): ScopeError {
  return new ScopeError("scope_malformed", `${where} ${what}`);
}

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function assertText(text: string, where: string): void {
  if (hasLoneSurrogate(text)) throw malformed(where, "holds half of a surrogate pair");
}

/** @param value of a caller or out of JSON @throws ScopeError */
function assertValue(value: unknown, where: string, depth: number): asserts value is ScopeValue {
  if (typeof value === "boolean") return;
  if (typeof value === "string") {
    assertText(value, where);
    return;
  }
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value) || value < 0) throw malformed(where, "is no integer from 0 to 2^53 - 1");
    return;
  }
  if (value === null) throw malformed(where, "is null: leave it out");
  const isKnown = typeof value === "object" && (Array.isArray(value) || isPlainObject(value));
  if (!isKnown) throw malformed(where, "is no text, integer, boolean, list or object");
  const { nestingMax } = SCOPE_LIMITS;
  if (depth === nestingMax) throw new ScopeError("scope_too_large", `${where} is nested deeper than ${nestingMax}`);
  if (!Array.isArray(value)) for (const name of Object.keys(value)) assertText(name, where);
  for (const member of Array.isArray(value) ? (value as readonly unknown[]) : Object.values(value)) {
    assertValue(member, where, depth + 1);
  }
}

/** The bytes that the digest is over, behind the salt. */
function statementBytes({ name, value }: Pick<ScopeStatement, "name" | "value">): Uint8Array {
  return utf8ToBytes(canonicalJson([name, value]));
}

/** A statement of parts that may be attacker-controlled. @throws ScopeError */
export function toStatement(salt: Uint8Array, name: unknown, value: unknown): ScopeStatement {
  if (typeof name !== "string" || !NAME.test(name)) {
    throw malformed("a name", "is not a lower-case letter and up to 63 lower-case letters, digits, _ . -");
  }
  assertValue(value, name, 0);
  const { length } = statementBytes({ name, value });
  const { statementBytesMax } = SCOPE_LIMITS;
  if (length > statementBytesMax) {
    throw new ScopeError("scope_too_large", `${name} has ${length} bytes, at most ${statementBytesMax}`);
  }
  return { salt, name, value };
}

/** H(tag "scope-statement" ‖ salt ‖ canonical JSON of [name, value]) */
export function statementDigest(statement: ScopeStatement, sha256: Sha256): Uint8Array {
  return sha256(concatBytes(tag("scope-statement"), statement.salt, statementBytes(statement)));
}
