/** The trust roots and the pin that everything else is judged by. */
import {
  InvalidBytesError,
  NoteError,
  TrustRootError,
  equalBytes,
  hexToBytes,
  nobleCrypto,
  parseSignedTrustRoot,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import type { SignedTrustRoot } from "@event-anchoring/protocol";
import type { JudgedBy } from "@event-anchoring/verdicts";

/** What the pin field holds. */
export type Pin =
  | { readonly state: "empty" }
  | { readonly state: "malformed" }
  | { readonly state: "given"; readonly rootThk: Uint8Array };

/** RootTHK as a person writes it: 64 hex digits, in groups or not. */
export function parsePin(text: string): Pin {
  const digits = text.replaceAll(/\s/gu, "").toLowerCase();
  if (digits === "") return { state: "empty" };
  try {
    return { state: "given", rootThk: hexToBytes(digits, 32) };
  } catch (error) {
    if (!(error instanceof InvalidBytesError)) throw error;
    return { state: "malformed" };
  }
}

export type HeldTrust =
  | { readonly state: "missing" }
  | { readonly state: "refused"; readonly code: string; readonly detail: string }
  | { readonly state: "held"; readonly judgedBy: JudgedBy };

/** Where the pin came from: typed in, the only way there is here. */
const TYPED_PIN = { source: "field" };

function refused(error: unknown): HeldTrust {
  if (error instanceof TrustRootError) return { state: "refused", code: error.code, detail: error.message };
  if (error instanceof NoteError) return { state: "refused", code: "malformed", detail: error.message };
  throw error;
}

/** Each document once, by version. @throws NoteError, TrustRootError */
function inOrder(documents: readonly string[]): SignedTrustRoot[] {
  const distinct = [...new Set(documents)].map((document) => parseSignedTrustRoot(document, nobleCrypto.sha256));
  return distinct.toSorted((a, b) => a.trustRoot.version - b.trustRoot.version);
}

/**
 * Verifies documents from the pinned one on. Without a pin the first is checked against itself: it is consistent, and
 * nobody knows whose it is.
 */
export function holdTrustRoots(documents: readonly string[], pin: Pin): HeldTrust {
  if (documents.length === 0) return { state: "missing" };
  try {
    const signed = inOrder(documents);
    const pinned = pin.state === "given" ? pin.rootThk : null;
    const start = pinned === null ? 0 : signed.findIndex(({ rootThk }) => equalBytes(rootThk, pinned));
    const held = signed.slice(Math.max(start, 0));
    const pinnedRootThk = pinned ?? held[0]?.rootThk ?? new Uint8Array(32);
    const verification = verifyTrustRootChain({ documents: held.map(({ note }) => note), pinnedRootThk }, nobleCrypto);
    if (verification.result === "refused")
      return { state: "refused", code: verification.code, detail: verification.detail };
    return { state: "held", judgedBy: { chain: verification.chain, pin: pinned === null ? null : TYPED_PIN } };
  } catch (error) {
    return refused(error);
  }
}
