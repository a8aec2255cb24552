import {
  ProofError,
  anchorIdOf,
  bytesToBase64,
  bytesToHex,
  formatProof,
  parseProof,
  receiptFromJson,
} from "@event-anchoring/protocol";
import type { Receipt as ReceiptParts, ReceiptJson } from "@event-anchoring/protocol";
import { sha256 } from "./crypto.ts";
import { VerificationError } from "./errors.ts";

/**
 * Leaf, inclusion path and cosigned checkpoint: all that proves one anchor, given a trust root. Having one proves
 * nothing; `verifyReceipt` does. `JSON.stringify(receipt)` is its wire form, `toProofText()` the file to keep.
 */
export class Receipt {
  /** The parts that verification works on. */
  readonly parts: ReceiptParts;
  /** As stated in the receipt, 64 hex digits; for a tlog-proof it is computed. */
  readonly anchorId: string;
  /** A hint, which verification does not rely on; null if none came. */
  readonly trustRootVersion: number | null;

  constructor(parts: ReceiptParts, anchorId: string, trustRootVersion: number | null) {
    this.parts = parts;
    this.anchorId = anchorId;
    this.trustRootVersion = trustRootVersion;
  }

  /**
   * Reads a receipt, which may be attacker-controlled, and verifies nothing.
   * @param source tlog-proof text, JSON text, or parsed JSON
   * @throws VerificationError `proof_…`
   */
  static parse(source: unknown): Receipt {
    if (source instanceof Receipt) return source;
    try {
      return typeof source === "string" ? readText(source) : readJson(source);
    } catch (error) {
      if (!(error instanceof ProofError)) throw error;
      throw new VerificationError(error.code, `not a receipt: ${error.message}`, { cause: error });
    }
  }

  /** The bytes of the leaf. */
  get leaf(): Uint8Array {
    return this.parts.leaf;
  }

  /** Leaf index. */
  get index(): number {
    return this.parts.index;
  }

  get treeSize(): number {
    return this.parts.treeSize;
  }

  /** Hashes of the RFC 6962 inclusion path, from the leaf up. */
  get inclusion(): readonly Uint8Array[] {
    return this.parts.path;
  }

  /** The signed note. */
  get checkpoint(): string {
    return this.parts.checkpoint;
  }

  /** C2SP tlog-proof, the canonical form: the text of a `.tlog-proof` file. */
  toProofText(): string {
    return formatProof(this.parts);
  }

  /** The wire form, as `Receipt.parse` reads it. */
  toJSON(): ReceiptJson {
    return {
      anchor_id: this.anchorId,
      leaf: bytesToBase64(this.leaf),
      index: this.index,
      tree_size: this.treeSize,
      inclusion: this.inclusion.map((hash) => bytesToBase64(hash)),
      checkpoint: this.checkpoint,
      trust_root_version: this.trustRootVersion ?? 0,
    };
  }
}

function readText(text: string): Receipt {
  if (text.trimStart().startsWith("{")) return readJson(parseJson(text));
  const parts = parseProof(text);
  return new Receipt(parts, bytesToHex(anchorIdOf(parts.leaf, sha256)), null);
}

function readJson(value: unknown): Receipt {
  const { receipt, anchorId, trustRootVersion } = receiptFromJson(value);
  return new Receipt(receipt, bytesToHex(anchorId), trustRootVersion);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw new ProofError("proof_malformed", error.message);
    throw error;
  }
}
