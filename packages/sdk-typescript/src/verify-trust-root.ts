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
import type { TrustRootChain, TrustRootVerification } from "@event-anchoring/protocol";
import { crypto, sha256 } from "./crypto.ts";
import { Rollback, SplitView, VerificationError } from "./errors.ts";
import { bytes32, count } from "./inputs.ts";
import type { Bytes32 } from "./inputs.ts";

/** A signed note, alone or as the service answers it. */
export type TrustRootDocument = string | { readonly document: string };

/** The highest version that you have ever seen and kept. */
export interface HighestSeen {
  readonly version: number;
  readonly rootThk: Bytes32;
}

export interface TrustRootInput {
  /** Ascending by version. Those before the pinned one are not looked at. */
  readonly documents: readonly TrustRootDocument[];
  /** RootTHK of one of them; it must come from another source than the documents. */
  readonly pinnedRootThk: Bytes32;
  readonly highestSeen?: HighestSeen | null | undefined;
}

function textOf(document: TrustRootDocument): string {
  return typeof document === "string" ? document : document.document;
}

/** null: it is no signed note. */
function thkOf(document: string): Uint8Array | null {
  try {
    return rootThk(parseNote(document).text, sha256);
  } catch (error) {
    if (error instanceof NoteError) return null;
    throw error;
  }
}

function isThk(document: string, wanted: Uint8Array): boolean {
  const thk = thkOf(document);
  return thk !== null && equalBytes(thk, wanted);
}

function chainOf(verification: TrustRootVerification): TrustRootChain {
  if (verification.result === "verified") return verification.chain;
  const { code, position, detail } = verification;
  throw new VerificationError(code, `trust root ${position}: ${detail}`, { step: "trust_root", result: verification });
}

/** @throws Rollback, SplitView */
export function checkNotOlder(chain: TrustRootChain, { version, rootThk: seen }: HighestSeen): void {
  const thk = bytes32("highestSeen.rootThk", seen);
  const difference = compareWithHighestSeen(chain, { version: count("highestSeen.version", version), rootThk: thk });
  if (difference === null) return;
  const newest = chain.newest.trustRoot.version;
  const result = { newest, seen: { version, rootThk: bytesToHex(thk) } };
  if (difference === "rollback") {
    throw new Rollback("rollback", `the newest trust root is ${newest}, ${version} was seen`, { result });
  }
  throw new SplitView("fork", `trust root ${version} is not the one that was seen`, { result });
}

/**
 * Verifies a chain of trust roots from a pin, offline. docs/PROTOCOL.md, "Trust root".
 * @returns what receipts, checkpoints and bundles are judged by
 * @throws VerificationError with the code of the first rule that is broken; Rollback, SplitView
 */
export function verifyTrustRoot(input: TrustRootInput): TrustRootChain {
  const pinnedRootThk = bytes32("pinnedRootThk", input.pinnedRootThk);
  const documents = input.documents.map(textOf);
  const pinned = documents.findIndex((document) => isThk(document, pinnedRootThk));
  const chain = chainOf(
    verifyTrustRootChain({ documents: documents.slice(Math.max(pinned, 0)), pinnedRootThk }, crypto),
  );
  if (input.highestSeen !== undefined && input.highestSeen !== null) checkNotOlder(chain, input.highestSeen);
  return chain;
}

/**
 * Continues a chain that is held with what a service answers now.
 * @param documents ascending by version; those that are held have to be the same
 * @throws VerificationError; Rollback if the documents end before what is held; SplitView if they contradict it
 */
export function extendTrustRoot(held: TrustRootChain, documents: readonly TrustRootDocument[]): TrustRootChain {
  const texts = documents.map(textOf);
  const newest = held.newest;
  const at = texts.findIndex((document) => isThk(document, newest.rootThk));
  const { version } = newest.trustRoot;
  if (at >= 0) {
    return texts.slice(at + 1).reduce((chain, next) => chainOf(extendTrustRootChain(chain, next, crypto)), held);
  }
  // What is held is not among them: they are older, or of another history. Only one that verifies can say which.
  const first = held.versions.findIndex(({ rootThk: thk }) => texts.some((document) => isThk(document, thk)));
  const shared = first < 0 ? undefined : held.versions[first];
  if (shared === undefined) {
    throw new VerificationError("pin_mismatch", "none of the trust roots is one that is held", { step: "trust_root" });
  }
  const start = texts.findIndex((document) => isThk(document, shared.rootThk));
  const other = chainOf(verifyTrustRootChain({ documents: texts.slice(start), pinnedRootThk: shared.rootThk }, crypto));
  checkNotOlder(other, { version, rootThk: newest.rootThk });
  return held;
}
