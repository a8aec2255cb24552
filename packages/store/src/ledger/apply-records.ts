/** Claims, grants and how they end, as values of the statement that writes an entry. */
import { claimPairHash, grantPartiesHash } from "@event-anchoring/records";
import type { EntryWrites } from "@event-anchoring/ledger";
import type { ClaimRecord, GrantRecord } from "@event-anchoring/records";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import type { StatementBuilder } from "./apply-parts.ts";
import { bigintArray, byteaArray, prefixArray } from "../postgres/binary-array.ts";

const { sha256 } = nodeCrypto;

function addClaims(builder: StatementBuilder, claims: readonly ClaimRecord[]): void {
  const pairHashes = claims.map((claim) => claimPairHash(claim, sha256));
  builder.add("claims", [
    bigintArray(claims.map(({ sequence }) => sequence)),
    bigintArray(claims.map(({ lineage }) => lineage)),
    prefixArray(pairHashes),
    byteaArray(pairHashes),
    byteaArray(claims.map(({ entityFingerprint }) => entityFingerprint)),
    bigintArray(claims.map(({ attributeType }) => attributeType)),
    bigintArray(claims.map(({ expiresAt }) => expiresAt)),
    byteaArray(claims.map(({ subjectPublicKey }) => subjectPublicKey)),
    byteaArray(claims.map(({ issuerPublicKey }) => issuerPublicKey)),
    bigintArray(claims.map(({ supersededAt }) => supersededAt)),
    bigintArray(claims.map(({ revokedAt }) => revokedAt)),
  ]);
}

function addGrants(builder: StatementBuilder, grants: readonly GrantRecord[]): void {
  builder.add("grants", [
    bigintArray(grants.map(({ sequence }) => sequence)),
    bigintArray(grants.map(({ grantorClaim }) => grantorClaim)),
    bigintArray(grants.map(({ granteeClaim }) => granteeClaim)),
    bigintArray(grants.map(({ grantorLineage }) => grantorLineage)),
    bigintArray(grants.map(({ granteeLineage }) => granteeLineage)),
    prefixArray(grants.map((grant) => grantPartiesHash(grant, sha256))),
    byteaArray(grants.map(({ grantorFingerprint }) => grantorFingerprint)),
    byteaArray(grants.map(({ granteeFingerprint }) => granteeFingerprint)),
    bigintArray(grants.map(({ parent }) => parent)),
    bigintArray(grants.map(({ links }) => links)),
    bigintArray(grants.map(({ delegationDepth }) => delegationDepth)),
    bigintArray(grants.map(({ notBefore }) => notBefore)),
    bigintArray(grants.map(({ expiresAt }) => expiresAt)),
    byteaArray(grants.map(({ grantorPublicKey }) => grantorPublicKey)),
    byteaArray(grants.map(({ witnessPublicKey }) => witnessPublicKey)),
    bigintArray(grants.map(({ supersededAt }) => supersededAt)),
    bigintArray(grants.map(({ revokedAt }) => revokedAt)),
  ]);
}

function addEndings(
  builder: StatementBuilder,
  part: "endedClaims" | "endedGrants",
  ended: readonly (ClaimRecord | GrantRecord)[],
): void {
  builder.add(part, [
    bigintArray(ended.map(({ sequence }) => sequence)),
    bigintArray(ended.map(({ supersededAt }) => supersededAt)),
    bigintArray(ended.map(({ revokedAt }) => revokedAt)),
  ]);
}

/**
 * What has no rows is left out, because the server sets up every part of a statement, also one that writes nothing.
 * Endings and revocations are there together or not at all: a session keeps the plan of every combination that it has
 * seen.
 */
export function addRecords(builder: StatementBuilder, writes: EntryWrites): void {
  const { claims, grants, endedClaims, endedGrants, revocations, erasures } = writes;
  if (claims.length > 0) addClaims(builder, claims);
  if (grants.length > 0) addGrants(builder, grants);
  if (endedClaims.length + endedGrants.length + revocations.length > 0) {
    addEndings(builder, "endedClaims", endedClaims);
    addEndings(builder, "endedGrants", endedGrants);
    builder.add("revocations", [
      bigintArray(revocations.map(({ sequence }) => sequence)),
      bigintArray(revocations.map(({ target }) => target)),
    ]);
  }
  if (erasures.length > 0) builder.add("erasures", [bigintArray(erasures.map(({ sequence }) => sequence))]);
}
