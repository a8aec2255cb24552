/** The records that a state head proves, as the rules look them up. */
import { bytesToHex, equalBytes } from "@event-anchoring/protocol";
import type { ClaimLeaf, GrantLeaf } from "@event-anchoring/protocol";
import { LoadedRecords } from "@event-anchoring/records";
import type { ClaimRecord, GrantRecord, Records, StatedClaim, StatedGrant } from "@event-anchoring/records";
import { failUnless } from "./bundle-failure.ts";
import type { ProvedLeaf } from "./proved-leaves.ts";
import type { ProvedRecord } from "./proved-state.ts";

function claimRecordOf({ anchorId }: ProvedLeaf, leaf: ClaimLeaf, stated: StatedClaim): ClaimRecord {
  const { originFingerprint, entityFingerprint, attributeType, subjectPublicKey, issuerPublicKey, expiresAt } = leaf;
  const fields = { entityFingerprint, attributeType, subjectPublicKey, issuerPublicKey, expiresAt };
  return { anchorId, originFingerprint, ...fields, ...stated };
}

function grantRecordOf(
  { anchorId }: ProvedLeaf,
  leaf: GrantLeaf,
  stated: StatedGrant,
  [grantor, grantee]: readonly [ClaimRecord, ClaimRecord],
): GrantRecord {
  const { originFingerprint, delegationDepth, grantorPublicKey, witnessPublicKey } = leaf;
  return {
    anchorId,
    originFingerprint,
    delegationDepth,
    grantorPublicKey,
    witnessPublicKey,
    grantorClaim: grantor.sequence,
    granteeClaim: grantee.sequence,
    grantorFingerprint: grantor.entityFingerprint,
    granteeFingerprint: grantee.entityFingerprint,
    ...stated,
  };
}

/**
 * Claims of one lineage are of one pair, and vouched for by one issuer: nodes that lie cannot put a stranger's claim in
 * the lineage of a grantee.
 * @throws BundleFailure
 */
export function judgeLineages(proved: readonly ProvedRecord[]): void {
  const first = new Map<number, ClaimLeaf>();
  for (const each of proved) {
    if (each.kind !== "claim") continue;
    const { leaf, stated } = each;
    const other = first.get(stated.lineage) ?? leaf;
    first.set(stated.lineage, other);
    const isSamePair =
      other.attributeType === leaf.attributeType && equalBytes(other.entityFingerprint, leaf.entityFingerprint);
    const isSame = isSamePair && equalBytes(other.issuerPublicKey, leaf.issuerPublicKey);
    failUnless(isSame, `the claim of sequence ${leaf.sequence} cannot be of lineage ${stated.lineage}`);
  }
}

/** Claims and grants whose endings are known up to the head, whatever was recorded in between. */
export class StateBook implements Records {
  readonly #records: LoadedRecords;
  readonly #byId = new Map<string, ClaimRecord | GrantRecord>();
  readonly #grants: GrantRecord[] = [];

  /** A grant whose claims are not among the records is left out. */
  constructor(proved: readonly ProvedRecord[]) {
    const claims = new Map<string, ClaimRecord>();
    for (const each of proved)
      if (each.kind === "claim") claims.set(bytesToHex(each.anchorId), claimRecordOf(each, each.leaf, each.stated));
    for (const [id, claim] of claims) this.#byId.set(id, claim);
    for (const each of proved) {
      if (each.kind !== "grant") continue;
      const grantor = claims.get(bytesToHex(each.leaf.grantorClaimRef));
      const grantee = claims.get(bytesToHex(each.leaf.granteeClaimRef));
      if (grantor === undefined || grantee === undefined) continue;
      const grant = grantRecordOf(each, each.leaf, each.stated, [grantor, grantee]);
      this.#byId.set(bytesToHex(each.anchorId), grant);
      this.#grants.push(grant);
    }
    this.#records = new LoadedRecords([...claims.values()], this.#grants);
  }

  claim(sequence: number): ClaimRecord | null {
    return this.#records.claim(sequence);
  }

  grant(sequence: number): GrantRecord | null {
    return this.#records.grant(sequence);
  }

  /** A claim names its successor, so that none between the two can be left out: then it is not known. */
  newestClaimOf(lineage: number, upTo: number): ClaimRecord | null {
    const newest = this.#records.newestClaimOf(lineage, upTo);
    const successor = newest?.supersededAt ?? null;
    return successor !== null && successor <= upTo ? null : newest;
  }

  find(anchorId: Uint8Array): ClaimRecord | GrantRecord | null {
    return this.#byId.get(bytesToHex(anchorId)) ?? null;
  }

  addedGrants(): readonly GrantRecord[] {
    return this.#grants;
  }
}
