/** Derives a verified chain from the trust roots of a bundle and what its reader knows. */
import {
  NoteError,
  bytesToHex,
  compareWithHighestSeen,
  equalBytes,
  extendTrustRootChain,
  parseNote,
  rootThk,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import type { Crypto, Sha256, TrustRootChain, TrustRootVerification } from "@event-anchoring/protocol";
import { BundleFailure } from "./bundle-failure.ts";

/** What the reader of a bundle trusts, from a source other than the bundle. */
export type BundleTrust =
  /** RootTHK of any version. The bundle's documents before that version are not read. */
  | { readonly pinnedRootThk: Uint8Array; readonly trustRoots?: undefined }
  /** A chain that is already verified. The bundle may continue it, and must not contradict it. */
  | { readonly trustRoots: TrustRootChain; readonly pinnedRootThk?: undefined };

/** The highest version that the reader has ever seen and kept. */
export interface HighestSeen {
  readonly version: number;
  readonly rootThk: Uint8Array;
}

/** null: it is no signed note. */
function thkOf(document: string, sha256: Sha256): Uint8Array | null {
  try {
    return rootThk(parseNote(document).text, sha256);
  } catch (error) {
    if (error instanceof NoteError) return null;
    throw error;
  }
}

function verifiedOf(verification: TrustRootVerification, before: number): TrustRootChain {
  if (verification.result === "verified") return verification.chain;
  const { code, position, detail } = verification;
  throw new BundleFailure(`trust root ${position + before}: ${code}: ${detail}`);
}

function isThk(document: string, wanted: Uint8Array, sha256: Sha256): boolean {
  const thk = thkOf(document, sha256);
  return thk !== null && equalBytes(thk, wanted);
}

function fromPin(documents: readonly string[], pinnedRootThk: Uint8Array, crypto: Crypto): TrustRootChain {
  const start = Math.max(
    documents.findIndex((document) => isThk(document, pinnedRootThk, crypto.sha256)),
    0,
  );
  return verifiedOf(verifyTrustRootChain({ documents: documents.slice(start), pinnedRootThk }, crypto), start);
}

/** The documents from the first one that is held on are those that are held, and then what follows them. */
function extended(documents: readonly string[], held: TrustRootChain, crypto: Crypto): TrustRootChain {
  const [first] = held.versions;
  const start = documents.findIndex((document) => isThk(document, first?.rootThk ?? new Uint8Array(0), crypto.sha256));
  if (start < 0) throw new BundleFailure("the trust root that is held is not among those of the bundle");
  return documents.slice(start).reduce((chain, document, at) => {
    const version = held.versions[at];
    if (version === undefined) return verifiedOf(extendTrustRootChain(chain, document, crypto), start);
    if (isThk(document, version.rootThk, crypto.sha256)) return chain;
    throw new BundleFailure(`trust root ${start + at} is not version ${version.trustRoot.version} as it is held`);
  }, held);
}

/** @throws BundleFailure */
export function judgeTrustRoots(
  documents: readonly string[],
  trust: BundleTrust,
  highestSeen: HighestSeen | null,
  crypto: Crypto,
): TrustRootChain {
  const chain =
    trust.trustRoots === undefined
      ? fromPin(documents, trust.pinnedRootThk, crypto)
      : extended(documents, trust.trustRoots, crypto);
  const difference = highestSeen === null ? null : compareWithHighestSeen(chain, highestSeen);
  if (highestSeen === null || difference === null) return chain;
  const seen = `version ${highestSeen.version}, ${bytesToHex(highestSeen.rootThk)}`;
  throw new BundleFailure(`${difference}: the highest trust root seen is ${seen}`);
}
