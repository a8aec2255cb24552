import { anchorIdOf, bytesToHex } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { sha256 } from "./crypto.ts";
import { InvalidInput, VerificationError } from "./errors.ts";
import { holdProof } from "./held-proof.ts";
import type { ProofExpectation } from "./held-proof.ts";
import { hex32 } from "./inputs.ts";
import type { Bytes32 } from "./inputs.ts";
import type { Receipt } from "./receipt.ts";
import { verifyCheckpoint } from "./verify-checkpoint.ts";
import type { VerifiedCheckpoint } from "./verify-checkpoint.ts";
import { verifyReceipt } from "./verify-receipt.ts";
import { extendTrustRoot } from "./verify-trust-root.ts";
import type { TrustRootDocument } from "./verify-trust-root.ts";

/** What a newer version of the trust root may put right: another node, another quorum. */
const CURED_BY_NEWER_TRUST_ROOT: ReadonlySet<string> = new Set([
  "quorum_not_met",
  "origin_unknown",
  "log_signature_missing",
]);

/** Verifies receipts and heads, if the client holds a trust root; follows the trust root when it changes. */
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
   * A receipt must be of the anchor beside it, and is verified if there is a trust root.
   * @param anchorId as the answer names it
   * @throws VerificationError
   */
  async check(receipt: Receipt | null, anchorId: Bytes32): Promise<void> {
    if (receipt === null) return;
    const own = hex32("anchorId", anchorId);
    if (receipt.anchorId !== own || bytesToHex(anchorIdOf(receipt.leaf, sha256)) !== own) {
      throw new VerificationError("anchor_id_differs", `the receipt is not one of ${own}`, { step: "anchor_id" });
    }
    await this.#verify(receipt, own);
  }

  /** What a good checkpoint says. @throws VerificationError; InvalidInput: the client was made without a trust root */
  async verifiedCheckpoint(note: string): Promise<VerifiedCheckpoint> {
    const held = this.#held("heads are verified: make the client with a trust root");
    return this.#underNewest(held, (trustRoot) => verifyCheckpoint(note, trustRoot));
  }

  /**
   * The proof of an answer, if it was asked for, proves what the answer says.
   * @throws VerificationError; InvalidInput: the client was made without a trust root
   */
  async checkProof(answer: Parameters<typeof holdProof>[0], expectation: ProofExpectation): Promise<void> {
    const held = this.#held("proofs are verified: make the client with a trust root");
    await this.#underNewest(held, (trustRoot) => holdProof(answer, expectation, trustRoot));
  }

  /** Asked before the service is. @throws InvalidInput: the client was made without a trust root */
  assertTrustRoot(): void {
    this.#held("proofs are verified: make the client with a trust root");
  }

  #held(why: string): TrustRootChain {
    if (this.#trustRoot === null) throw new InvalidInput("trustRoot", why);
    return this.#trustRoot;
  }

  async #verify(receipt: Receipt, anchorId: string): Promise<void> {
    const held = this.#trustRoot;
    if (held !== null) await this.#underNewest(held, (trustRoot) => verifyReceipt(receipt, { anchorId, trustRoot }));
  }

  /** Verifies, once more under a newer trust root if there is one that may put it right. */
  async #underNewest<Result>(held: TrustRootChain, verify: (trustRoot: TrustRootChain) => Result): Promise<Result> {
    try {
      return verify(held);
    } catch (error) {
      const isCurable = error instanceof VerificationError && CURED_BY_NEWER_TRUST_ROOT.has(error.code);
      if (!isCurable) throw error;
      const newer = extendTrustRoot(held, await this.#fetchDocuments());
      if (newer === held) throw error;
      this.#trustRoot = newer;
      return verify(newer);
    }
  }
}
