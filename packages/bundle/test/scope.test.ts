/** test/vectors/scope.json, read as any other implementation reads it; and documents that somebody has spoiled. */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { bytesToHex, hexToBytes, nobleCrypto } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { canonicalJson } from "../src/json/canonical-json.ts";
import { statementDigest } from "../src/scope/statement.ts";
import {
  ScopeError,
  discloseScope,
  formatScope,
  makeScope,
  parseScope,
  parseStatements,
  verifyScope,
} from "../src/index.ts";
import type { BundleJson, Scope } from "../src/index.ts";
import { randomOf } from "../../../test/worlds/random-life.ts";

interface Named {
  readonly name: string;
}

interface VectorFile {
  readonly hash: readonly (Named & {
    readonly salts: readonly string[];
    readonly statements: Readonly<Record<string, BundleJson>>;
    readonly canonical: readonly string[];
    readonly digests: readonly string[];
    readonly scope_hash: string;
    readonly text: string;
  })[];
  readonly good: readonly (Named & {
    readonly text: string;
    readonly scope_hash: string;
    readonly statements: object;
    readonly withheld: number;
  })[];
  readonly disclose: readonly (Named & {
    readonly text: string;
    readonly only: readonly string[];
    readonly disclosed: string;
  })[];
  readonly undisclosable: readonly (Named & {
    readonly text: string;
    readonly only: readonly string[];
    readonly error: string;
  })[];
  readonly bad: readonly (Named & { readonly error: string; readonly text: string })[];
  readonly not_granted: readonly (Named & { readonly text: string; readonly scope_hash: string })[];
  readonly unmakeable: readonly (Named & { readonly error: string; readonly statements: unknown })[];
}

const vectors = JSON.parse(
  readFileSync(new URL("../../../test/vectors/scope.json", import.meta.url), "utf8"),
) as VectorFile;
const { sha256 } = nodeCrypto;

function cases<Case extends Named>(all: readonly Case[]): [string, Case][] {
  return all.map((one) => [one.name, one]);
}

function codeOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof ScopeError) return error.code;
    throw error;
  }
  return "nothing thrown";
}

/** As a reader that has nothing to compare with. */
function read(text: string): Scope {
  const scope = parseScope(text);
  verifyScope(scope, sha256);
  return scope;
}

function valuesOf({ statements }: Scope): object {
  return Object.fromEntries(statements.map(({ name, value }) => [name, value]));
}

describe("the vectors", () => {
  test.each(cases(vectors.hash))("hash: %s", (_, { salts, statements, canonical, digests, scope_hash, text }) => {
    const drawn = salts.values();
    const scope = makeScope(statements, () => hexToBytes(drawn.next().value ?? "", 32), sha256);
    expect(scope.statements.map(({ name, value }) => canonicalJson([name, value as BundleJson]))).toEqual(canonical);
    expect(scope.statements.map((each) => bytesToHex(statementDigest(each, nobleCrypto.sha256)))).toEqual(digests);
    expect([bytesToHex(scope.scopeHash), formatScope(scope)]).toEqual([scope_hash, text]);
  });

  test.each(cases(vectors.good))("good: %s", (_, { text, scope_hash, statements, withheld }) => {
    const scope = read(text);
    expect([bytesToHex(scope.scopeHash), valuesOf(scope), scope.withheld.length]).toEqual([
      scope_hash,
      statements,
      withheld,
    ]);
    expect(codeOf(() => verifyScope(scope, sha256, hexToBytes(scope_hash, 32)))).toBe("nothing thrown");
    expect(read(formatScope(scope))).toEqual(scope);
  });

  test.each(cases(vectors.disclose))("disclose: %s", (_, { text, only, disclosed }) => {
    expect(formatScope(discloseScope(read(text), only, sha256))).toBe(disclosed);
  });

  test.each(cases(vectors.undisclosable))("not disclosed: %s", (_, { text, only, error }) => {
    expect(codeOf(() => discloseScope(read(text), only, sha256))).toBe(error);
  });

  test.each(cases(vectors.bad))("bad: %s", (_, { text, error }) => {
    expect(codeOf(() => read(text))).toBe(error);
  });

  test.each(cases(vectors.not_granted))("of another grant: %s", (_, { text, scope_hash }) => {
    const expected = hexToBytes(scope_hash, 32);
    expect(codeOf(() => verifyScope(read(text), sha256, expected))).toBe("scope_not_granted");
  });

  test.each(cases(vectors.unmakeable))("not made: %s", (_, { statements, error }) => {
    const made = (): unknown => {
      const read = parseStatementsOf(statements);
      return makeScope(read, () => sha256(Uint8Array.of(salt++ >> 8, salt)), sha256);
    };
    let salt = 0;
    expect(codeOf(made)).toBe(error);
  });
});

