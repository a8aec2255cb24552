/** Which bundles a disclosure belongs to; one that belongs to none proves nothing. */
import type { Bundle, Scope } from "@event-anchoring/bundle";
import { DecodeError, LEAF_KIND, bytesToHex, decodeLeaf, equalBytes } from "@event-anchoring/protocol";
import type { GivenOf } from "../given/given.ts";
import type { Judged } from "./judged.ts";

/** The scope hash that a leaf holds; null: it is no grant, or no leaf. */
function scopeHashOf(leaf: Uint8Array): Uint8Array | null {
  try {
    const decoded = decodeLeaf(leaf);
    return decoded.kind === LEAF_KIND.grant ? decoded.scopeHash : null;
  } catch (error) {
    // The verification of the bundle says what is wrong with it.
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

/** Whether a grant in the bundle has this scope hash. Verifying the bundle proves it, or not. */
export function isOfBundle({ scopeHash }: Scope, { leaves, ranges, state }: Bundle): boolean {
  const all = [
    ...leaves.map(({ leaf }) => leaf),
    ...ranges.flatMap((range) => range.leaves),
    ...(state?.records ?? []).map(({ leaf }) => leaf),
  ];
  return all.some((leaf) => {
    const own = scopeHashOf(leaf);
    return own !== null && equalBytes(own, scopeHash);
  });
}

/** A disclosure without its bundle: its statements are not shown, since nothing says who has granted them. */
export function judgeLooseScope({ name, scope }: GivenOf<"scope">, isBesideBundle: boolean): Judged {
  const base = { name, kind: "scope", steps: [], leaf: null, bundle: null } as const;
  const hash = bytesToHex(scope.scopeHash);
  if (isBesideBundle) {
    const text = `NOT VALID (scope_not_granted): no grant in the bundles that you gave has the scope_hash ${hash}`;
    return { ...base, mark: "fail", text };
  }
  const why = "anybody can write a disclosure, and only a bundle proves who has granted what it says";
  return { ...base, mark: "warn", text: `NO BUNDLE: give the bundle of the act or of the grant: ${why}.` };
}
