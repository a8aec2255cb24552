/**
 * A scope document: salted statements whose hashes make the `scope_hash` of a grant, so that its holder can disclose
 * some and withhold others. docs/PROTOCOL.md, "Scope documents".
 */
import { ByteWriter, bytesToHex, compareBytes, concatBytes, equalBytes, tag } from "@event-anchoring/protocol";
import type { Sha256 } from "@event-anchoring/protocol";
import { isOverUtf8Bytes } from "../json/text-size.ts";
import { ScopeError } from "./scope-error.ts";
import { SALT_BYTES, SCOPE_LIMITS, statementDigest, toStatement } from "./statement.ts";
import type { ScopeStatement, ScopeValue } from "./statement.ts";

export const SCOPE_FORMAT = "event-anchoring/v4.2/scope";

/** All statements, or those that are disclosed, with the digests of the others. */
export interface Scope {
  /** As stated; verifyScope compares it. */
  readonly scopeHash: Uint8Array;
  /** Ascending by name, each name once. */
  readonly statements: readonly ScopeStatement[];
  /** Digests of the statements that are not disclosed, ascending. */
  readonly withheld: readonly Uint8Array[];
}

function u32(value: number): Uint8Array {
  return new ByteWriter(4).u32(value).finish();
}

/** All digests, ascending. @throws ScopeError `scope_repeated` */
function digestsOf({ statements, withheld }: Omit<Scope, "scopeHash">, sha256: Sha256): readonly Uint8Array[] {
  const digests = [...statements.map((each) => statementDigest(each, sha256)), ...withheld].sort(compareBytes);
  if (digests.some((digest, at) => equalBytes(digest, digests[at + 1] ?? new Uint8Array(0)))) {
    throw new ScopeError("scope_repeated", "a digest is there twice: a statement is disclosed and withheld");
  }
  return digests;
}

/** H(tag "scope" ‖ count ‖ digests ascending): order says nothing of the statements. */
function hashOf(scope: Omit<Scope, "scopeHash">, sha256: Sha256): Uint8Array {
  const digests = digestsOf(scope, sha256);
  return sha256(concatBytes(tag("scope"), u32(digests.length), ...digests));
}

/** Names, and salts, are not repeated. @throws ScopeError */
export function assertDistinct(statements: readonly ScopeStatement[]): void {
  for (const [what, keys] of [
    ["name", statements.map(({ name }) => name)],
    ["salt", statements.map(({ salt }) => bytesToHex(salt))],
  ] as const) {
    if (new Set(keys).size < keys.length) throw new ScopeError("scope_repeated", `a ${what} is there twice`);
  }
}

/** @throws ScopeError */
export function assertCount({ statements, withheld }: Omit<Scope, "scopeHash">): void {
  const count = statements.length + withheld.length;
  const { statementsMax } = SCOPE_LIMITS;
  if (count > statementsMax) throw new ScopeError("scope_too_large", `${count} statements, at most ${statementsMax}`);
  if (count === 0) throw new ScopeError("scope_malformed", "there is no statement");
}

/**
 * A new document, for whoever delegates. Who has it can disclose all of it: it is a secret.
 * @param statements values by names
 * @param nextSalt 32 new random bytes each time
 * @throws ScopeError
 */
export function makeScope(
  statements: Readonly<Record<string, unknown>>,
  nextSalt: () => Uint8Array,
  sha256: Sha256,
): Scope {
  const salted = Object.entries(statements).map(([name, value]) => {
    const salt = nextSalt();
    if (salt.length !== SALT_BYTES) throw new RangeError(`a salt has ${SALT_BYTES} bytes`);
    return toStatement(salt, name, value);
  });
  const parts = { statements: salted.sort((a, b) => (a.name < b.name ? -1 : 1)), withheld: [] };
  assertCount(parts);
  assertDistinct(parts.statements);
  const scope = { scopeHash: hashOf(parts, sha256), ...parts };
  const { bytesMax } = SCOPE_LIMITS;
  if (isOverUtf8Bytes(formatScope(scope), bytesMax)) throw new ScopeError("scope_too_large", `over ${bytesMax} bytes`);
  return scope;
}

/**
 * That its parts make the hash that it states, and that this is the one that is asked about.
 * @param expected the `scope_hash` of a grant that is proved; absent: nothing is asked
 * @throws ScopeError `scope_repeated`, `scope_hash_differs`, `scope_not_granted`
 */
export function verifyScope(scope: Scope, sha256: Sha256, expected?: Uint8Array): void {
  const made = hashOf(scope, sha256);
  if (!equalBytes(made, scope.scopeHash)) {
    const detail = `it states ${bytesToHex(scope.scopeHash)}, and its statements make ${bytesToHex(made)}`;
    throw new ScopeError("scope_hash_differs", `${detail}: something was altered or left out`);
  }
  if (expected !== undefined && !equalBytes(made, expected)) {
    throw new ScopeError("scope_not_granted", `its scope_hash is ${bytesToHex(made)}, not ${bytesToHex(expected)}`);
  }
}

/**
 * The same document with these statements alone; of the others only the digests are left.
 * @throws ScopeError `scope_name_unknown`, and as verifyScope
 */
export function discloseScope(scope: Scope, names: readonly string[], sha256: Sha256): Scope {
  verifyScope(scope, sha256);
  const wanted = new Set(names);
  const unknown = names.find((name) => !scope.statements.some((statement) => statement.name === name));
  if (unknown !== undefined) {
    throw new ScopeError("scope_name_unknown", `there is no statement ${JSON.stringify(unknown)} to disclose`);
  }
  const hidden = scope.statements.filter(({ name }) => !wanted.has(name));
  return {
    scopeHash: scope.scopeHash,
    statements: scope.statements.filter(({ name }) => wanted.has(name)),
    withheld: [...scope.withheld, ...hidden.map((each) => statementDigest(each, sha256))].sort(compareBytes),
  };
}

/** A document in JSON. */
export type ScopeJson = {
  readonly format: string;
  readonly scope_hash: string;
  /** Salt, name and value. */
  readonly statements: readonly (readonly [string, string, ScopeValue])[];
  readonly withheld: readonly string[];
};

export function scopeJson({ scopeHash, statements, withheld }: Scope): ScopeJson {
  return {
    format: SCOPE_FORMAT,
    scope_hash: bytesToHex(scopeHash),
    statements: statements.map(({ salt, name, value }) => [bytesToHex(salt), name, value] as const),
    withheld: withheld.map(bytesToHex),
  };
}

/** One line of JSON and a newline. */
export function formatScope(scope: Scope): string {
  return `${JSON.stringify(scopeJson(scope))}\n`;
}
