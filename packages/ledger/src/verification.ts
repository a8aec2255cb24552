/** Verifies one anchor over loaded rows. docs/PROTOCOL.md, "Verifying". */
import {
  LEAF_KIND,
  anchorIdOf,
  assertNever,
  bytesToHex,
  decodeLeaf,
  DecodeError,
  equalBytes,
  eventActorPayload,
  isZero,
  verifyReceipt,
} from "@event-anchoring/protocol";
import type {
  AnchorId,
  Crypto,
  Leaf,
  Receipt,
  ReceiptStepCode,
  ReceiptVerification,
  TrustRootChain,
} from "@event-anchoring/protocol";
import { conclude } from "./checks.ts";
import type { AsOf, Check, CheckResult, VerificationResult, WeighedCheck } from "./checks.ts";

/** In the order in which they are reported. All but the last two decide, where they apply. */
export const EVENT_CHECKS = [
  "exists",
  "event_hash",
  "leaf",
  "parent",
  "inclusion",
  "certificate",
  "actor_signature",
  "event_data_hash_matches",
  "depth",
] as const;

export type EventCheckCode = (typeof EVENT_CHECKS)[number];

/** A row: what the store says a leaf is, and the id it keeps it under. Neither is believed. */
export interface LoadedLeaf {
  readonly anchorId: AnchorId;
  readonly bytes: Uint8Array;
}

export interface EventVerificationInput {
  /** The anchor that is asked about. */
  readonly anchorId: AnchorId;
  /** Its leaf, with the inclusion path to the newest certified checkpoint. */
  readonly receipt: Receipt;
  /** The leaf one depth above it; null for a genesis leaf, or if there is no such row. */
  readonly parent: LoadedLeaf | null;
  /** What the caller believes was anchored; null: not compared. */
  readonly eventHash: Uint8Array | null;
  readonly asOf: AsOf;
  readonly trustRoots: TrustRootChain;
}

type EventCheck = WeighedCheck<EventCheckCode>;

function deciding(code: EventCheckCode, passes: boolean, detail: string): EventCheck {
  return { check: { code, result: passes ? "pass" : "fail", detail }, isDeciding: true };
}

/** It applies, but could not be made: the verdict cannot be good. */
function unmade(code: EventCheckCode, detail: string): EventCheck {
  return { check: { code, result: "not_checked", detail }, isDeciding: true };
}

/** It informs, or does not apply. */
function informing(code: EventCheckCode, result: CheckResult, detail: string): EventCheck {
  return { check: { code, result, detail }, isDeciding: false };
}

function checkExists(leaf: Leaf, asOf: AsOf): EventCheck {
  const detail = `sequence ${leaf.sequence}, as of sequence ${asOf.sequence}`;
  return deciding("exists", leaf.sequence <= asOf.sequence, detail);
}

function checkEventHash(leaf: Leaf, expected: Uint8Array | null): EventCheck {
  if (expected === null) return informing("event_hash", "not_checked", "no event hash was given");
  if (leaf.kind !== LEAF_KIND.event && leaf.kind !== LEAF_KIND.signedEvent)
    return deciding("event_hash", false, `a leaf of kind ${leaf.kind} holds no event hash`);
  const isSame = equalBytes(leaf.eventHash, expected);
  return deciding("event_hash", isSame, `the leaf holds ${bytesToHex(leaf.eventHash)}`);
}

/** Joins steps of the receipt into one check: the first that did not pass speaks for all. */
function checkSteps(code: EventCheckCode, receipt: ReceiptVerification, steps: readonly ReceiptStepCode[]): EventCheck {
  const chosen = receipt.steps.filter((step) => steps.includes(step.code));
  const failed = chosen.find((step) => step.result === "fail");
  if (failed !== undefined) return deciding(code, false, failed.detail);
  const skipped = chosen.find((step) => step.result === "not_checked");
  if (skipped !== undefined) return unmade(code, skipped.detail);
  return deciding(code, true, chosen.map((step) => step.detail).join("; "));
}

