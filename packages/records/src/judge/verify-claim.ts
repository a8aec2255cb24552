/** Verifies one claim over loaded rows. docs/PROTOCOL.md, "Verifying". */
import { LEAF_KIND, bytesToHex } from "@event-anchoring/protocol";
import type { ClaimLeaf, Crypto } from "@event-anchoring/protocol";
import { MALFORMED, checkAnchor, deciding, unmade } from "./anchor-checks.ts";
import type { AnchorEvidence, LoadedLeaf } from "./anchor-checks.ts";
import { conclude } from "./checks.ts";
import type { AsOf } from "../book/as-of.ts";
import type { VerificationResult, WeighedCheck } from "./checks.ts";
import { claimStateAt } from "../force/in-force.ts";
import type { RecordState } from "../force/in-force.ts";
import { LeafRows } from "./leaf-rows.ts";
import { checkRevocation, checkSuperseded, checkWindow } from "./record-checks.ts";
import { judgeClaimRecord } from "./record-faults.ts";
import type { ClaimRecord, Records } from "../book/records.ts";
import { claimSignatures } from "../book/signatures.ts";
import type { SignatureToVerify } from "../book/signatures.ts";

/** In the order in which they are reported. All decide. */
export const CLAIM_CHECKS = [
  "exists",
  "subject_signature",
  "issuer_signature",
  "leaf",
  "parent",
  "inclusion",
  "certificate",
  "revocation",
  "superseded",
  "window",
] as const;

export type ClaimCheckCode = (typeof CLAIM_CHECKS)[number];

/** The evidence by which records of claims and grants are judged. */
export interface RecordEvidence {
  /** The record, and all that it depends on, with the newest claim of each lineage at the position. */
  readonly records: Records;
  /** The leaves of these records, and of their endings up to the position: see recordsInView. */
  readonly leaves: readonly LoadedLeaf[];
  /** Leaves that revoke one of these records, up to the position. */
  readonly revocations: readonly LoadedLeaf[];
}

export interface ClaimVerificationInput extends AnchorEvidence, RecordEvidence {}

export interface RecordVerification<Code extends string> extends VerificationResult<Code> {
  /** null: the record is not known, or not trusted. */
  readonly state: RecordState | null;
}

type ClaimCheck = WeighedCheck<ClaimCheckCode>;

/** Whether one of a record's nested signatures is good. */
export function checkSignature<Code extends string>(
  code: Code,
  toVerify: SignatureToVerify | undefined,
  crypto: Crypto,
): WeighedCheck<Code> {
  if (toVerify === undefined) return unmade(code, "there is no such signature");
  const { publicKey, message, signature } = toVerify;
  return deciding(code, crypto.ed25519Verify(publicKey, message, signature), `key ${bytesToHex(publicKey)}`);
}

/** The claim that superseded it, by its record or by its lineage. */
function successorOf(record: ClaimRecord, records: Records, at: AsOf): number | null {
  const newest = records.newestClaimOf(record.lineage, at.sequence);
  return record.supersededAt ?? (newest !== null && newest.sequence > record.sequence ? newest.sequence : null);
}

/** The checks that need the record; its fault, if it is not trusted. */
function checkRecord(
  leaf: ClaimLeaf,
  input: ClaimVerificationInput,
  crypto: Crypto,
): { readonly checks: ClaimCheck[]; readonly fault: string | null; readonly state: RecordState | null } {
  const { records, asOf } = input;
  const window = checkWindow({ notBefore: 0, expiresAt: leaf.expiresAt }, asOf);
  const record = records.claim(leaf.sequence);
  const unknown = (detail: string): ClaimCheck[] => [
    unmade("revocation", detail),
    unmade("superseded", detail),
    window,
  ];
  if (record === null) return { checks: unknown("records_not_loaded"), fault: null, state: null };
  const leaves = new LeafRows(
    [...input.leaves, { anchorId: input.anchorId, bytes: input.receipt.leaf }],
    crypto.sha256,
  );
  const { fault } = judgeClaimRecord(record, leaves, asOf);
  if (fault !== null) return { checks: unknown(fault), fault, state: null };
  const revocations = new LeafRows(input.revocations, crypto.sha256);
  const checks = [
    checkRevocation(record, revocations, asOf),
    checkSuperseded(successorOf(record, records, asOf), asOf),
    window,
  ];
  return { checks, fault, state: claimStateAt(record, asOf) };
}

/**
 * Verifies a claim as of a position: that its parties have signed it, that it is anchored, and that nothing has ended
 * it. A record that contradicts the leaf fails the check `leaf`.
 */
export function verifyClaim(input: ClaimVerificationInput, crypto: Crypto): RecordVerification<ClaimCheckCode> {
  const { leaf, checks } = checkAnchor(input, crypto);
  if (leaf?.kind !== LEAF_KIND.claim) {
    const detail = leaf === null ? MALFORMED : `a leaf of kind ${leaf.kind} is no claim`;
    const isLeaf = leaf === null ? checks.leaf : deciding<ClaimCheckCode>("leaf", false, detail);
    const all = CLAIM_CHECKS.map((code): ClaimCheck => (code === "leaf" ? isLeaf : unmade(code, detail)));
    return { ...conclude(all), state: null };
  }
  const [ofSubject, ofIssuer] = claimSignatures(leaf, crypto.sha256);
  const record = checkRecord(leaf, input, crypto);
  const result = conclude<ClaimCheckCode>([
    checks.exists,
    checkSignature("subject_signature", ofSubject, crypto),
    checkSignature("issuer_signature", ofIssuer, crypto),
    record.fault === null ? checks.leaf : deciding<ClaimCheckCode>("leaf", false, record.fault),
    checks.parent,
    checks.inclusion,
    checks.certificate,
    ...record.checks,
  ]);
  return { ...result, state: record.state };
}
