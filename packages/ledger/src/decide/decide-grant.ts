import { LEAF_KIND, bytesToHex, equalBytes, isZero } from "@event-anchoring/protocol";
import type { GrantInput, RecordGrantCommand } from "../entry/command.ts";
import { grantContentHash } from "./content-hash.ts";
import {
  acceptedRecord,
  judgeCredential,
  judgeExpiry,
  judgeIssuedAt,
  judgeOrigin,
  judgeOriginOpen,
  judgeReference,
  judgeSignatures,
  knownOrigin,
  recorded,
  refused,
  rejectedRecord,
  replayOf,
} from "./decide-checks.ts";
import type { DecisionDraft } from "./decision-draft.ts";
import type { CommandOutcome } from "./decision.ts";
import { claimFaultAt, grantSignatures } from "@event-anchoring/records";
import type { ForceFault, ClaimRecord, GrantParties, GrantRecord } from "@event-anchoring/records";
import { LIMITS } from "../entry/limits.ts";
import { reject } from "./rejection.ts";
import type { Rejection } from "./rejection.ts";

/** Check 6: the records that a grant names were in the ledger before this entry. */
function judgeReferences(grant: GrantInput, draft: DecisionDraft): Rejection | null {
  return (
    judgeReference(draft.earlierAnchor(grant.grantorClaimRef), LEAF_KIND.claim, "/grantor_claim_ref") ??
    judgeReference(draft.earlierAnchor(grant.granteeClaimRef), LEAF_KIND.claim, "/grantee_claim_ref") ??
    (isZero(grant.parentGrantRef)
      ? null
      : judgeReference(draft.earlierAnchor(grant.parentGrantRef), LEAF_KIND.grant, "/parent_grant_ref"))
  );
}

/** The records that the grant names, once they are known to exist. */
function partiesOf(grant: GrantInput, draft: DecisionDraft): GrantParties {
  return {
    grantor: draft.claimOf(grant.grantorClaimRef),
    grantee: draft.claimOf(grant.granteeClaimRef),
    parent: isZero(grant.parentGrantRef) ? null : draft.grantOf(grant.parentGrantRef),
  };
}

/** Check 7: the grant's own window is not empty. */
function judgeOwnWindow({ notBefore, expiresAt }: GrantInput): Rejection | null {
  if (notBefore === 0 || expiresAt === 0 || notBefore < expiresAt) return null;
  return reject("window_invalid", `not before ${notBefore}, expires at ${expiresAt}`, "/not_before");
}

/** Check 7: each bound of the grant's own lies inside the parent's window, and leaves a part of it. */
function judgeInheritedWindow({ notBefore, expiresAt }: GrantInput, parent: GrantRecord | null): Rejection | null {
  if (parent === null) return null;
  const detail = `the parent's window is from ${parent.notBefore} to ${parent.expiresAt}`;
  const endsAfterParent = parent.expiresAt !== 0;
  if (notBefore !== 0 && (notBefore < parent.notBefore || (endsAfterParent && notBefore >= parent.expiresAt)))
    return reject("window_outside_parent", detail, "/not_before");
  if (expiresAt !== 0 && (expiresAt <= parent.notBefore || (endsAfterParent && expiresAt > parent.expiresAt)))
    return reject("window_outside_parent", detail, "/expires_at");
  return null;
}

/** The record at fault need not be the one that is named: a chain can break anywhere. */
function faultText({ code, anchorId, sequence }: ForceFault): string {
  const where = sequence === null ? "" : `, at sequence ${sequence}`;
  return `${code}: ${bytesToHex(anchorId)}${where}`;
}

function judgeClaim(claim: ClaimRecord, pointer: string, draft: DecisionDraft): Rejection | null {
  const fault = claimFaultAt(claim, draft.position);
  return fault === null ? null : reject("claim_not_in_force", faultText(fault), pointer);
}

/** Check 8, as far as the grant itself and its claims go. */
function judgeKeys(grant: GrantInput, { grantor }: GrantParties): Rejection | null {
  if (!equalBytes(grant.grantorPublicKey, grantor.subjectPublicKey))
    return reject(
      "grantor_key_mismatch",
      "the grantor's claim has another subject key than this",
      "/grantor_public_key",
    );
  if (equalBytes(grant.witnessPublicKey, grant.grantorPublicKey))
    return reject("witness_is_grantor", "a grantor cannot witness its own grant", "/witness_public_key");
  return null;
}

