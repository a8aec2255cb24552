/** state.claims: claims as the rules need them, and how they ended. */
import { claimPairHash } from "@event-anchoring/records";
import type { ClaimRecord } from "@event-anchoring/records";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import type { GuardedStatement } from "./guarded-statement.ts";
import { ENDS, anchorJoin, packedRecord, recordReader } from "./recorded.ts";
import type { PackedRecordRow, Recorded } from "./recorded.ts";
import { arraysOf, bigint, bytes32, insertOf, prefix, updateOf } from "./table.ts";
import type { Columns, PackedColumns } from "./table.ts";

const COLUMNS: PackedColumns<Omit<ClaimRecord, keyof Recorded>> = {
  sequence: bigint("sequence"),
  lineage: bigint("lineage"),
  entityFingerprint: bytes32("entity_fingerprint"),
  attributeType: bigint("attribute_type"),
  expiresAt: bigint("expires_ms"),
  subjectPublicKey: bytes32("subject_key"),
  issuerPublicKey: bytes32("issuer_key"),
  ...ENDS,
};

/** With the look-up keys of claims. */
const ALL = { ...COLUMNS, pairPrefix: prefix("pair_prefix"), pairHash: bytes32("pair_hash") };

const ENDED: Columns<Pick<ClaimRecord, "sequence" | "supersededAt" | "revokedAt">> = {
  sequence: COLUMNS.sequence,
  ...ENDS,
};

const arrays = arraysOf(ALL);
const endedArrays = arraysOf(ENDED);
const INSERT = { name: "claims", sql: insertOf("state.claims", ALL) };
const END = { name: "ended_claims", sql: updateOf("state.claims", ENDED, "sequence") };

export function addClaims(statement: GuardedStatement, claims: readonly ClaimRecord[]): void {
  if (claims.length === 0) return;
  const pairHashes = claims.map((claim) => claimPairHash(claim, nodeCrypto.sha256));
  statement.add(INSERT, arrays(claims, { pairPrefix: pairHashes, pairHash: pairHashes }));
}

export function addEndedClaims(statement: GuardedStatement, claims: readonly ClaimRecord[]): void {
  statement.add(END, endedArrays(claims, {}));
}

/** What toClaimRecord reads, of `state.claims c` and CLAIM_ANCHOR. */
export const CLAIM_BYTES = packedRecord("c", COLUMNS);

export const CLAIM_ANCHOR = anchorJoin("c");

/** @throws StoreError `corrupt` */
export const toClaimRecord: (row: PackedRecordRow) => ClaimRecord = recordReader(COLUMNS);
