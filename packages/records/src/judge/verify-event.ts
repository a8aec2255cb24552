/** Verifies one anchor over loaded rows, whatever its kind. docs/PROTOCOL.md, "Verifying". */
import {
  LEAF_KIND,
  anchorIdOf,
  assertNever,
  bytesToHex,
  equalBytes,
  eventActorPayload,
  isZero,
} from "@event-anchoring/protocol";
import type { Crypto, EventLeaf, Leaf, SignedEventLeaf } from "@event-anchoring/protocol";
import { MALFORMED, checkAnchor, deciding, informing, readLeaf, unmade } from "./anchor-checks.ts";
import type { AnchorEvidence, LoadedLeaf } from "./anchor-checks.ts";
import { conclude } from "./checks.ts";
import type { Check, VerificationResult, WeighedCheck } from "./checks.ts";

/** In the order in which they are reported. All but the last three decide, where they apply. */
export const EVENT_CHECKS = [
  "exists",
  "event_hash",
  "leaf",
  "parent",
  "inclusion",
  "certificate",
  "actor_signature",
  "actor_is_iris_subject",
  "event_data_hash_matches",
  "depth",
] as const;

export type EventCheckCode = (typeof EVENT_CHECKS)[number];

export interface EventVerificationInput extends AnchorEvidence {
  /** The hash that the caller expects; null: not compared. */
  readonly eventHash: Uint8Array | null;
  /** The claim that iris_ref names; null: there is none, or it was not loaded. */
  readonly irisClaim: LoadedLeaf | null;
}

type EventCheck = WeighedCheck<EventCheckCode>;

export type AnyEventLeaf = EventLeaf | SignedEventLeaf;

export function isEvent(leaf: Leaf): leaf is AnyEventLeaf {
  return leaf.kind === LEAF_KIND.event || leaf.kind === LEAF_KIND.signedEvent;
}

function checkEventHash(leaf: Leaf, expected: Uint8Array | null): EventCheck {
  if (expected === null) return informing("event_hash", "not_checked", "no event hash was given");
  if (!isEvent(leaf)) return deciding("event_hash", false, `a leaf of kind ${leaf.kind} holds no event hash`);
  const isSame = equalBytes(leaf.eventHash, expected);
  return deciding("event_hash", isSame, `the leaf holds ${bytesToHex(leaf.eventHash)}`);
}

/** Whether the actor's signature is good; `not_checked` if it is unsigned. */
export function checkActorSignature(leaf: Leaf, crypto: Crypto): Check<"actor_signature"> {
  const code = "actor_signature";
  switch (leaf.kind) {
    case LEAF_KIND.signedEvent: {
      const isGood = crypto.ed25519Verify(leaf.actorPublicKey, eventActorPayload(leaf), leaf.actorSignature);
      const detail = `key ${bytesToHex(leaf.actorPublicKey)}`;
      return { code, result: isGood ? "pass" : "fail", detail };
    }
    case LEAF_KIND.event:
      return { code, result: "not_checked", detail: "an event of kind 1 carries no signature of its actor" };
    case LEAF_KIND.genesis:
    case LEAF_KIND.claim:
    case LEAF_KIND.grant:
    case LEAF_KIND.revocation:
    case LEAF_KIND.trustRoot:
      return { code, result: "not_checked", detail: `a leaf of kind ${leaf.kind} has no actor` };
    default:
      return assertNever(leaf);
  }
}

/**
 * Whether the signer of an event is the subject of the claim it names. For an unsigned event, or one that names no
 * claim, this is unknown.
 */
export function checkActorIsIrisSubject(
  leaf: Leaf,
  irisClaim: LoadedLeaf | null,
  crypto: Crypto,
): Check<"actor_is_iris_subject"> {
  const code = "actor_is_iris_subject";
  const unknown = (detail: string): Check<typeof code> => ({ code, result: "not_checked", detail });
  if (leaf.kind !== LEAF_KIND.signedEvent) return unknown("it carries no signature of its actor");
  const { irisRef } = leaf.semanticAnchor;
  if (isZero(irisRef)) return unknown("iris_ref is empty");
  if (irisClaim === null || !equalBytes(anchorIdOf(irisClaim.bytes, crypto.sha256), irisRef))
    return unknown(`the leaf of iris_ref ${bytesToHex(irisRef)} is not loaded`);
  const claim = readLeaf(irisClaim.bytes);
  if (claim?.kind !== LEAF_KIND.claim) return { code, result: "fail", detail: "iris_ref names no claim" };
  const isSubject = equalBytes(claim.subjectPublicKey, leaf.actorPublicKey);
  const detail = `the subject key of iris_ref is ${bytesToHex(claim.subjectPublicKey)}`;
  return { code, result: isSubject ? "pass" : "fail", detail };
}

function checkEventDataHash(leaf: Leaf): EventCheck {
  const code = "event_data_hash_matches";
  if (!isEvent(leaf)) return informing(code, "not_checked", "not an event");
  const { eventDataHash } = leaf.semanticAnchor;
  if (isZero(eventDataHash)) return informing(code, "not_checked", "the event has no event_data_hash");
  const isSame = equalBytes(eventDataHash, leaf.eventHash);
  return informing(code, isSame ? "pass" : "fail", `event_data_hash is ${bytesToHex(eventDataHash)}`);
}

/**
 * Verifies an anchor: that its leaf matches its id, follows its parent, and is in a tree that a quorum has cosigned.
 * For kinds other than events the checks that do not apply are `not_checked` and decide nothing; verifyClaim and
 * verifyGrant check whether a claim or a grant is still good.
 */
export function verifyEvent(input: EventVerificationInput, crypto: Crypto): VerificationResult<EventCheckCode> {
  const { leaf, checks } = checkAnchor(input, crypto);
  if (leaf === null)
    return conclude<EventCheckCode>(
      EVENT_CHECKS.map((code) => (code === "leaf" ? checks.leaf : unmade(code, MALFORMED))),
    );
  const { receipt } = input;
  const isPlaced = receipt.index === leaf.depth && leaf.depth < receipt.treeSize;
  return conclude<EventCheckCode>([
    checks.exists,
    checkEventHash(leaf, input.eventHash),
    checks.leaf,
    checks.parent,
    checks.inclusion,
    checks.certificate,
    { check: checkActorSignature(leaf, crypto), isDeciding: leaf.kind === LEAF_KIND.signedEvent },
    { check: checkActorIsIrisSubject(leaf, input.irisClaim, crypto), isDeciding: false },
    checkEventDataHash(leaf),
    informing("depth", isPlaced ? "pass" : "fail", `depth ${leaf.depth} in a tree of ${receipt.treeSize} leaves`),
  ]);
}
