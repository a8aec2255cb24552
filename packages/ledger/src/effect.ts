/**
 * The effect chain: E_i = H(E_{i−1} ‖ index u64 ‖ term u64 ‖ H(canonical bytes of the writes of entry i)), E_0 = zeros.
 * Nodes compare it at equal index; one that differs has decided something differently, and stops.
 */
import { ByteWriter, asciiToBytes } from "@event-anchoring/protocol";
import type { OriginStatus, Sha256 } from "@event-anchoring/protocol";
import type { ApiKey } from "./api-key.ts";
import { scopesToBits } from "./command-codec.ts";
import type { CertificateWrite, ClientEventWrite, EntryWrites } from "./decision.ts";
import { encodeGroupId, writeCertificate } from "./entry-codec.ts";

const EFFECT_VERSION = 1;
const STATUS_BYTE: Readonly<Record<OriginStatus, number>> = { active: 0, closed: 1, lost: 2 };

function writeText(writer: ByteWriter, text: string): void {
  writer.lengthPrefixed16(asciiToBytes(text));
}

function writeClientEvent(writer: ByteWriter, write: ClientEventWrite): void {
  writer.bytes(write.apiClientId, 16);
  writeText(writer, write.clientEventId);
  // The anchor id stands for origin and sequence, which are inside the leaf.
  writer.bytes(write.salt, 32).bytes(write.anchorId, 32).bytes(write.contentHash, 32);
}

function writeRecordedCertificate(writer: ByteWriter, write: CertificateWrite): void {
  writeCertificate(writer, write);
  writer.u64(write.certifiedAtS).u32(write.trustRootVersion);
}

function writeApiKey(writer: ByteWriter, key: ApiKey): void {
  writer.bytes(key.keyHash, 32).bytes(key.apiClientId, 16);
  writeText(writer, key.label);
  writer.u8(scopesToBits(key.scopes)).u64(key.expiresMs).u64(key.createdMs).u64(key.revokedMs);
  writeText(writer, key.operator);
}

function writeList<Item>(
  writer: ByteWriter,
  items: readonly Item[],
  write: (writer: ByteWriter, item: Item) => void,
): void {
  writer.u32(items.length);
  for (const item of items) write(writer, item);
}

/** The canonical bytes of all that an entry writes. Tiles are left out, as leaves determine them. */
export function encodeWrites(writes: EntryWrites): Uint8Array {
  const capacity = 256 + writes.leaves.length * 32 + writes.clientEvents.length * 160;
  const writer = new ByteWriter(capacity).u8(EFFECT_VERSION);
  // An anchor id is the hash of the whole leaf and stands for it.
  writeList(writer, writes.leaves, (to, leaf) => to.bytes(leaf.anchorId, 32));
  writeList(writer, writes.clientEvents, writeClientEvent);
  writeList(writer, writes.certificates, writeRecordedCertificate);
  writeList(writer, writes.apiKeys, writeApiKey);
  writeList(writer, writes.trustRoots, (to, { version, rootThk, sequence }) =>
    to.u32(version).bytes(rootThk, 32).u64(sequence),
  );
  writeList(writer, writes.originStatuses, (to, { originFingerprint, status }) =>
    to.bytes(originFingerprint, 32).u8(STATUS_BYTE[status]),
  );
  writeList(writer, writes.trustRootPositions, (to, { originFingerprint, leafIndex, version }) =>
    to.bytes(originFingerprint, 32).u64(leafIndex).u32(version),
  );
  writeList(writer, writes.groupIds, (to, id) => to.bytes(encodeGroupId(id), 24));
  return writer.u64(writes.forgetGroupIdsBelow).finish();
}

/** E_i of an entry. @param previous E_{i−1}, 32 bytes */
export function nextEffect(
  previous: Uint8Array,
  position: { readonly index: number; readonly term: number },
  writes: EntryWrites,
  sha256: Sha256,
): Uint8Array {
  const writer = new ByteWriter(80)
    .bytes(previous, 32)
    .u64(position.index)
    .u64(position.term)
    .bytes(sha256(encodeWrites(writes)), 32);
  return sha256(writer.finish());
}
