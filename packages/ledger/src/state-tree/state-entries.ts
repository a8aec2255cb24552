/** What the state tree holds, and what an entry changes in it. docs/PROTOCOL.md, "State tree". */
import { ByteWriter, asciiToBytes, concatBytes, stateKeyOf } from "@event-anchoring/protocol";
import type { Sha256, StateLeaf } from "@event-anchoring/protocol";
import type { ApiKey } from "../state/api-key.ts";
import type { OperatorAct } from "../entry/command.ts";
import { scopesToBits } from "../entry/api-key-codec.ts";
import type { EntryWrites, ErasureWrite } from "../decide/decision.ts";
import { recorderOf } from "@event-anchoring/records";
import type { ClaimRecord, GrantRecord, RecordEnds } from "@event-anchoring/records";

/** Kinds of keys, u8. */
const STATE_KIND = {
  /** id: anchor id. */
  claim: 1,
  /** id: sequence of the lineage's first claim, u64. */
  lineage: 2,
  /** id: anchor id. */
  grant: 3,
  /** id: key id, 16 bytes. */
  apiKey: 4,
  /** id: name of the operator, ASCII. */
  operator: 5,
  /** id: sequence of an event whose client event id is erased, u64. */
  erasure: 6,
} as const;

/** One key of the state tree with its value. */
export interface StateEntry {
  readonly kind: (typeof STATE_KIND)[keyof typeof STATE_KIND];
  readonly id: Uint8Array;
  readonly value: Uint8Array;
}

/** The fields of a claim in the tree. */
export type StatedClaim = RecordEnds & Pick<ClaimRecord, "anchorId" | "recordedBy" | "sequence" | "lineage">;

/** The fields of a grant in the tree. */
export type StatedGrant = RecordEnds &
  Pick<GrantRecord, "anchorId" | "recordedBy" | "sequence" | "grantorLineage" | "granteeLineage"> &
  Pick<GrantRecord, "parent" | "links" | "notBefore" | "expiresAt">;

function u64(value: number): Uint8Array {
  return new ByteWriter(8).u64(value).finish();
}

/** 0 means "not ended": the leaf with sequence 0 is a genesis leaf, and ends nothing. */
function writeEnds(writer: ByteWriter, { supersededAt, revokedAt }: RecordEnds): void {
  writer.u64(supersededAt ?? 0).u64(revokedAt ?? 0);
}

/** sequence u64 ‖ API client id 16 ‖ lineage u64 ‖ superseded at u64 ‖ revoked at u64. The rest is in the leaf. */
export function claimEntry(claim: StatedClaim): StateEntry {
  const writer = new ByteWriter(48).u64(claim.sequence).bytes(recorderOf(claim), 16).u64(claim.lineage);
  writeEnds(writer, claim);
  return { kind: STATE_KIND.claim, id: claim.anchorId, value: writer.finish() };
}

/** The lineage's newest claim: sequence u64 ‖ anchor id 32. */
export function lineageEntry(newest: StatedClaim): StateEntry {
  const value = concatBytes(u64(newest.sequence), newest.anchorId);
  return { kind: STATE_KIND.lineage, id: u64(newest.lineage), value };
}

/**
 * sequence u64 ‖ API client id 16 ‖ lineages of grantor and grantee u64 each ‖ sequence of the parent u64, 0 = none ‖
 * links u32 ‖ bounds with what is inherited, not before and expires at, u64 each ‖ superseded at u64 ‖ revoked at u64.
 */
export function grantEntry(grant: StatedGrant): StateEntry {
  const writer = new ByteWriter(84)
    .u64(grant.sequence)
    .bytes(recorderOf(grant), 16)
    .u64(grant.grantorLineage)
    .u64(grant.granteeLineage)
    .u64(grant.parent ?? 0)
    .u32(grant.links)
    .u64(grant.notBefore)
    .u64(grant.expiresAt);
  writeEnds(writer, grant);
  return { kind: STATE_KIND.grant, id: grant.anchorId, value: writer.finish() };
}

/** Every column of the key table. The hash of a key with 256 random bits reveals nothing about the key. */
export function apiKeyEntry(key: ApiKey): StateEntry {
  const value = new ByteWriter(160)
    .bytes(key.keyHash, 32)
    .bytes(key.apiClientId, 16)
    .lengthPrefixed16(asciiToBytes(key.label))
    .u8(scopesToBits(key.scopes))
    .u64(key.expiresMs)
    .u32(key.requestsPerSecond)
    .u64(key.createdMs)
    .u64(key.revokedMs)
    .lengthPrefixed16(asciiToBytes(key.createdBy.operator))
    .u64(key.createdBy.counter)
    .lengthPrefixed16(asciiToBytes(key.endedBy?.operator ?? ""))
    .u64(key.endedBy?.counter ?? 0)
    .finish();
  return { kind: STATE_KIND.apiKey, id: key.keyId, value };
}

/** The operator's newest act: counter u64. */
export function operatorEntry({ operator, counter }: OperatorAct): StateEntry {
  return { kind: STATE_KIND.operator, id: asciiToBytes(operator), value: u64(counter) };
}

/** An event whose client event id is erased; the value is empty. */
export function erasureEntry(sequence: number): StateEntry {
  return { kind: STATE_KIND.erasure, id: u64(sequence), value: new Uint8Array(0) };
}

export function stateLeafOf({ kind, id, value }: StateEntry, sha256: Sha256): StateLeaf {
  return { key: stateKeyOf(kind, id, sha256), valueHash: sha256(value) };
}

/** Writes that change the state tree. */
export interface StateWrites extends Pick<
  EntryWrites,
  "claims" | "grants" | "endedClaims" | "endedGrants" | "apiKeys" | "operatorActs"
> {
  readonly erasures: readonly Pick<ErasureWrite, "sequence">[];
}

/**
 * What an entry changes in the state tree. Events change nothing in it; if a key has two values, the later one counts.
 */
export function stateEntriesOf(writes: StateWrites): StateEntry[] {
  const entries: StateEntry[] = [];
  for (const claim of writes.endedClaims) entries.push(claimEntry(claim));
  for (const grant of writes.endedGrants) entries.push(grantEntry(grant));
  for (const claim of writes.claims) entries.push(claimEntry(claim), lineageEntry(claim));
  for (const grant of writes.grants) entries.push(grantEntry(grant));
  for (const key of writes.apiKeys) entries.push(apiKeyEntry(key));
  for (const act of writes.operatorActs) entries.push(operatorEntry(act));
  for (const { sequence } of writes.erasures) entries.push(erasureEntry(sequence));
  return entries;
}