function readLeaf(bytes: Uint8Array): Leaf | null {
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

function checkParent(leaf: Leaf, parent: LoadedLeaf | null, crypto: Crypto): EventCheck {
  const fault = parentFault(leaf, parent, crypto);
  if (fault !== null) return deciding("parent", false, fault);
  if (leaf.depth === 0) return deciding("parent", true, "a genesis leaf has none");
  return deciding("parent", true, `${bytesToHex(leaf.parentAnchorId)} at depth ${leaf.depth - 1}`);
}

/** Whether the actor's signature is good; `not_checked` where nobody has signed. */
export function checkActorSignature(leaf: Leaf, crypto: Crypto): Check<"actor_signature"> {
  const code = "actor_signature";
  switch (leaf.kind) {
    case 6: {
      const isGood = crypto.ed25519Verify(leaf.actorPublicKey, eventActorPayload(leaf), leaf.actorSignature);
      const detail = `key ${bytesToHex(leaf.actorPublicKey)}`;
      return { code, result: isGood ? "pass" : "fail", detail };
    }
    case 1:
      return { code, result: "not_checked", detail: "an event of kind 1 carries no signature of its actor" };
    case 0:
    case 2:
    case 3:
    case 4:
    case 5:
      return { code, result: "not_checked", detail: `a leaf of kind ${leaf.kind} has no actor` };
    default:
      return assertNever(leaf);
  }
}

function checkEventDataHash(leaf: Leaf): EventCheck {
  const code = "event_data_hash_matches";
  if (leaf.kind !== LEAF_KIND.event && leaf.kind !== LEAF_KIND.signedEvent)
    return informing(code, "not_checked", "not an event");
  const { eventDataHash } = leaf.semanticAnchor;
  if (isZero(eventDataHash)) return informing(code, "not_checked", "the event has no event_data_hash");
  const isSame = equalBytes(eventDataHash, leaf.eventHash);
  return informing(code, isSame ? "pass" : "fail", `event_data_hash is ${bytesToHex(eventDataHash)}`);
}

/** The verdict on bytes that are no leaf. */
function malformed(receipt: ReceiptVerification): VerificationResult<EventCheckCode> {
  return conclude(
    EVENT_CHECKS.map((code) =>
      code === "leaf" ? checkSteps(code, receipt, ["leaf"]) : unmade(code, "the leaf is malformed"),
    ),
  );
}

/**
 * Verifies an anchor: that it is the leaf it is said to be, follows its parent, and is in a tree that a quorum has
 * cosigned. For kinds other than events the checks that have nothing to look at are `not_checked` and decide nothing.
 */
export function verifyEvent(input: EventVerificationInput, crypto: Crypto): VerificationResult<EventCheckCode> {
  const { anchorId, receipt, trustRoots, asOf } = input;
  const verified = verifyReceipt({ receipt, trustRoots, expect: { anchorId } }, crypto);
  const { leaf } = verified;
  if (leaf === null) return malformed(verified);
  const actor = checkActorSignature(leaf, crypto);
  const isPlaced = receipt.index === leaf.depth && leaf.depth < receipt.treeSize;
  return conclude<EventCheckCode>([
    checkExists(leaf, asOf),
    checkEventHash(leaf, input.eventHash),
    checkSteps("leaf", verified, ["leaf", "anchor_id"]),
    checkParent(leaf, input.parent, crypto),
    checkSteps("inclusion", verified, ["checkpoint", "origin", "index", "inclusion"]),
    checkSteps("certificate", verified, ["log_signature", "cosignatures", "trust_root"]),
    { check: actor, isDeciding: leaf.kind === LEAF_KIND.signedEvent },
    checkEventDataHash(leaf),
    informing("depth", isPlaced ? "pass" : "fail", `depth ${leaf.depth} in a tree of ${receipt.treeSize} leaves`),
  ]);
}
