import { LEAF_KIND, equalBytes } from "@event-anchoring/protocol";
import type { RecordClaimCommand } from "../entry/command.ts";
import { claimContentHash } from "./content-hash.ts";
import {
  acceptedRecord,
  judgeCredential,
  judgeExpiry,
  judgeIssuedAt,
  judgeOrigin,
  judgeOriginOpen,
  judgeSignatures,
  knownOrigin,
  recorded,
  refused,
  rejectedRecord,
  replayOf,
} from "./decide-checks.ts";
import type { DecisionDraft } from "./decision-draft.ts";
import type { CommandOutcome } from "./decision.ts";
import { claimPairHash, claimSignatures } from "@event-anchoring/records";
import { reject } from "./rejection.ts";
import type { Rejection } from "./rejection.ts";

/**
 * Check 8: the issuer of a pair's newest claim, in force or not, issues the next one. Once that claim is revoked an
 * API key with the scope admin may let another issuer take over.
 */
function judgeIssuer({ claim, credential }: RecordClaimCommand, draft: DecisionDraft): Rejection | null {
  const newest = draft.records.newestClaimOfPair(claimPairHash(claim, draft.crypto.sha256));
  if (newest === null || equalBytes(newest.issuerPublicKey, claim.issuerPublicKey)) return null;
  if (newest.revokedAt === null)
    return reject("claim_conflict", "another issuer has issued the newest claim of this entity", "/issuer_public_key");
  if (draft.apiKey(credential.keyId)?.scopes.includes("admin") === true) return null;
  const detail = "another issuer has issued the revoked claim of this entity: taking over needs the scope admin";
  return reject("claim_conflict", detail, "/issuer_public_key");
}

/** A claim begins a lineage, or continues that of its pair's newest claim and supersedes it. */
export function decideRecordClaim(command: RecordClaimCommand, draft: DecisionDraft): CommandOutcome {
  const { credential, claim } = command;
  const { originFingerprint } = claim;
  const { sha256 } = draft.crypto;
  const powerless = judgeCredential(credential, ["write"], draft); // 1
  if (powerless !== null) return refused(powerless);
  const unproven =
    judgeOrigin(originFingerprint, draft) ?? // 2
    judgeSignatures(claimSignatures(claim, sha256), draft); // 3
  if (unproven !== null) return rejectedRecord(unproven);
  const contentHash = claimContentHash(claim, sha256);
  const first = draft.content(contentHash); // 4
  if (first !== null) return recorded(replayOf(first));
  const rejection =
    judgeOriginOpen(originFingerprint, draft) ?? // 5
    judgeIssuedAt(claim.issuedAt, draft) ?? // 7
    judgeExpiry(claim.expiresAt, draft) ??
    judgeIssuer(command, draft); // 8
  if (rejection !== null) return rejectedRecord(rejection);
  const origin = knownOrigin(originFingerprint, draft);
  const { leaf, write } = draft.append(origin, (header) => ({ kind: LEAF_KIND.claim, ...claim, ...header }));
  draft.addContent(contentHash, write);
  draft.records.addClaim(leaf, { anchorId: write.anchorId, recordedBy: credential.apiClientId });
  return acceptedRecord(write);
}
