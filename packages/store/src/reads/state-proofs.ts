/** Proofs of values in the state tree of one snapshot. */
import { StatePagesMissing, proveState, StatePage } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import type { StateProof } from "@event-anchoring/protocol";
import { prefixesBelow } from "../ledger/state-tree.ts";
import type { Reader } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { loadStatePages } from "../tables/tree-pages.ts";

const { sha256 } = nodeCrypto;

/** Parallel to the keys; the prefixes of the pages that are not loaded yet, if there are some. */
function proofsFrom(
  pages: ReadonlyMap<string, StatePage>,
  keys: readonly Uint8Array[],
): { readonly proofs: readonly StateProof[]; readonly missing: readonly string[] } {
  const missing = new Set<string>();
  const proofs = keys.flatMap((key) => {
    try {
      return [proveState(pages, key, sha256)];
    } catch (error) {
      if (!(error instanceof StatePagesMissing)) throw error;
      for (const prefix of error.prefixes) missing.add(prefix);
      return [];
    }
  });
  return { proofs, missing: [...missing] };
}

/**
 * Proofs of keys, all of one tree.
 * @param session sees one snapshot for all statements
 * @throws StoreError `corrupt`
 */
export async function loadStateProofs(session: Reader, keys: readonly Uint8Array[]): Promise<readonly StateProof[]> {
  const pages = new Map<string, StatePage>();
  const names = keys.map(bytesToHex);
  for (;;) {
    const { proofs, missing } = proofsFrom(pages, keys);
    if (missing.length === 0) return proofs;
    for (const [prefix, page] of await loadStatePages(session, prefixesBelow(missing, names))) pages.set(prefix, page);
    if (!pages.has("")) pages.set("", StatePage.empty);
    const absent = missing.find((prefix) => !pages.has(prefix));
    if (absent !== undefined) throw new StoreError("corrupt", `page "${absent}" of the state tree is missing`);
  }
}
