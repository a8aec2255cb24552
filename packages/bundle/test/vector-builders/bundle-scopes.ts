/** Bundles with disclosures of what the grants allow. */
import { bytesToHex } from "@event-anchoring/protocol";
import { formatBundle } from "../../src/index.ts";
import { scopeJson } from "../../src/scope/scope.ts";
import type { Scope } from "../../src/scope/scope.ts";
import { changed } from "../../../../test/vector-builders/json.ts";
import type { Json } from "../../../../test/vector-builders/json.ts";
import { hashOf } from "../../../../test/vector-builders/keys.ts";
import { actOf, bundleJson, short, whole } from "./bundle-cases.ts";
import type { Act, BadCase, CutBundle, GoodCase } from "./bundle-cases.ts";
import { LOWER_SCOPE, NAMED, UPPER_SCOPE, withScopes } from "./bundle-named.ts";
import type { Malformed } from "./bundle-malformed.ts";
import { badJson, goodJson } from "./bundles.ts";
import { disclosed, scopeOf } from "./scopes.ts";

const scopes = { upper: UPPER_SCOPE.scopeHash, lower: LOWER_SCOPE.scopeHash };

/** What a reader is told of a disclosure. */
function shown(scope: Scope, ...grants: readonly { readonly anchorId: Uint8Array }[]): Json {
  return {
    scope_hash: bytesToHex(scope.scopeHash),
    grants: grants.map(({ anchorId }) => bytesToHex(anchorId)),
    statements: Object.fromEntries(scope.statements.map(({ name, value }) => [name, value as Json])),
    withheld: scope.withheld.length,
  };
}

function goodCase(
  name: string,
  { world }: Act,
  cut: CutBundle,
  given: readonly (readonly [Scope, ...{ readonly anchorId: Uint8Array }[]])[],
): GoodCase {
  return {
    name,
    source: withScopes(
      cut,
      given.map(([scope]) => scope),
    ),
    outcome: "valid",
    atAction: true,
    now: true,
    complete: [3, world.written.length - 1],
    scopes: given.map(([scope, ...grants]) => shown(scope, ...grants)),
  };
}

function good(): GoodCase[] {
  const act = actOf({ scopes });
  const twice = actOf({ scopes: { upper: LOWER_SCOPE.scopeHash, lower: LOWER_SCOPE.scopeHash } });
  const some = disclosed(LOWER_SCOPE, "actions", "max_amount");
  const cut = short(act.world, act.act);
  const unknown = { atAction: "unknown", now: "unknown", isActorProven: false } as const;
  const ofGrant = goodCase("of a grant that is traced itself", act, short(act.world, act.lower), [[some, act.lower]]);
  return [
    goodCase("two of five statements", act, cut, [[some, act.lower]]),
    goodCase("nothing withheld", act, cut, [[LOWER_SCOPE, act.lower]]),
    goodCase("everything withheld", act, cut, [[disclosed(LOWER_SCOPE), act.lower]]),
    goodCase("of both grants", act, cut, [
      [UPPER_SCOPE, act.upper],
      [some, act.lower],
    ]),
    goodCase("of two grants with one scope", twice, short(twice.world, twice.act), [[some, twice.lower, twice.upper]]),
    goodCase("with every leaf", act, whole(act.world, act.act), [[some, act.lower]]),
    { ...ofGrant, ...unknown },
  ];
}

