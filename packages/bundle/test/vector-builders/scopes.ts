/** Scope documents: how they are hashed, read and disclosed, and texts that are none. */
import { bytesToHex, utf8ToBytes } from "@event-anchoring/protocol";
import { canonicalJson } from "../../src/json/canonical-json.ts";
import { discloseScope, formatScope, makeScope, scopeJson } from "../../src/scope/scope.ts";
import type { Scope } from "../../src/scope/scope.ts";
import { statementDigest } from "../../src/scope/statement.ts";
import type { ScopeStatement } from "../../src/scope/statement.ts";
import type { BundleJson } from "../../src/index.ts";
import { changed } from "../../../../test/vector-builders/json.ts";
import type { Json } from "../../../../test/vector-builders/json.ts";
import { hashOf, sha256 } from "../../../../test/vector-builders/keys.ts";

type Statements = Readonly<Record<string, Json>>;

/** The salts are hashes of numbers: names ascend, so that every implementation draws them in the same order. */
export function scopeOf(statements: Statements, seed = "salt"): Scope {
  let drawn = 0;
  const ascending = Object.fromEntries(Object.entries(statements).sort(([a], [b]) => (a < b ? -1 : 1)));
  return makeScope(ascending, () => hashOf(`${seed} ${drawn++}`), sha256);
}

/** What most cases are about. */
export const REFUNDS: Statements = {
  actions: ["refund", "read_order"],
  currency: "EUR",
  locations: ["https://shop.example/orders"],
  max_amount: 5000,
  purpose: "complaints about deliveries",
};

export const refunds = (): Scope => scopeOf(REFUNDS);

export function disclosed(scope: Scope, ...names: readonly string[]): Scope {
  return discloseScope(scope, names, sha256);
}

const TEXTS: Statements = {
  "a.controls": "\u0000\u0001\b\t\n\u000b\f\r\u001f\u007f\u0080",
  "a.escapes": 'a "quoted" \\ and a / slash',
  "a.format": "\u200b\u202e\u2028\u2029\ufeff",
  "a.unicode": "Grüße, 世界, 😀, e\u0301 is not \u00e9",
  "a.empty": "",
};

const VALUES: Statements = {
  b: { z: 1, a: { "": [], "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\ud83d\ude00": 5, "\u0080": 6, "\u00f6": 7 } },
  bool: [true, false],
  "list.empty": [],
  "list.mixed": [1, "1", true, { "1": 1 }, [[]]],
  max: 9007199254740991,
  object: {},
  zero: 0,
};

function nested(depth: number): Json {
  return depth === 0 ? 1 : [nested(depth - 1)];
}

function hashed(): Json {
  const longName = "n".repeat(64);
  const cases: readonly (readonly [string, Statements])[] = [
    ["refunds", REFUNDS],
    ["one statement", { purpose: "a test" }],
    ["texts", TEXTS],
    ["values, and names in the order of UTF-16", VALUES],
    ["a name of 64 characters, and a value nested 16 deep", { [longName]: nested(16) }],
    ["a statement of 16,384 bytes", { a: "x".repeat(16_384 - 8) }],
  ];
  return cases.map(([name, statements]) => {
    const scope = scopeOf(statements);
    return {
      name,
      salts: scope.statements.map(({ salt }) => bytesToHex(salt)),
      statements: Object.fromEntries(scope.statements.map((each) => [each.name, each.value as Json])),
      canonical: scope.statements.map((each) => canonicalJson([each.name, each.value as BundleJson])),
      digests: scope.statements.map((each) => bytesToHex(statementDigest(each, sha256))),
      scope_hash: bytesToHex(scope.scopeHash),
      text: formatScope(scope),
    };
  });
}

function many(count: number): Scope {
  const names = Array.from({ length: count }, (_, at) => `s${String(at).padStart(4, "0")}`);
  return scopeOf(Object.fromEntries(names.map((name) => [name, 0])));
}

function readGood(name: string, scope: Scope, text = formatScope(scope)): Json {
  return {
    name,
    text,
    scope_hash: bytesToHex(scope.scopeHash),
    statements: Object.fromEntries(scope.statements.map((each) => [each.name, each.value as Json])),
    withheld: scope.withheld.length,
  };
}

