/**
 * The effect chain: E_i = H(E_{i−1} ‖ index u64 ‖ term u64 ‖ H(canonical bytes of the writes of entry i)), E_0 = zeros.
 * Nodes compare it at equal index; one that differs has decided something differently, and stops.
 */
import { ByteWriter, asciiToBytes } from "@event-anchoring/protocol";
import type { OriginStatus, Sha256 } from "@event-anchoring/protocol";
import type { ApiKey } from "../state/api-key.ts";
import { scopesToBits } from "../entry/api-key-codec.ts";
import type { OperatorAct } from "../entry/command.ts";
import type { CertificateWrite, ClientEventWrite, EntryWrites } from "./decision.ts";
import { writeCertificate, writeGroupId } from "../entry/entry-codec.ts";
import { recorderOf } from "@event-anchoring/records";
import type { ClaimRecord, GrantRecord, RecordEnds } from "@event-anchoring/records";

const EFFECT_VERSION = 1;
const STATUS_BYTE: Readonly<Record<OriginStatus, number>> = { active: 0, closed: 1, lost: 2 };

function writeText(writer: ByteWriter, text: string): void {
  writer.lengthPrefixed16(asciiToBytes(text));
}

function writeClientEvent(writer: ByteWriter, write: ClientEventWrite): void {
  writer.bytes(write.apiClientId, 16);
  writeText(writer, write.clientEventId);
  // The anchor id covers origin and sequence, which are inside the leaf.
  writer.bytes(write.salt, 32).bytes(write.anchorId, 32).bytes(write.contentHash, 32);
}

function writeOptional(writer: ByteWriter, value: number | null): void {
  writer.u8(value === null ? 0 : 1);
  if (value !== null) writer.u64(value);
}

function writeEnds(writer: ByteWriter, record: RecordEnds): void {
  writeOptional(writer, record.supersededAt);
  writeOptional(writer, record.revokedAt);
}

/** Who recorded it, and what is derived; the rest is in the leaf that has this sequence. */
function writeClaim(writer: ByteWriter, claim: ClaimRecord): void {
  writer.u64(claim.sequence).bytes(recorderOf(claim), 16).u64(claim.lineage);
  writeEnds(writer, claim);
}

/** Who recorded it, and what is derived; the rest is in the leaf that has this sequence. */
function writeGrant(writer: ByteWriter, grant: GrantRecord): void {
  writer.u64(grant.sequence).bytes(recorderOf(grant), 16).u64(grant.grantorClaim).u64(grant.granteeClaim);
  writer.u64(grant.grantorLineage).u64(grant.granteeLineage);
  writeOptional(writer, grant.parent);
  writer.u32(grant.links).u64(grant.notBefore).u64(grant.expiresAt);
  writeEnds(writer, grant);
}

function writeEnded(writer: ByteWriter, record: ClaimRecord | GrantRecord): void {
  writer.u64(record.sequence);
  writeEnds(writer, record);
}

function writeRecordedCertificate(writer: ByteWriter, write: CertificateWrite): void {
  writeCertificate(writer, write);
  writer.u64(write.certifiedAtS).u32(write.trustRootVersion);
}

function writeApiKey(writer: ByteWriter, key: ApiKey): void {
  writer.bytes(key.keyHash, 32).bytes(key.apiClientId, 16);
  writeText(writer, key.label);
  writer.u8(scopesToBits(key.scopes)).u64(key.expiresMs).u32(key.requestsPerSecond);
  writer.u64(key.createdMs).u64(key.revokedMs);
  writeAct(writer, key.createdBy);
  writer.u8(key.endedBy === null ? 0 : 1);
  if (key.endedBy !== null) writeAct(writer, key.endedBy);
}

function writeAct(writer: ByteWriter, { operator, counter }: OperatorAct): void {
  writeText(writer, operator);
  writer.u64(counter);
}

function writeList<Item>(
  writer: ByteWriter,
  items: readonly Item[],
  write: (writer: ByteWriter, item: Item) => void,
): void {
  writer.u32(items.length);
  for (const item of items) write(writer, item);
}

/** What an entry leaves in addition to its writes. */
export interface EntryEnd {
  /** The rules by which the next entry is decided. */
  readonly rules: number;
  /** No later entry is accepted before this time, Unix milliseconds. */
  readonly stampMs: number;
}

/**
 * The canonical bytes of all that an entry writes. Tiles and the look-up keys of events by their references are left
 * out, as leaves determine them.
 */
export function encodeWrites(writes: EntryWrites, { rules, stampMs }: EntryEnd): Uint8Array {
  const capacity = 256 + writes.leaves.length * 32 + writes.clientEvents.length * 160;
  const writer = new ByteWriter(capacity).u8(EFFECT_VERSION);
  // An anchor id is the hash of the whole leaf, and covers it.
  writeList(writer, writes.leaves, (to, leaf) => to.bytes(leaf.anchorId, 32));
  writeList(writer, writes.clientEvents, writeClientEvent);
  writeList(writer, writes.contents, (to, write) => to.bytes(write.contentHash, 32).bytes(write.anchorId, 32));
  writeList(writer, writes.claims, writeClaim);
  writeList(writer, writes.grants, writeGrant);
  writeList(writer, writes.endedClaims, writeEnded);
  writeList(writer, writes.endedGrants, writeEnded);
  writeList(writer, writes.revocations, (to, { sequence, target }) => to.u64(sequence).u64(target));
  writeList(writer, writes.erasures, (to, { anchorId }) => to.bytes(anchorId, 32));
  writeList(writer, writes.certificates, writeRecordedCertificate);
  writeList(writer, writes.apiKeys, writeApiKey);
  writeList(writer, writes.operatorActs, writeAct);
  writeList(writer, writes.trustRoots, (to, { version, rootThk, sequence }) =>
    to.u32(version).bytes(rootThk, 32).u64(sequence),
  );
  writeList(writer, writes.originStatuses, (to, { originFingerprint, status }) =>
    to.bytes(originFingerprint, 32).u8(STATUS_BYTE[status]),
  );
  writeList(writer, writes.trustRootPositions, (to, { originFingerprint, leafIndex, version }) =>
    to.bytes(originFingerprint, 32).u64(leafIndex).u32(version),
  );
  writeList(writer, writes.groupIds, writeGroupId);
  return writer.u64(writes.forgetGroupIdsBelow).u16(rules).u64(stampMs).finish();
}

/** E_i of an entry. @param previous E_{i−1}, 32 bytes @param end the entry's position, and what it leaves */
export function nextEffect(
  previous: Uint8Array,
  end: EntryEnd & { readonly index: number; readonly term: number },
  writes: EntryWrites,
  sha256: Sha256,
): Uint8Array {
  const writer = new ByteWriter(80)
    .bytes(previous, 32)
    .u64(end.index)
    .u64(end.term)
    .bytes(sha256(encodeWrites(writes, end)), 32);
  return sha256(writer.finish());
}
