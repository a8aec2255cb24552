import { InvalidBytesError, compareBytes, hexToBytes } from "@event-anchoring/protocol";
import { isOverUtf8Bytes } from "../json/text-size.ts";
import { readStrictJson } from "../json/strict-json.ts";
import type { BundleJson } from "../json/strict-json.ts";
import { isList } from "../json/canonical-json.ts";
import { SCOPE_FORMAT, assertCount, assertDistinct } from "./scope.ts";
import type { Scope } from "./scope.ts";
import { ScopeError } from "./scope-error.ts";
import { SALT_BYTES, SCOPE_LIMITS, toStatement } from "./statement.ts";
import type { ScopeStatement } from "./statement.ts";

const HASH_BYTES = 32;
/** Nesting of the whole text; what a value may have is less. */
const DEPTH_MAX = 32;
const MEMBERS = ["format", "scope_hash", "statements", "withheld"];

function malformed(what: string): ScopeError {
  return new ScopeError("scope_malformed", what);
}

function hexOf(value: BundleJson, byteLength: number, where: string): Uint8Array {
  if (typeof value !== "string") throw malformed(`${where} is no text`);
  try {
    return hexToBytes(value, byteLength);
  } catch (error) {
    if (error instanceof InvalidBytesError) throw malformed(`${where} is malformed: ${error.message}`);
    throw error;
  }
}

function listOf(value: BundleJson | undefined, where: string): readonly BundleJson[] {
  if (value === undefined || !isList(value)) throw malformed(`${where} is no list`);
  const { statementsMax } = SCOPE_LIMITS;
  if (value.length > statementsMax) throw new ScopeError("scope_too_large", `${where} has over ${statementsMax} items`);
  return value;
}

function statementOf(value: BundleJson, at: number): ScopeStatement {
  const where = `statements[${at}]`;
  if (!isList(value) || value.length !== 3) throw malformed(`${where} is not a salt, a name and a value`);
  const [salt = null, name, stated] = value;
  return toStatement(hexOf(salt, SALT_BYTES, `${where}[0]`), name, stated);
}

/** Ascending: there is one text of one disclosure, and it does not show in which order they were made. */
function assertAscending<Item>(items: readonly Item[], compare: (a: Item, b: Item) => number, where: string): void {
  const at = items.findIndex((item, index) => index > 0 && compare(items[index - 1] ?? item, item) >= 0);
  if (at < 0) return;
  const [before, item] = [items[at - 1], items[at]];
  const isSame = before !== undefined && item !== undefined && compare(before, item) === 0;
  if (isSame) throw new ScopeError("scope_repeated", `${where}[${at}] is there twice`);
  throw malformed(`${where} are not ascending`);
}

function compareNames({ name: a }: ScopeStatement, { name: b }: ScopeStatement): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** A document inside of other JSON, which the strict reader has read. @throws ScopeError */
export function scopeOfJson(value: BundleJson): Scope {
  if (typeof value !== "object" || value === null || isList(value)) throw malformed("it is no object");
  const members = new Map(Object.entries(value));
  if (members.get("format") !== SCOPE_FORMAT) {
    throw new ScopeError("scope_format_unknown", `its format is not ${SCOPE_FORMAT}`);
  }
  const missing = MEMBERS.find((name) => !members.has(name));
  if (missing !== undefined) throw malformed(`it has no ${missing}`);
  const unknown = [...members.keys()].find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined) throw malformed(`it has ${JSON.stringify(unknown)}, which nothing is known of`);
  const scope = {
    scopeHash: hexOf(members.get("scope_hash") ?? null, HASH_BYTES, "scope_hash"),
    statements: listOf(members.get("statements"), "statements").map(statementOf),
    withheld: listOf(members.get("withheld"), "withheld").map((each, at) => hexOf(each, HASH_BYTES, `withheld[${at}]`)),
  };
  assertCount(scope);
  assertAscending(scope.statements, compareNames, "statements");
  assertAscending(scope.withheld, compareBytes, "withheld");
  assertDistinct(scope.statements);
  return scope;
}

function strictly(text: string): BundleJson {
  const { bytesMax } = SCOPE_LIMITS;
  if (isOverUtf8Bytes(text, bytesMax)) throw new ScopeError("scope_too_large", `over ${bytesMax} bytes`);
  return readStrictJson(text, DEPTH_MAX, (detail) => new ScopeError("scope_json_invalid", detail));
}

/**
 * Reads a scope document, which may be attacker-controlled: strict, bounded, and nothing is verified.
 * @throws ScopeError
 */
export function parseScope(text: string): Scope {
  return scopeOfJson(strictly(text));
}

/**
 * Reads what somebody has written to make a document of: an object of values by names.
 * @throws ScopeError
 */
export function parseStatements(text: string): Readonly<Record<string, BundleJson>> {
  const value = strictly(text);
  if (typeof value !== "object" || value === null || isList(value)) throw malformed("the statements are no object");
  return value;
}
