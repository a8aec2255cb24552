/** Disclosures that come with a bundle: whose grants they are of. docs/PROTOCOL.md, "Scope documents". */
import { bytesToHex } from "@event-anchoring/protocol";
import type { AnchorId, Sha256 } from "@event-anchoring/protocol";
import { ScopeError } from "../scope/scope-error.ts";
import { verifyScope } from "../scope/scope.ts";
import type { Scope } from "../scope/scope.ts";
import type { ScopeStatement } from "../scope/statement.ts";
import { BundleFailure, failUnless } from "./bundle-failure.ts";

/** Statements that were granted, and that somebody has chosen to disclose. */
export interface ProvedScope {
  readonly scopeHash: Uint8Array;
  /** The grants on the way that have it, from the one in question towards the root. */
  readonly grants: readonly AnchorId[];
  /** Ascending by name. Written by the maker of the grant: what they say is not judged. */
  readonly statements: readonly Pick<ScopeStatement, "name" | "value">[];
  /** How many statements are not disclosed. */
  readonly withheld: number;
}

/** A grant on the way, as its leaf says. */
export interface GrantOnTheWay {
  readonly anchorId: AnchorId;
  readonly scopeHash: Uint8Array;
}

function assertWhole(scope: Scope, at: number, sha256: Sha256): void {
  try {
    verifyScope(scope, sha256);
  } catch (error) {
    if (error instanceof ScopeError) throw new BundleFailure(`${error.code}: scope ${at}: ${error.message}`);
    throw error;
  }
}

/** @throws BundleFailure whose detail begins with the code */
export function proveScopes(
  scopes: readonly Scope[],
  grants: readonly GrantOnTheWay[],
  sha256: Sha256,
): readonly ProvedScope[] {
  const granted = new Map<string, AnchorId[]>();
  for (const { anchorId, scopeHash } of grants) {
    const hex = bytesToHex(scopeHash);
    const holders = granted.get(hex);
    if (holders === undefined) granted.set(hex, [anchorId]);
    else holders.push(anchorId);
  }
  const seen = new Set<string>();
  return scopes.map((scope, at) => {
    assertWhole(scope, at, sha256);
    const hex = bytesToHex(scope.scopeHash);
    failUnless(!seen.has(hex), `scope_repeated: scope ${at}: ${hex} is here twice`);
    seen.add(hex);
    const holders = granted.get(hex);
    if (holders === undefined)
      throw new BundleFailure(`scope_not_granted: scope ${at}: no grant on the way has the scope_hash ${hex}`);
    const statements = scope.statements.map(({ name, value }) => ({ name, value }));
    return { scopeHash: scope.scopeHash, grants: holders, statements, withheld: scope.withheld.length };
  });
}