function good(): Json {
  const scope = refunds();
  const shown = disclosed(scope, "actions", "max_amount");
  const json = scopeJson(shown) as Json;
  const members = Object.entries(json as Readonly<Record<string, Json>>);
  return [
    readGood("nothing withheld", scope),
    readGood("two of five", shown),
    readGood("of the two one", disclosed(shown, "max_amount")),
    readGood("everything withheld", disclosed(scope)),
    readGood("1,024 statements, all but one withheld", disclosed(many(1_024), "s0512")),
    readGood("indented, without a final newline", shown, JSON.stringify(json, null, 2)),
    readGood("members in another order", shown, JSON.stringify(Object.fromEntries(members.reverse()))),
    readGood("hex in upper case", shown, upperHex(formatScope(shown))),
    readGood("escaped", shown, formatScope(shown).replace("max_amount", "max\\u005famount")),
  ];
}

function upperHex(text: string): string {
  return text.replaceAll(/[0-9a-f]{64}/gu, (hex) => hex.toUpperCase());
}

function disclosures(): Json {
  const scope = refunds();
  const shown = disclosed(scope, "actions", "max_amount");
  const from = (name: string, of: Scope, only: readonly string[]): Json => ({
    name,
    text: formatScope(of),
    only,
    disclosed: formatScope(disclosed(of, ...only)),
  });
  return [
    from("two", scope, ["actions", "max_amount"]),
    from("two, named in another order and twice", scope, ["max_amount", "actions", "max_amount"]),
    from("none", scope, []),
    from("all", scope, Object.keys(REFUNDS)),
    from("one of two that were disclosed", shown, ["actions"]),
  ];
}

function undisclosable(): Json {
  const scope = refunds();
  const shown = disclosed(scope, "actions");
  const from = (name: string, of: Scope, only: readonly string[]): Json => {
    return { name, text: formatScope(of), only, error: "scope_name_unknown" };
  };
  return [
    from("a name that is not there", scope, ["actions", "max_amounts"]),
    from("a statement that is withheld", shown, ["max_amount"]),
    from("an empty name", scope, [""]),
  ];
}

/** A text, and the code that it is refused with. */
type Bad = readonly [name: string, error: string, text: string];

function badTexts(text: string): Bad[] {
  const json = "scope_json_invalid";
  const edit = (from: string | RegExp, to: string): string => {
    const edited = text.replace(from, to);
    if (edited === text) throw new Error(`nothing matches ${String(from)}`);
    return edited;
  };
  return [
    ["no text", json, ""],
    ["cut in the middle", json, text.slice(0, text.length / 2)],
    ["something after it", json, `${text}{}`],
    ["a byte order mark", json, `\ufeff${text}`],
    ["a member twice", json, edit('"withheld":', '"withheld":[],"withheld":')],
    ["a member twice, once escaped", json, edit('"withheld":', '"w\\u0069thheld":[],"withheld":')],
    ["a member of a value twice", json, edit("5000", '{"a":1,"a":2}')],
    ["a fraction", json, edit("5000", "50.5")],
    ["a fraction of nothing", json, edit("5000", "5000.0")],
    ["an exponent", json, edit("5000", "5e3")],
    ["a negative number", json, edit("5000", "-5000")],
    ["minus zero", json, edit("5000", "-0")],
    ["a leading zero", json, edit("5000", "05000")],
    ["2^53", json, edit("5000", "9007199254740992")],
    ["NaN", json, edit("5000", "NaN")],
    ["half of a surrogate pair", json, edit("5000", '"\\ud800"')],
    ["a control character in a text", json, edit("5000", '"\u0001"')],
    ["nested without end", json, edit("5000", `${"[".repeat(10_000)}${"]".repeat(10_000)}`)],
    ["another format", "scope_format_unknown", edit("v4.2/scope", "v4.3/scope")],
    ["the format of a bundle", "scope_format_unknown", edit("v4.2/scope", "v4.2/bundle")],
    ["a list", "scope_malformed", `[${text}]`],
    ["null", "scope_malformed", "null"],
  ];
}

