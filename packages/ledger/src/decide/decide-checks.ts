/**
 * The checks that several commands share. Every command runs its checks in this order, and the first that fails gives
 * the answer; docs/PROTOCOL.md, "Deciding", is the contract.
 *
 *   1  the API key is live, with a scope that suffices, at this position of the log
 *   2  the origin is known (for a revocation: the target and its origin are known)
 *   3  signatures; for an unsigned revocation or an erasure, that the asker recorded the target or is an operator
 *   4  idempotency: a record that exists already is replayed, whatever has changed since
 *   5  the origin accepts new records
 *   6  references, in field order: each exists, and is of its kind
 *   7  times
 *   8  the state of the records that this one depends on
 */
import { equalBytes } from "@event-anchoring/protocol";
import type { LeafKind, OriginFingerprint } from "@event-anchoring/protocol";
import { isLiveApiKey } from "../state/api-key.ts";
import type { Credential, Scope } from "../entry/command.ts";
import type { Asker } from "./content-hash.ts";
import type { DecisionDraft, OriginDraft } from "./decision-draft.ts";
import type { CommandOutcome, LeafWrite, RecordOutcome } from "./decision.ts";
import type { AnchorFact, SignatureToVerify } from "@event-anchoring/records";
import type { ContentFact } from "./facts.ts";
import { LIMITS } from "../entry/limits.ts";
import { reject } from "./rejection.ts";
import type { Rejection } from "./rejection.ts";

/** Check 1. The api's earlier check does not count. @param scopes any of them suffices */
export function judgeCredential(
  credential: Credential,
  scopes: readonly Scope[],
  draft: DecisionDraft,
): Rejection | null {
  const key = draft.apiKey(credential.keyId);
  if (key === null) return reject("api_key_invalid", "no such API key");
  if (!equalBytes(key.apiClientId, credential.apiClientId))
    return reject("api_key_invalid", "the API key belongs to another API client");
  if (!isLiveApiKey(key, draft.acceptedMs)) return reject("api_key_invalid", "the API key is revoked or expired");
  if (!scopes.some((scope) => key.scopes.includes(scope)))
    return reject("scope_missing", `the API key has no scope ${scopes.join(" or ")}`);
  return null;
}

/** Check 2. */
export function judgeOrigin(originFingerprint: OriginFingerprint, draft: DecisionDraft): Rejection | null {
  if (draft.origin(originFingerprint) !== null) return null;
  return reject("origin_unknown", "no trust root lists this origin", "/origin_fingerprint");
}

/** Check 3: the first bad signature, in the order in which they were made. */
export function judgeSignatures(signatures: readonly SignatureToVerify[], draft: DecisionDraft): Rejection | null {
  const bad = signatures.find(
    ({ publicKey, message, signature }) => !draft.crypto.ed25519Verify(publicKey, message, signature),
  );
  return bad === undefined ? null : reject("signature_invalid", "the signature is not good", bad.pointer);
}

/**
 * Check 3, for requests without a party's signature: an API client may name its own records, an operator any.
 * @param recordedBy 16 bytes: the API client that recorded it
 */
export function isAskers(asker: Asker, recordedBy: Uint8Array | null): boolean {
  return asker.kind === "operator" || (recordedBy !== null && equalBytes(recordedBy, asker.apiClientId));
}

/** @param what another API client's record, with its article */
export function notOwnRecord(what: string): Rejection {
  return reject("not_own_record", `another API client has recorded ${what}`, "/anchor_id");
}

/** Check 5. */
export function judgeOriginOpen(originFingerprint: OriginFingerprint, draft: DecisionDraft): Rejection | null {
  const { status } = knownOrigin(originFingerprint, draft);
  return status === "active" ? null : reject("origin_closed", `the origin is ${status}`, "/origin_fingerprint");
}

/** Check 6. @param kind the only one that it may be; null: any */
export function judgeReference(found: AnchorFact | null, kind: LeafKind | null, pointer: string): Rejection | null {
  if (found === null) return reject("reference_not_found", "no anchor has this id", pointer);
  if (kind === null || found.kind === kind) return null;
  return reject("reference_wrong_kind", `expected kind ${kind}, found kind ${found.kind}`, pointer);
}

/** Check 7: the stated time of issue is recorded, and not judged unless it lies ahead. */
export function judgeIssuedAt(issuedAt: number, draft: DecisionDraft): Rejection | null {
  if (issuedAt <= draft.acceptedMs + LIMITS.issuedAtLeadMsMax) return null;
  return reject("issued_in_future", `accepted at ${draft.acceptedMs}, issued at ${issuedAt}`, "/issued_at");
}

/** Check 7: nothing begins after its own end. */
export function judgeExpiry(expiresAt: number, draft: DecisionDraft): Rejection | null {
  if (expiresAt === 0 || expiresAt > draft.acceptedMs) return null;
  return reject("window_invalid", `accepted at ${draft.acceptedMs}, expired at ${expiresAt}`, "/expires_at");
}

/** @throws RangeError unless check 2 has passed */
export function knownOrigin(originFingerprint: OriginFingerprint, draft: DecisionDraft): OriginDraft {
  const origin = draft.origin(originFingerprint);
  if (origin === null) throw new RangeError("a judged record has an origin");
  return origin;
}

/** The whole command is refused. */
export function refused(rejection: Rejection): CommandOutcome {
  return { kind: "rejected", rejection };
}

/** The outcome of a command with one record. */
export function recorded(record: RecordOutcome): CommandOutcome {
  return { kind: "records", refused: false, records: [record] };
}

export function rejectedRecord(rejection: Rejection): CommandOutcome {
  return recorded({ status: "rejected", rejection });
}

export function acceptedRecord(leaf: LeafWrite): CommandOutcome {
  return recorded({ status: "accepted", leaf, clientEventSalt: null });
}

/** The answer of check 4. */
export function replayOf({ anchorId, originFingerprint, sequence }: ContentFact): RecordOutcome {
  return { status: "replayed", anchorId, originFingerprint, sequence };
}