function judgeParentForce(parent: GrantRecord | null, draft: DecisionDraft): Rejection | null {
  if (parent === null) return null;
  const fault = draft.grantFault(parent);
  return fault === null ? null : reject("grant_not_in_force", faultText(fault), "/parent_grant_ref");
}

/** True if the grant that the new one would supersede is one that the new one descends from. */
function endsOwnChain({ grantor, grantee, parent }: GrantParties, draft: DecisionDraft): boolean {
  const older = draft.records.newestGrantBetween(grantor.lineage, grantee.lineage);
  if (older === null) return false;
  // A parent is older than its child: links older than the wanted one need not be visited.
  for (let link = parent; link !== null && link.sequence >= older.sequence;) {
    if (link.sequence === older.sequence) return true;
    link = link.parent === null ? null : draft.records.grant(link.parent);
  }
  return false;
}

/** Check 8: the grant follows its parent, and does not end its own chain. */
function judgeChain(
  grant: GrantInput,
  { grantor, grantee, parent }: GrantParties,
  draft: DecisionDraft,
): Rejection | null {
  if (parent === null) return null;
  if (parent.granteeLineage !== grantor.lineage)
    return reject("parent_mismatch", "the grantor is not the grantee of the parent", "/parent_grant_ref");
  if (endsOwnChain({ grantor, grantee, parent }, draft)) {
    const detail = "the grant would supersede one that it descends from, and end with it";
    return reject("parent_mismatch", detail, "/parent_grant_ref");
  }
  if (grant.delegationDepth >= parent.delegationDepth)
    return reject("depth_exceeded", `the parent's delegation depth is ${parent.delegationDepth}`, "/delegation_depth");
  if (parent.links >= LIMITS.delegationLinksMax)
    return reject("depth_exceeded", `a chain has at most ${LIMITS.delegationLinksMax} grants`, "/parent_grant_ref");
  return null;
}

/** A grant depends on its two claims and its parent, and supersedes an older one between the same lineages. */
export function decideRecordGrant(command: RecordGrantCommand, draft: DecisionDraft): CommandOutcome {
  const { credential, grant } = command;
  const { originFingerprint } = grant;
  const { sha256 } = draft.crypto;
  const powerless = judgeCredential(credential, ["write"], draft); // 1
  if (powerless !== null) return refused(powerless);
  const unproven =
    judgeOrigin(originFingerprint, draft) ?? // 2
    judgeSignatures(grantSignatures(grant, sha256), draft); // 3
  if (unproven !== null) return rejectedRecord(unproven);
  const contentHash = grantContentHash(grant, sha256);
  const first = draft.content(contentHash); // 4
  if (first !== null) return recorded(replayOf(first));
  const unfounded =
    judgeOriginOpen(originFingerprint, draft) ?? // 5
    judgeReferences(grant, draft); // 6
  if (unfounded !== null) return rejectedRecord(unfounded);
  const parties = partiesOf(grant, draft);
  const { grantor, grantee, parent } = parties;
  const rejection =
    judgeIssuedAt(grant.issuedAt, draft) ?? // 7
    judgeOwnWindow(grant) ??
    judgeExpiry(grant.expiresAt, draft) ??
    judgeInheritedWindow(grant, parent) ??
    judgeClaim(grantor, "/grantor_claim_ref", draft) ?? // 8
    judgeClaim(grantee, "/grantee_claim_ref", draft) ??
    judgeParentForce(parent, draft) ??
    judgeKeys(grant, parties) ??
    judgeChain(grant, parties, draft);
  if (rejection !== null) return rejectedRecord(rejection);
  const origin = knownOrigin(originFingerprint, draft);
  const { leaf, write } = draft.append(origin, (header) => ({ kind: LEAF_KIND.grant, ...grant, ...header }));
  draft.addContent(contentHash, write);
  draft.records.addGrant(leaf, { anchorId: write.anchorId, recordedBy: credential.apiClientId }, parties);
  return acceptedRecord(write);
}
