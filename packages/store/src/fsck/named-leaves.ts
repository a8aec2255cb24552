/** References between leaves, and signatures inside them. */
import { contentHashOfRecord, eventContentHash } from "@event-anchoring/ledger";
import { REFERENCE_RULES, authorityOverClaim, authorityOverGrant, signaturesOfLeaf } from "@event-anchoring/records";
import type { SignatureToVerify } from "@event-anchoring/records";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { LEAF_KIND, REVOCATION_AUTHORITIES, bytesToHex, isZero, revocationPayload } from "@event-anchoring/protocol";
import type { GrantLeaf, Leaf, LeafKind, RevocationLeaf } from "@event-anchoring/protocol";
import type { Findings, RowName } from "./findings.ts";
import { anchorRow } from "./leaf-walk.ts";
import type { LeafLookup, NamedLeaf } from "./leaf-lookup.ts";
import type { SignatureChecks } from "./signature-checks.ts";

const { sha256 } = nodeCrypto;

interface Reference {
  readonly field: string;
  readonly anchorId: Uint8Array;
  /** The kinds that it may have; empty: any. */
  readonly kinds: readonly LeafKind[];
}

function referencesOfGrant(leaf: GrantLeaf): readonly Reference[] {
  const { grantorClaimRef, granteeClaimRef, parentGrantRef } = leaf;
  return [
    { field: "grantor_claim_ref", anchorId: grantorClaimRef, kinds: [LEAF_KIND.claim] },
    { field: "grantee_claim_ref", anchorId: granteeClaimRef, kinds: [LEAF_KIND.claim] },
    ...(isZero(parentGrantRef)
      ? []
      : [{ field: "parent_grant_ref", anchorId: parentGrantRef, kinds: [LEAF_KIND.grant] }]),
  ];
}

function referencesOf(leaf: Leaf): readonly Reference[] {
  switch (leaf.kind) {
    case LEAF_KIND.event:
    case LEAF_KIND.signedEvent:
      return REFERENCE_RULES.flatMap(({ field, pointer, kind }) => {
        const anchorId = leaf.semanticAnchor[field];
        const kinds = kind === null ? [] : [kind];
        return isZero(anchorId) ? [] : [{ field: pointer.slice(pointer.lastIndexOf("/") + 1), anchorId, kinds }];
      });
    case LEAF_KIND.grant:
      return referencesOfGrant(leaf);
    case LEAF_KIND.revocation: {
      const kinds = [LEAF_KIND.claim, LEAF_KIND.grant];
      return [{ field: "target_anchor_id", anchorId: leaf.targetAnchorId, kinds }];
    }
    default:
      return [];
  }
}

/** The leaves that those of one batch name, loaded in one go. */
export class NamedLeaves {
  readonly #found: ReadonlyMap<string, NamedLeaf>;

  private constructor(found: ReadonlyMap<string, NamedLeaf>) {
    this.#found = found;
  }

  static async load(leaves: readonly Leaf[], lookup: LeafLookup): Promise<NamedLeaves> {
    const wanted = new Map<string, Uint8Array>();
    for (const leaf of leaves) {
      for (const { anchorId } of referencesOf(leaf)) wanted.set(bytesToHex(anchorId), anchorId);
    }
    return new NamedLeaves(wanted.size === 0 ? new Map() : await lookup.find([...wanted.values()]));
  }

  find(anchorId: Uint8Array): NamedLeaf | null {
    return this.#found.get(bytesToHex(anchorId)) ?? null;
  }

  /** The content hash that the ledger keeps for a leaf; null: none, or a leaf that it depends on is missing. */
  contentHash(leaf: Leaf): Uint8Array | null {
    switch (leaf.kind) {
      case LEAF_KIND.event:
      case LEAF_KIND.signedEvent:
        return isZero(leaf.clientEventCommit) ? null : eventContentHash(leaf, sha256);
      case LEAF_KIND.claim:
      case LEAF_KIND.grant:
      case LEAF_KIND.revocation:
        return contentHashOfRecord(leaf, { find: (anchorId) => this.find(anchorId)?.record ?? null }, sha256);
      default:
        return null;
    }
  }
}

function judgeReferences(leaf: Leaf, named: NamedLeaves, name: RowName, findings: Findings): void {
  for (const { field, anchorId, kinds } of referencesOf(leaf)) {
    const found = named.find(anchorId);
    const what = `${field} ${bytesToHex(anchorId)}`;
    if (found === null || found.sequence >= leaf.sequence) {
      findings.add(name, "leaf", `names ${what}, which is not before it`, "names what is before it");
    } else if (kinds.length > 0 && !kinds.includes(found.kind)) {
      findings.add(name, "leaf", `names ${what}, of kind ${found.kind}`, `of kind ${kinds.join(" or ")}`);
    }
  }
}

/** The right to revoke that was used; null: none that the target grants. */
function entitlementOf(leaf: RevocationLeaf, { record }: NamedLeaf): string | null {
  if (record === null) return null;
  return record.kind === LEAF_KIND.claim
    ? authorityOverClaim(record, leaf.revoker)
    : authorityOverGrant(record, leaf.revoker);
}

function signaturesOfRevocation(
  leaf: RevocationLeaf,
  named: NamedLeaves,
  name: RowName,
  findings: Findings,
): readonly SignatureToVerify[] {
  const authority = REVOCATION_AUTHORITIES[leaf.authority] ?? "";
  const target = named.find(leaf.targetAnchorId);
  if (authority === "operator" || target === null || target.record === null) return [];
  const entitlement = entitlementOf(leaf, target);
  if (entitlement !== authority) {
    findings.add(
      name,
      "leaf",
      `revokes as ${authority}`,
      `as ${entitlement ?? "no party: the key is not the target's"}`,
    );
  }
  const { originFingerprint } = target.record;
  const message = revocationPayload({ ...leaf, originFingerprint });
  return [{ publicKey: leaf.revoker, message, signature: leaf.signature, pointer: "/signature" }];
}

/** References and signatures of a leaf; verdicts of signatures come when these are settled. */
export function judgeNested(
  leaf: Leaf,
  named: NamedLeaves,
  { findings, signatures }: { readonly findings: Findings; readonly signatures: SignatureChecks },
): void {
  const name = anchorRow(leaf.sequence);
  judgeReferences(leaf, named, name, findings);
  const signed =
    leaf.kind === LEAF_KIND.revocation
      ? signaturesOfRevocation(leaf, named, name, findings)
      : signaturesOfLeaf(leaf, sha256);
  for (const each of signed) {
    signatures.add(each, (isGood) => {
      if (isGood) return;
      const field = each.pointer.slice(1);
      findings.add(name, "leaf", `${field} is none of key ${bytesToHex(each.publicKey)}`, `a good ${field}`);
    });
  }
}
