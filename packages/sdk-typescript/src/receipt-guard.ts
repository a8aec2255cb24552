import type { Leaf, TrustRootChain } from "@event-anchoring/protocol";
import { VerificationError } from "./errors.ts";
import type { Bytes32 } from "./inputs.ts";
import type { Receipt } from "./receipt.ts";
import { verifyReceipt } from "./verify-receipt.ts";
import type { VerifiedReceipt } from "./verify-receipt.ts";
import { extendTrustRoot } from "./verify-trust-root.ts";
import type { TrustRootDocument } from "./verify-trust-root.ts";

/** What a newer version of the trust root may put right: another node, another quorum. */
const CURED_BY_NEWER_TRUST_ROOT: ReadonlySet<string> = new Set([
  "quorum_not_met",
  "origin_unknown",
  "log_signature_missing",
]);

/** What was sent. */
export interface LeafExpectation {
  isRecordedBy(leaf: Leaf): boolean;
}

/** Verifies the receipts of answers, if the client holds a trust root; follows the trust root when it changes. */
export class ReceiptGuard {
  #trustRoot: TrustRootChain | null;
  readonly #fetchDocuments: () => Promise<readonly TrustRootDocument[]>;

  constructor(trustRoot: TrustRootChain | null, fetchDocuments: () => Promise<readonly TrustRootDocument[]>) {
    this.#trustRoot = trustRoot;
    this.#fetchDocuments = fetchDocuments;
  }

  /** The newest chain that was verified; null: the client was made without one. */
  get trustRoot(): TrustRootChain | null {
    return this.#trustRoot;
  }

  /**
   * @param anchorId as the answer names it
   * @throws VerificationError
   */
  async check(receipt: Receipt | null, anchorId: Bytes32, request: LeafExpectation | null = null): Promise<void> {
    if (receipt === null) return;
    const verified = await this.#verify(receipt, anchorId);
    if (verified === null || request === null || request.isRecordedBy(verified.leaf)) return;
    const context = { step: "content", result: verified };
    throw new VerificationError("content_differs", "the leaf does not hold what was sent", context);
  }

  async #verify(receipt: Receipt, anchorId: Bytes32): Promise<VerifiedReceipt | null> {
    const held = this.#trustRoot;
    if (held === null) return null;
    try {
      return verifyReceipt(receipt, { anchorId, trustRoot: held });
    } catch (error) {
      const isCurable = error instanceof VerificationError && CURED_BY_NEWER_TRUST_ROOT.has(error.code);
      if (!isCurable) throw error;
      const newer = extendTrustRoot(held, await this.#fetchDocuments());
      if (newer === held) throw error;
      this.#trustRoot = newer;
      return verifyReceipt(receipt, { anchorId, trustRoot: newer });
    }
  }
}