function badMembers(scope: Scope): Bad[] {
  const json = scopeJson(scope) as Json;
  const members = json as Readonly<Record<string, Json>>;
  const set = (name: string, at: string, to: Json, error = "scope_malformed"): Bad => [
    `${at.slice(1)}: ${name}`,
    error,
    JSON.stringify(changed(json, [at, to])),
  ];
  const without = Object.keys(members).map((name): Bad => {
    const { [name]: _, ...others } = members;
    const error = name === "format" ? "scope_format_unknown" : "scope_malformed";
    return [`no ${name}`, error, JSON.stringify(others)];
  });
  const { withheld, statements } = scope;
  const listed = scopeJson(scope).statements as readonly Json[];
  const value = (name: string, to: Json, error?: string): Bad => set(name, "/statements/1/2", to, error);
  const name = (what: string, to: Json): Bad => set(what, "/statements/1/1", to);
  return [
    ...without,
    ["a member more", "scope_malformed", JSON.stringify({ ...members, salt: "" })],
    set("63 digits", "/scope_hash", "0".repeat(63)),
    set("null", "/scope_hash", null),
    set("an object", "/statements", {}),
    set("null", "/statements", null),
    set("an object", "/statements/0", { salt: "", name: "", value: "" }),
    set("no value", "/statements/0", listed[0] === undefined ? null : (listed[0] as readonly Json[]).slice(0, 2)),
    set("an item more", "/statements/0", [...(listed[0] as readonly Json[]), 1]),
    set("31 bytes", "/statements/0/0", "ab".repeat(31)),
    set("33 bytes", "/statements/0/0", "ab".repeat(33)),
    set("a number", "/statements/0/0", 1),
    name("a number", 1),
    name("nothing", ""),
    name("upper case", "Max_amount"),
    name("a space", "max amount"),
    name("a digit first", "1max"),
    name("another script", "b\u0430nk"),
    name("a newline behind it", "max_amount\n"),
    name("a comma", "max,amount"),
    name("65 characters", "m".repeat(65)),
    value("null", null),
    value("null inside", { a: null }),
    value("nested 17 deep", nested(17), "scope_too_large"),
    value("a statement of 16,385 bytes", "x".repeat(16_385 - 17), "scope_too_large"),
    set("descending", "/statements", [...listed].reverse()),
    set("a statement twice", "/statements", [listed[0] ?? null, ...listed], "scope_repeated"),
    set("a name twice", "/statements/1/1", "actions", "scope_repeated"),
    set("a salt twice", "/statements/1/0", bytesToHex(statements[0]?.salt ?? new Uint8Array(0)), "scope_repeated"),
    set("a text", "/withheld", bytesToHex(withheld[0] ?? new Uint8Array(0))),
    set("null", "/withheld", null),
    set("31 bytes", "/withheld/0", "ab".repeat(31)),
    set("a list in it", "/withheld/0", []),
    set("descending", "/withheld", withheld.map(bytesToHex).reverse()),
    set(
      "a digest twice",
      "/withheld",
      [withheld[0], ...withheld].map((each) => bytesToHex(each ?? new Uint8Array(0))),
      "scope_repeated",
    ),
    ["nothing at all", "scope_malformed", JSON.stringify({ ...members, statements: [], withheld: [] })],
  ];
}

function digestHex(statement: ScopeStatement): string {
  return bytesToHex(statementDigest(statement, sha256));
}

