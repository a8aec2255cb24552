/** state.grants: grants as the rules need them, and how they ended. */
import { grantPartiesHash } from "@event-anchoring/records";
import type { GrantRecord } from "@event-anchoring/records";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import type { GuardedStatement } from "./guarded-statement.ts";
import { ENDS, anchorJoin, packedRecord, recordReader } from "./recorded.ts";
import type { PackedRecordRow, Recorded } from "./recorded.ts";
import { arraysOf, bigint, bigintOrNull, bytes32, insertOf, prefix, updateOf } from "./table.ts";
import type { Columns, PackedColumns } from "./table.ts";

const COLUMNS: PackedColumns<Omit<GrantRecord, keyof Recorded>> = {
  sequence: bigint("sequence"),
  grantorClaim: bigint("grantor_claim"),
  granteeClaim: bigint("grantee_claim"),
  grantorLineage: bigint("grantor_lineage"),
  granteeLineage: bigint("grantee_lineage"),
  grantorFingerprint: bytes32("grantor_fingerprint"),
  granteeFingerprint: bytes32("grantee_fingerprint"),
  parent: bigintOrNull("parent"),
  links: bigint("links"),
  delegationDepth: bigint("delegation_depth"),
  notBefore: bigint("not_before_ms"),
  expiresAt: bigint("expires_ms"),
  grantorPublicKey: bytes32("grantor_key"),
  witnessPublicKey: bytes32("witness_key"),
  ...ENDS,
};

/** With the look-up keys of grants. */
const ALL = { ...COLUMNS, partiesPrefix: prefix("parties_prefix") };

const ENDED: Columns<Pick<GrantRecord, "sequence" | "supersededAt" | "revokedAt">> = {
  sequence: COLUMNS.sequence,
  ...ENDS,
};

const arrays = arraysOf(ALL);
const endedArrays = arraysOf(ENDED);
const INSERT = { name: "grants", sql: insertOf("state.grants", ALL) };
const END = { name: "ended_grants", sql: updateOf("state.grants", ENDED, "sequence") };

export function addGrants(statement: GuardedStatement, grants: readonly GrantRecord[]): void {
  if (grants.length === 0) return;
  const partiesPrefix = grants.map((grant) => grantPartiesHash(grant, nodeCrypto.sha256));
  statement.add(INSERT, arrays(grants, { partiesPrefix }));
}

export function addEndedGrants(statement: GuardedStatement, grants: readonly GrantRecord[]): void {
  statement.add(END, endedArrays(grants, {}));
}

/** What toGrantRecord reads, of `state.grants g` and GRANT_ANCHOR. */
export const GRANT_BYTES = packedRecord("g", COLUMNS);

export const GRANT_ANCHOR = anchorJoin("g");

/** @throws StoreError `corrupt` */
export const toGrantRecord: (row: PackedRecordRow) => GrantRecord = recordReader(COLUMNS);