/** Values that the strict reader would refuse come from programs. */
function parseStatementsOf(statements: unknown): Readonly<Record<string, unknown>> {
  const text = JSON.stringify(statements);
  try {
    return parseStatements(text);
  } catch (error) {
    if (!(error instanceof ScopeError) || error.code !== "scope_json_invalid") throw error;
    return statements as Readonly<Record<string, unknown>>;
  }
}

describe("values of a program", () => {
  const salt = (): Uint8Array => Uint8Array.from(randomBytes(32));
  test.each([
    ["undefined", undefined],
    ["a date", new Date(0)],
    ["bytes", new Uint8Array(3)],
    ["a function", () => 1],
    ["a bigint", 1n],
    ["a list with a hole", Array.from({ length: 2 }).fill(1, 1)],
    ["half of a surrogate pair", "\ud800"],
    ["half of a surrogate pair in a name", { "\udc00": 1 }],
    ["a fraction", 1.5],
    ["not a number", Number.NaN],
  ])("%s is refused", (_, value) => {
    expect(codeOf(() => makeScope({ a: value }, salt, sha256))).toBe("scope_malformed");
  });

  test("what contains itself is refused", () => {
    const loop: unknown[] = [];
    loop.push(loop);
    expect(codeOf(() => makeScope({ a: loop }, salt, sha256))).toBe("scope_too_large");
  });

  test("two documents of the same statements have nothing in common", () => {
    const [one, other] = [makeScope({ a: 1 }, salt, sha256), makeScope({ a: 1 }, salt, sha256)];
    expect(bytesToHex(one.scopeHash)).not.toBe(bytesToHex(other.scopeHash));
  });
});

describe("spoiled documents", () => {
  const good = vectors.good.find(({ name }) => name === "two of five");
  if (good === undefined) throw new RangeError("no vector");
  const wanted = valuesOf(read(good.text));
  const hash = hexToBytes(good.scope_hash, 32);

  /** One or some characters changed, cut off, doubled or put in. */
  function spoil(text: string, random: (bound: number) => number): string {
    const at = random(text.length);
    const character = String.fromCodePoint(random(20) === 0 ? random(0xd800) : 0x20 + random(95));
    switch (random(5)) {
      case 0:
        return text.slice(0, at);
      case 1:
        return text.slice(0, at) + character + text.slice(at);
      case 2:
        return text.slice(0, at) + text.slice(at + 1 + random(3));
      case 3:
        return text.slice(0, at) + text.slice(random(text.length));
      default:
        return text.slice(0, at) + character + text.slice(at + 1);
    }
  }

  test("show what was granted, or nothing", () => {
    const random = randomOf(9901);
    let refused = 0;
    for (let round = 0; round < 4_000; round++) {
      const spoiled = spoil(good.text, random);
      const code = codeOf(() => {
        const scope = parseScope(spoiled);
        verifyScope(scope, sha256, hash);
        // Another layout of the same thing: nothing else may pass.
        expect(valuesOf(scope)).toEqual(wanted);
      });
      if (code !== "nothing thrown") refused++;
    }
    expect(refused).toBeGreaterThan(3_000);
  });
});
