/** test/vectors/bundle.json, bundle-state.json and bundle-scope.json, read as any other implementation reads it. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { bytesToHex, hexToBytes, nobleCrypto } from "@event-anchoring/protocol";
import type { Crypto } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { BUNDLE_CHECKS } from "../src/verify/verify-bundle.ts";
import { BundleError, formatBundle, parseBundle, verifyBundle } from "../src/index.ts";
import type { BundleVerification } from "../src/index.ts";
import { changed } from "../../../test/vector-builders/json.ts";
import type { Json } from "../../../test/vector-builders/json.ts";

interface Case {
  readonly name: string;
  readonly pinned_root_thk: string;
  readonly highest_seen?: { readonly version: number; readonly root_thk: string };
  readonly expect?: { readonly anchor_id?: string; readonly event_hash?: string };
  readonly require_witnessed?: boolean;
  readonly bundle?: Json;
  readonly of?: string;
  readonly changes?: readonly { readonly at: string; readonly to: Json }[];
}

interface GoodCase extends Case {
  readonly outcome: string;
  readonly actor_proven: boolean;
  readonly authorised_at_action: boolean | "unknown";
  readonly reasons_at_action?: readonly string[];
  readonly authorised_now: boolean | "unknown";
  readonly not_checked: readonly string[];
  readonly complete: { readonly after: number; readonly to: number } | null;
  readonly superseded_trust_root: number | null;
  readonly witnessed?: true;
  readonly state?: string;
  readonly in_force?: boolean;
  readonly scopes?: readonly Json[];
}

interface BadCase extends Case {
  readonly fails: string;
  readonly code?: string;
}

interface VectorFile {
  readonly bundles: { readonly [name: string]: Json };
  readonly good: readonly GoodCase[];
  readonly bad: readonly BadCase[];
  readonly equal: readonly { readonly name: string; readonly text: string }[];
  readonly malformed: readonly { readonly name: string; readonly error: string; readonly text: string }[];
}

function read(name: string): VectorFile {
  return JSON.parse(readFileSync(new URL(`../../../test/vectors/${name}`, import.meta.url), "utf8")) as VectorFile;
}

const files = [read("bundle.json"), read("bundle-state.json"), read("bundle-scope.json")];
const bundles: { readonly [name: string]: Json } = Object.assign({}, ...files.map((file) => file.bundles));
const vectors = {
  good: files.flatMap(({ good }) => good),
  bad: files.flatMap(({ bad }) => bad),
  equal: files.flatMap(({ equal }) => equal),
  malformed: files.flatMap(({ malformed }) => malformed),
};

function textOf({ bundle, of = "whole", changes = [] }: Case): string {
  const json = changes.reduce<Json>((value, { at, to }) => changed(value, [at, to]), bundle ?? bundles[of] ?? null);
  return JSON.stringify(json);
}

function optional(hex: string | undefined): Uint8Array | undefined {
  return hex === undefined ? undefined : hexToBytes(hex, 32);
}

function verify(entry: Case, crypto: Crypto = nodeCrypto): BundleVerification {
  const { pinned_root_thk: pin, highest_seen: seen, expect: wanted } = entry;
  return verifyBundle(
    {
      bundle: parseBundle(textOf(entry)),
      trust: { pinnedRootThk: hexToBytes(pin, 32) },
      highestSeen: seen === undefined ? undefined : { version: seen.version, rootThk: hexToBytes(seen.root_thk, 32) },
      expect: { anchorId: optional(wanted?.anchor_id), eventHash: optional(wanted?.event_hash) },
      requireWitnessed: entry.require_witnessed,
    },
    crypto,
  );
}

function codesWith(verification: BundleVerification, result: string): string[] {
  return verification.checks.filter((check) => check.result === result).map(({ code }) => code);
}

function named<Entry extends { readonly name: string }>(entries: readonly Entry[]): [string, Entry][] {
  return entries.map((entry) => [entry.name, entry]);
}

function shownScopes({ scopes }: BundleVerification): unknown {
  return scopes.map(({ scopeHash, grants, statements, withheld }) => ({
    scope_hash: bytesToHex(scopeHash),
    grants: grants.map(bytesToHex),
    statements: Object.fromEntries(statements.map(({ name, value }) => [name, value])),
    withheld,
  }));
}

describe("good bundles", () => {
  test.each(named(vectors.good))("%s", (_, entry) => {
    const verification = verify(entry);
    expect(codesWith(verification, "fail")).toEqual([]);
    expect(codesWith(verification, "not_checked")).toEqual(entry.not_checked);
    expect(verification).toMatchObject({
      outcome: entry.outcome,
      actorProven: entry.actor_proven,
      authorisedAtAction: entry.authorised_at_action,
      authorisedNow: entry.authorised_now,
      complete: entry.complete,
      witnessed: entry.witnessed ?? false,
      trustRoot: { superseded: entry.superseded_trust_root },
    });
    expect(verification.standing?.state).toBe(entry.state ?? verification.standing?.state);
    expect(verification.standing?.isInForce).toBe(entry.in_force ?? verification.standing?.isInForce);
    expect(verification.outcome === "valid").toBe(entry.not_checked.length === 0);
    expect(verification.trace?.authorisedNow).toBe(entry.authorised_now);
    const reasons = verification.trace?.reasons.filter(({ verdict }) => verdict === "at_action") ?? [];
    const codes = reasons.map(({ code }) => code);
    expect(codes).toEqual(entry.reasons_at_action ?? codes);
    expect(shownScopes(verification)).toEqual(entry.scopes ?? []);
  });

  test.each(named(vectors.good.slice(0, 2)))("%s, through noble", (_, entry) => {
    expect(verify(entry, nobleCrypto)).toEqual(verify(entry));
  });
});

describe("bad bundles", () => {
  test.each(named(vectors.bad))("%s", (_, entry) => {
    const { fails } = entry;
    const verification = verify(entry);
    expect(codesWith(verification, "fail")).toEqual([fails]);
    expect(verification.checks.find(({ result }) => result === "fail")?.detail).toContain(entry.code ?? "");
    const after = BUNDLE_CHECKS.slice(BUNDLE_CHECKS.findIndex((code) => code === fails) + 1);
    expect(codesWith(verification, "not_checked")).toEqual(expect.arrayContaining([...after]));
    expect(verification).toMatchObject({
      outcome: "invalid",
      actorProven: false,
      authorisedAtAction: "unknown",
      authorisedNow: "unknown",
      complete: null,
      witnessed: false,
      leaf: null,
      standing: null,
      trace: null,
    });
    expect(verification.checks.every(({ detail }) => detail !== "")).toBe(true);
    expect(verification.scopes).toEqual([]);
  });

  test.each(named(vectors.bad.slice(0, 2)))("%s, through noble", (_, entry) => {
    expect(verify(entry, nobleCrypto)).toEqual(verify(entry));
  });
});

describe("texts", () => {
  test.each(named(vectors.equal))("%s is read", (_, { text }) => {
    const bundle = parseBundle(text);
    expect(parseBundle(formatBundle(bundle))).toEqual(bundle);
  });

  test.each(named(vectors.malformed))("%s is refused", (_, { error, text }) => {
    let code = "nothing thrown";
    try {
      parseBundle(text);
    } catch (thrown) {
      if (!(thrown instanceof BundleError)) throw thrown;
      ({ code } = thrown);
    }
    expect(code).toBe(error);
  });
});

describe("the vectors", () => {
  test("have more bad cases than good ones", () => {
    expect(vectors.bad.length).toBeGreaterThan(vectors.good.length * 1.5);
    expect(vectors.malformed.length).toBeGreaterThan(vectors.equal.length);
  });

  test("have every check fail, and every one that can be left unmade", () => {
    const failing = new Set(vectors.bad.map(({ fails }) => fails));
    const unmade = new Set(vectors.good.flatMap(({ not_checked: codes }) => codes));
    const never = BUNDLE_CHECKS.filter((code) => !failing.has(code) && !unmade.has(code));
    expect(never).toEqual([]);
  });

  test("name each case once", () => {
    for (const cases of [vectors.good, vectors.bad, vectors.equal, vectors.malformed]) {
      const names = cases.map(({ name }) => name);
      expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
    }
  });
});
