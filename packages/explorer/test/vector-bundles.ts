/** test/vectors/bundle.json, bundle-state.json, bundle-scope.json and receipt.json, as files that a reader may drop. */
import { readFileSync } from "node:fs";
import { changed } from "../../../test/vector-builders/json.ts";
import type { Json } from "../../../test/vector-builders/json.ts";

export interface BundleCase {
  readonly name: string;
  readonly pinned_root_thk: string;
  readonly highest_seen?: object;
  readonly expect?: { readonly anchor_id?: string; readonly event_hash?: string };
  /** Absent: it is not demanded. */
  readonly require_witnessed?: boolean;
  readonly bundle?: Json;
  readonly of?: string;
  readonly changes?: readonly { readonly at: string; readonly to: Json }[];
  readonly outcome?: string;
  readonly fails?: string;
}

export interface ReceiptCase {
  readonly name: string;
  readonly trust_root_versions: number;
  readonly receipt: object;
  readonly expect: { readonly event_hash?: string; readonly payload?: string; readonly anchor_id?: string };
  readonly renewal?: object;
  /** Absent: it is not demanded. */
  readonly require_witnessed?: boolean;
  readonly verdict: string;
  readonly failure: { readonly step: string; readonly code: string } | null;
}

function load(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../../test/vectors/${name}`, import.meta.url), "utf8"));
}

interface BundleFile {
  readonly bundles: { readonly [name: string]: Json };
  readonly good: readonly BundleCase[];
  readonly bad: readonly BundleCase[];
  readonly malformed: readonly { readonly name: string; readonly error: string; readonly text: string }[];
}

const files = ["bundle.json", "bundle-state.json", "bundle-scope.json"].map((name) => load(name) as BundleFile);

export const bundles = {
  bundles: Object.fromEntries(files.flatMap((file) => Object.entries(file.bundles))),
  good: files.flatMap(({ good }) => good),
  bad: files.flatMap(({ bad }) => bad),
  malformed: files.flatMap(({ malformed }) => malformed),
};

export const receipts = load("receipt.json") as {
  readonly pinned_root_thk: string;
  readonly trust_roots: readonly string[];
  readonly proof: {
    readonly good: readonly { readonly proof: string }[];
    readonly bad: readonly { readonly name: string; readonly error: string; readonly proof: string }[];
  };
  readonly good: readonly ReceiptCase[];
  readonly bad: readonly ReceiptCase[];
  readonly witnessed: { readonly good: readonly ReceiptCase[]; readonly bad: readonly ReceiptCase[] };
};

export function bundleText({ bundle, of = "whole", changes = [] }: BundleCase): string {
  const json = changes.reduce<Json>(
    (value, { at, to }) => changed(value, [at, to]),
    bundle ?? bundles.bundles[of] ?? null,
  );
  return JSON.stringify(json);
}

/** Cases that can be dropped together, with the name of the first. */
export function together<Case extends { readonly name: string }>(
  cases: readonly Case[],
  keyOf: (one: Case) => unknown,
): (readonly [name: string, cases: readonly Case[]])[] {
  const groups = new Map<string, Case[]>();
  for (const one of cases) {
    const key = JSON.stringify(keyOf(one));
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups.values()].map((group) => [group[0]?.name ?? "", group]);
}
