/** The checks that apply to anchors of every kind. docs/PROTOCOL.md, "Verifying". */
import { anchorIdOf, bytesToHex, decodeLeaf, DecodeError, equalBytes, verifyReceipt } from "@event-anchoring/protocol";
import type {
  AnchorId,
  Crypto,
  Leaf,
  Receipt,
  ReceiptStepCode,
  ReceiptVerification,
  TrustRootChain,
} from "@event-anchoring/protocol";
import type { AsOf } from "../book/as-of.ts";
import type { CheckResult, WeighedCheck } from "./checks.ts";

export type AnchorCheckCode = "exists" | "leaf" | "parent" | "inclusion" | "certificate";

/** A row: a leaf's bytes and id, as the store has them. Neither is trusted. */
export interface LoadedLeaf {
  readonly anchorId: AnchorId;
  readonly bytes: Uint8Array;
}

/** The input to the checks of an anchor. */
export interface AnchorEvidence {
  /** The anchor that is asked about. */
  readonly anchorId: AnchorId;
  /** Its leaf, with the inclusion path to the newest certified checkpoint. */
  readonly receipt: Receipt;
  /** The leaf one depth above it; null for a genesis leaf, or if there is no such row. */
  readonly parent: LoadedLeaf | null;
  readonly asOf: AsOf;
  readonly trustRoots: TrustRootChain;
}

export function deciding<Code extends string>(code: Code, passes: boolean, detail: string): WeighedCheck<Code> {
  return { check: { code, result: passes ? "pass" : "fail", detail }, isDeciding: true };
}

/** It applies, but could not be made: the verdict cannot be good. */
export function unmade<Code extends string>(code: Code, detail: string): WeighedCheck<Code> {
  return { check: { code, result: "not_checked", detail }, isDeciding: true };
}

/** It informs, or does not apply. */
export function informing<Code extends string>(code: Code, result: CheckResult, detail: string): WeighedCheck<Code> {
  return { check: { code, result, detail }, isDeciding: false };
}

/** Passes unless there is a fault. */
function faultless<Code extends string>(code: Code, fault: string | null, detail: string): WeighedCheck<Code> {
  return deciding(code, fault === null, fault ?? detail);
}

/** Joins steps of the receipt into one check: the first that did not pass is the result. */
function checkSteps<Code extends string>(
  code: Code,
  receipt: ReceiptVerification,
  steps: readonly ReceiptStepCode[],
): WeighedCheck<Code> {
  const chosen = receipt.steps.filter((step) => steps.includes(step.code));
  const failed = chosen.find((step) => step.result === "fail");
  if (failed !== undefined) return deciding(code, false, failed.detail);
  const skipped = chosen.find((step) => step.result === "not_checked");
  if (skipped !== undefined) return unmade(code, skipped.detail);
  return deciding(code, true, chosen.map((step) => step.detail).join("; "));
}

/** null: the bytes are no leaf. */
export function readLeaf(bytes: Uint8Array): Leaf | null {
  try {
    return decodeLeaf(bytes);
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

/** Why a row is not the parent of a leaf, or null. */
export function parentFault(leaf: Leaf, parent: LoadedLeaf | null, crypto: Crypto): string | null {
  if (leaf.depth === 0) return null;
  if (parent === null) return "the leaf before it is missing";
  const parentId = anchorIdOf(parent.bytes, crypto.sha256);
  if (!equalBytes(parentId, leaf.parentAnchorId)) return `the leaf before it hashes to ${bytesToHex(parentId)}`;
  const before = readLeaf(parent.bytes);
  if (before === null) return "the leaf before it is malformed";
  if (!equalBytes(before.originFingerprint, leaf.originFingerprint)) return "the leaf before it is of another origin";
  if (before.depth !== leaf.depth - 1) return `the leaf before it has depth ${before.depth}`;
  if (before.sequence >= leaf.sequence) return `the leaf before it has sequence ${before.sequence}`;
  if (before.acceptedMs > leaf.acceptedMs) return "the leaf before it is younger";
  return null;
}

function checkParent(leaf: Leaf, parent: LoadedLeaf | null, crypto: Crypto): WeighedCheck<"parent"> {
  const isFirst = leaf.depth === 0;
  const detail = isFirst ? "a genesis leaf has none" : `${bytesToHex(leaf.parentAnchorId)} at depth ${leaf.depth - 1}`;
  return faultless("parent", parentFault(leaf, parent, crypto), detail);
}

function checkExists(leaf: Leaf, asOf: AsOf): WeighedCheck<"exists"> {
  return deciding("exists", leaf.sequence <= asOf.sequence, `sequence ${leaf.sequence}, as of ${positionText(asOf)}`);
}

export function positionText({ sequence, timeMs }: AsOf): string {
  return `sequence ${sequence} at ${timeMs} ms`;
}

/** The results for an anchor. */
export interface AnchorChecks {
  /** null: the bytes are no leaf; only the check `leaf` was made, and failed. */
  readonly leaf: Leaf | null;
  readonly checks: Readonly<{ [Code in AnchorCheckCode]: WeighedCheck<Code> }>;
}

/** Whether an anchor's leaf matches its id, follows its parent, and is in a tree that a quorum has cosigned. */
export function checkAnchor(evidence: AnchorEvidence, crypto: Crypto): AnchorChecks {
  const { anchorId, receipt, trustRoots, asOf, parent } = evidence;
  const verified = verifyReceipt({ receipt, trustRoots, expect: { anchorId } }, crypto);
  const { leaf } = verified;
  const isLeaf = checkSteps("leaf", verified, ["leaf", "anchor_id"]);
  return {
    leaf,
    checks: {
      exists: leaf === null ? unmade("exists", MALFORMED) : checkExists(leaf, asOf),
      leaf: isLeaf,
      parent: leaf === null ? unmade("parent", MALFORMED) : checkParent(leaf, parent, crypto),
      inclusion: checkSteps("inclusion", verified, ["checkpoint", "origin", "index", "inclusion"]),
      certificate: checkSteps("certificate", verified, ["log_signature", "cosignatures", "trust_root"]),
    },
  };
}

/** Why the other checks of a malformed leaf were not made. */
export const MALFORMED = "the leaf is malformed";
