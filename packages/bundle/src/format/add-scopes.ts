import { equalBytes } from "@event-anchoring/protocol";
import type { Bundle } from "./bundle.ts";
import type { Scope } from "../scope/scope.ts";

/** The bundle with disclosures: one takes the place of another of its scope_hash, so that each is there once. */
export function addScopes(bundle: Bundle, added: readonly Scope[]): Bundle {
  const scopes = added.reduce<readonly Scope[]>(
    (before, scope) => [...before.filter(({ scopeHash }) => !equalBytes(scopeHash, scope.scopeHash)), scope],
    bundle.scopes,
  );
  return { ...bundle, scopes };
}
