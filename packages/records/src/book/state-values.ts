/** The values of claims and grants in the state tree: what their leaves do not say. docs/PROTOCOL.md, "State tree". */
import { ByteReader, ByteWriter } from "@event-anchoring/protocol";
import { recorderOf } from "./records.ts";
import type { ClaimRecord, GrantRecord, RecordEnds } from "./records.ts";

/** Kinds of the keys whose id is an anchor id, u8. */
export const RECORD_STATE_KIND = { claim: 1, grant: 3 } as const;

/** The fields of a claim in the tree. */
export type StatedClaim = RecordEnds & Pick<ClaimRecord, "recordedBy" | "sequence" | "lineage">;

/** The fields of a grant in the tree. */
export type StatedGrant = RecordEnds &
  Pick<GrantRecord, "recordedBy" | "sequence" | "grantorLineage" | "granteeLineage"> &
  Pick<GrantRecord, "parent" | "links" | "notBefore" | "expiresAt">;

/** 0 means "none": the leaf with sequence 0 is a genesis leaf, which ends nothing and is nobody's parent. */
function orNone(sequence: number): number | null {
  return sequence === 0 ? null : sequence;
}

function writeEnds(writer: ByteWriter, { supersededAt, revokedAt }: RecordEnds): Uint8Array {
  return writer
    .u64(supersededAt ?? 0)
    .u64(revokedAt ?? 0)
    .finish();
}

function readEnds(reader: ByteReader): RecordEnds {
  const ends = { supersededAt: orNone(reader.u64()), revokedAt: orNone(reader.u64()) };
  reader.finish();
  return ends;
}

/** sequence u64 ‖ API client id 16 ‖ lineage u64 ‖ superseded at u64 ‖ revoked at u64. */
export function encodeStatedClaim(claim: StatedClaim): Uint8Array {
  const writer = new ByteWriter(48).u64(claim.sequence).bytes(recorderOf(claim), 16).u64(claim.lineage);
  return writeEnds(writer, claim);
}

/** @throws DecodeError */
export function decodeStatedClaim(value: Uint8Array): StatedClaim {
  const reader = new ByteReader(value);
  const claim = { sequence: reader.u64(), recordedBy: reader.bytes(16), lineage: reader.u64() };
  return { ...claim, ...readEnds(reader) };
}

/**
 * sequence u64 ‖ API client id 16 ‖ lineages of grantor and grantee u64 each ‖ sequence of the parent u64, 0 = none ‖
 * links u32 ‖ bounds with what is inherited, not before and expires at, u64 each ‖ superseded at u64 ‖ revoked at u64.
 */
export function encodeStatedGrant(grant: StatedGrant): Uint8Array {
  const writer = new ByteWriter(84)
    .u64(grant.sequence)
    .bytes(recorderOf(grant), 16)
    .u64(grant.grantorLineage)
    .u64(grant.granteeLineage)
    .u64(grant.parent ?? 0)
    .u32(grant.links)
    .u64(grant.notBefore)
    .u64(grant.expiresAt);
  return writeEnds(writer, grant);
}

/** @throws DecodeError */
export function decodeStatedGrant(value: Uint8Array): StatedGrant {
  const reader = new ByteReader(value);
  const grant = {
    sequence: reader.u64(),
    recordedBy: reader.bytes(16),
    grantorLineage: reader.u64(),
    granteeLineage: reader.u64(),
    parent: orNone(reader.u64()),
    links: reader.u32(),
    notBefore: reader.u64(),
    expiresAt: reader.u64(),
  };
  return { ...grant, ...readEnds(reader) };
}
