/** The chain of trust roots that everything else is judged by. */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  NoteError,
  TrustRootError,
  bytesToHex,
  equalBytes,
  parseSignedTrustRoot,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import type { Findings, RowName } from "./findings.ts";

/** Before all leaves. */
const FIRST = -1;

export function trustRootRow(version: number): RowName {
  return { table: "state.trust_roots", key: `version ${version}`, at: FIRST };
}

function ownHashOf(document: string): Uint8Array | null {
  try {
    return parseSignedTrustRoot(document, nodeCrypto.sha256).rootThk;
  } catch (error) {
    if (error instanceof TrustRootError || error instanceof NoteError) return null;
    throw error;
  }
}

/**
 * @param documents by version, from 1
 * @param pinnedRootThk of any of the versions; null: any version 1 is accepted
 * @param held verified already; null: none
 * @returns null if there is no genesis yet, or the documents are not a valid chain; `held` if it is of the same ones
 */
export function judgedChain(
  documents: readonly string[],
  pinnedRootThk: Uint8Array | null,
  findings: Findings,
  held: TrustRootChain | null = null,
): TrustRootChain | null {
  const chain = held !== null && isOf(held, documents) ? held : verifiedChain(documents, pinnedRootThk, findings);
  if (chain === null) return null;
  const isPinned = pinnedRootThk === null || chain.versions.some(({ rootThk }) => equalBytes(rootThk, pinnedRootThk));
  if (!isPinned) {
    const newest = chain.versions.length;
    findings.add(trustRootRow(newest), "root_thk", bytesToHex(chain.newest.rootThk), bytesToHex(pinnedRootThk));
  }
  return chain;
}

function isOf({ versions }: TrustRootChain, documents: readonly string[]): boolean {
  return versions.length === documents.length && versions.every(({ note }, at) => note === documents[at]);
}

function verifiedChain(
  documents: readonly string[],
  pinnedRootThk: Uint8Array | null,
  findings: Findings,
): TrustRootChain | null {
  const [first] = documents;
  if (first === undefined) {
    if (pinnedRootThk !== null) {
      findings.add(trustRootRow(1), null, "missing", `a trust root of the chain with ${bytesToHex(pinnedRootThk)}`);
    }
    return null;
  }
  const firstHash = ownHashOf(first);
  if (firstHash === null) {
    findings.add(trustRootRow(1), "document", "a text that is no trust root", "a signed trust root");
    return null;
  }
  const verification = verifyTrustRootChain({ documents, pinnedRootThk: firstHash }, nodeCrypto);
  if (verification.result === "refused") {
    const { position, code, detail } = verification;
    findings.add(trustRootRow(position + 1), "document", `${code}: ${detail}`, "the next version, signed by its keys");
    return null;
  }
  return verification.chain;
}