function bad(): BadCase[] {
  const act = actOf({ scopes });
  const some = disclosed(LOWER_SCOPE, "actions", "max_amount");
  const changedTo = (name: string, code: string, at: string, to: Json): BadCase => {
    return { name, source: { of: "scoped", changes: [[at, to]] }, fails: "scopes", code };
  };
  const given = (name: string, code: string, cut: CutBundle, ...documents: readonly Scope[]): BadCase => {
    return { name, source: withScopes(cut, documents), fails: "scopes", code };
  };
  const differs = "scope_hash_differs";
  const cut = short(act.world, act.act);
  const hex = some.withheld.map(bytesToHex);
  const statement = (scopeJson(some).statements as readonly Json[])[0] ?? null;
  return [
    changedTo("another value", differs, "/scopes/0/statements/1/2", 500_000),
    changedTo("another name", differs, "/scopes/0/statements/1/1", "max_count"),
    changedTo("another salt", differs, "/scopes/0/statements/1/0", bytesToHex(hashOf("another salt"))),
    changedTo("a statement left out", differs, "/scopes/0/statements", [statement]),
    changedTo("a withheld statement left out", differs, "/scopes/0/withheld", hex.slice(1)),
    changedTo("a withheld statement more", differs, "/scopes/0/withheld", [...hex, bytesToHex(hashOf("one"))].sort()),
    changedTo("the scope_hash of another grant", differs, "/scopes/0/scope_hash", bytesToHex(scopes.upper)),
    given("of a grant that is not on the way", "scope_not_granted", cut, scopeOf({ actions: ["everything"] })),
    given(
      "the same statements under other salts",
      "scope_not_granted",
      cut,
      scopeOf({ actions: ["refund", "read_order"], max_amount: 500_000 }, "forged"),
    ),
    given("one good and one of another grant", "scope_not_granted", cut, some, scopeOf({ purpose: "another" })),
    given("twice", "scope_repeated", cut, some, some),
    given("two parts of one", "scope_repeated", cut, some, disclosed(LOWER_SCOPE, "currency")),
    given("of a claim", "scope_not_granted", short(act.world, act.agent.claim), some),
    given("of a grant whose scope is a hash of something else", "scope_not_granted", NAMED.state, some),
  ];
}

function malformed(): Malformed[] {
  const json = bundleJson(NAMED.scoped.bundle);
  const set = (name: string, error: string, at: string, to: Json): Malformed => [
    name,
    error,
    JSON.stringify(changed(json, [at, to])),
  ];
  const bundle = "bundle_malformed";
  const document = scopeJson(disclosed(LOWER_SCOPE, "actions")) as Json;
  return [
    set("scopes that are an object", bundle, "/scopes", {}),
    set("a scope that is a text", bundle, "/scopes/0", JSON.stringify(document)),
    set("null among the scopes", bundle, "/scopes", [null]),
    set("a scope of another format", bundle, "/scopes/0/format", "event-anchoring/v4.3/scope"),
    set("a member more in a scope", bundle, "/scopes/0", { ...(document as object), grant: null }),
    set("statements that descend", bundle, "/scopes/0/statements", [...listOf(json)].reverse()),
    set("a statement twice", bundle, "/scopes/0/statements", [...listOf(json), ...listOf(json).slice(-1)]),
    set("null in a statement", bundle, "/scopes/0/statements/0/2", null),
    set(
      "a statement that is too large",
      "bundle_too_large",
      "/scopes/0/statements/0/2",
      Array.from({ length: 8_200 }, () => 1),
    ),
    set(
      "1,025 scopes",
      "bundle_too_large",
      "/scopes",
      Array.from({ length: 1_025 }, () => 1),
    ),
    [
      "a fraction in a statement",
      "bundle_json_invalid",
      JSON.stringify(json).replace(":5000", ":0.5").replace(",5000]", ",50.5]"),
    ],
  ];
}

function listOf(json: Json): readonly Json[] {
  const [scope] = (json as { readonly scopes: readonly { readonly statements: readonly Json[] }[] }).scopes;
  return scope?.statements ?? [];
}

function named<Case extends { readonly name: string }>(entry: Case): Case {
  return { ...entry, name: `scopes: ${entry.name}` };
}

export function scopeBundleVectors(): Json {
  const json = bundleJson(NAMED.scoped.bundle) as { readonly [name: string]: Json };
  const unscoped = bundleJson(NAMED.state.bundle) as { readonly [name: string]: Json };
  return {
    about:
      "Bundles with disclosures, in the form of bundle.json: `of` is always `scoped`. `scopes` of a good case is " +
      "what is proved of each; `code` of a bad one is how the detail of the check begins.",
    bundles: { scoped: json },
    good: good().map(named).map(goodJson),
    bad: bad().map(named).map(badJson),
    equal: [
      { name: "with a disclosure, as it is written", text: formatBundle(NAMED.scoped.bundle) },
      { name: "no scopes", text: JSON.stringify({ ...unscoped, scopes: [] }) },
      { name: "scopes that are null", text: JSON.stringify({ ...unscoped, scopes: null }) },
    ],
    malformed: malformed().map(([name, error, text]) => ({ name, error, text })),
  };
}
