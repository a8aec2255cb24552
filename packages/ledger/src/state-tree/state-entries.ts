/** What the state tree holds, and what an entry changes in it. docs/PROTOCOL.md, "State tree". */
import { ByteWriter, asciiToBytes, concatBytes, stateKeyOf } from "@event-anchoring/protocol";
import type { Sha256, StateLeaf } from "@event-anchoring/protocol";
import type { ApiKey } from "../state/api-key.ts";
import type { OperatorAct } from "../entry/command.ts";
import { scopesToBits } from "../entry/api-key-codec.ts";
import type { EntryWrites, ErasureWrite } from "../decide/decision.ts";
import { RECORD_STATE_KIND, encodeStatedClaim, encodeStatedGrant } from "@event-anchoring/records";
import type { ClaimRecord, StatedClaim, StatedGrant } from "@event-anchoring/records";

/** Kinds of keys, u8. */
const STATE_KIND = {
  /** id: anchor id. */
  claim: RECORD_STATE_KIND.claim,
  /** id: sequence of the lineage's first claim, u64. */
  lineage: 2,
  /** id: anchor id. */
  grant: RECORD_STATE_KIND.grant,
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

type Named<Record> = Record & Pick<ClaimRecord, "anchorId">;

function u64(value: number): Uint8Array {
  return new ByteWriter(8).u64(value).finish();
}

/** The rest of a claim is in its leaf. */
export function claimEntry(claim: Named<StatedClaim>): StateEntry {
  return { kind: STATE_KIND.claim, id: claim.anchorId, value: encodeStatedClaim(claim) };
}

/** The lineage's newest claim: sequence u64 ‖ anchor id 32. */
export function lineageEntry(newest: Named<StatedClaim>): StateEntry {
  const value = concatBytes(u64(newest.sequence), newest.anchorId);
  return { kind: STATE_KIND.lineage, id: u64(newest.lineage), value };
}

export function grantEntry(grant: Named<StatedGrant>): StateEntry {
  return { kind: STATE_KIND.grant, id: grant.anchorId, value: encodeStatedGrant(grant) };
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