/** What a stranger makes of a good disclosure. */
function altered(scope: Scope): Bad[] {
  const json = scopeJson(scope) as Json;
  const differs = "scope_hash_differs";
  const set = (name: string, at: string, to: Json): Bad => [name, differs, JSON.stringify(changed(json, [at, to]))];
  const { withheld, statements } = scope;
  const [first] = statements;
  if (first === undefined) throw new RangeError("nothing is disclosed");
  const hex = withheld.map(bytesToHex);
  const both = [...hex, digestHex(first)].sort();
  return [
    set("another value", "/statements/1/2", 500_000),
    set("the value as a text", "/statements/1/2", "5000"),
    set("another name", "/statements/1/1", "max_count"),
    set("another salt", "/statements/1/0", bytesToHex(hashOf("another salt"))),
    set("the items of a list in another order", "/statements/0/2", ["read_order", "refund"]),
    set("a statement left out", "/statements", (scopeJson(scope).statements as readonly Json[]).slice(1)),
    set("a digest left out", "/withheld", hex.slice(1)),
    set("a digest more", "/withheld", [...hex, bytesToHex(hashOf("decoy"))].sort()),
    set("another digest", "/withheld/0", "00".repeat(32)),
    set("another scope_hash", "/scope_hash", bytesToHex(hashOf("scope"))),
    ["a statement disclosed and withheld", "scope_repeated", JSON.stringify(changed(json, ["/withheld", both]))],
  ];
}

function tooMany(scope: Scope): Bad[] {
  const json = scopeJson(scope) as Json;
  const digests = Array.from({ length: 1_025 }, (_, at) => bytesToHex(hashOf(`digest ${at}`))).sort();
  return [
    ["1,025 digests", "scope_too_large", JSON.stringify(changed(json, ["/withheld", digests]))],
    [
      "two statements and 1,023 digests",
      "scope_too_large",
      JSON.stringify(changed(json, ["/withheld", digests.slice(2)])),
    ],
  ];
}

/** What somebody writes to make a document of. */
function unmakeable(): Json {
  const cases: readonly (readonly [string, string, Json])[] = [
    ["nothing", "scope_malformed", {}],
    ["a list", "scope_malformed", [["max_amount", 1]]],
    ["null", "scope_malformed", { a: null }],
    ["null inside", "scope_malformed", { a: [{ b: null }] }],
    ["a fraction", "scope_malformed", { a: 0.5 }],
    ["a negative number", "scope_malformed", { a: -1 }],
    ["2^53", "scope_malformed", { a: 2 ** 53 }],
    ["a fraction inside", "scope_malformed", { a: { b: [1, 0.25] } }],
    ["an empty name", "scope_malformed", { "": 1 }],
    ["a name in upper case", "scope_malformed", { A: 1 }],
    ["a name of 65 characters", "scope_malformed", { ["a".repeat(65)]: 1 }],
    ["nested 17 deep", "scope_too_large", { a: nested(17) }],
    ["a statement of 16,385 bytes", "scope_too_large", { a: "x".repeat(16_385 - 8) }],
    [
      "1,025 statements",
      "scope_too_large",
      Object.fromEntries(Array.from({ length: 1_025 }, (_, at) => [`s${at}`, 0])),
    ],
  ];
  return cases.map(([name, error, statements]) => ({ name, error, statements }));
}

export function scopeVectors(): Json {
  const shown = disclosed(refunds(), "actions", "max_amount");
  const bad = [...badTexts(formatScope(shown)), ...badMembers(shown), ...altered(shown), ...tooMany(shown)];
  const other = refunds();
  return {
    about:
      "Scope documents. hash: `statements` under `salts`, both ascending by name, have this canonical JSON and these " +
      "digests, and make `scope_hash` and `text`. good: `text` can be read. disclose: of `text` the statements " +
      "`only` are disclosed, as `disclosed`. undisclosable: that is refused. bad: `text` is refused. not_granted: " +
      "`text` is good, and refused for a grant of `scope_hash`. unmakeable: no document is made of `statements`.",
    hash: hashed(),
    good: good(),
    disclose: disclosures(),
    undisclosable: undisclosable(),
    bad: bad.map(([name, error, text]) => ({ name, error, text })),
    not_granted: [
      { name: "a hash of something else", text: formatScope(shown), scope_hash: bytesToHex(hashOf("scope")) },
      {
        name: "the same statements under other salts",
        text: formatScope(scopeOf(REFUNDS, "other salt")),
        scope_hash: bytesToHex(other.scopeHash),
      },
      {
        name: "a file as a whole",
        text: formatScope(other),
        scope_hash: bytesToHex(sha256(utf8ToBytes(formatScope(other)))),
      },
    ],
    unmakeable: unmakeable(),
  };
}
