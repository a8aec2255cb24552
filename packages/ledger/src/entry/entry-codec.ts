/**
 * Groups and entries as bytes. A leader decodes every group that it packs, and a follower every entry that it accepts:
 * so a committed one always decodes.
 */
import {
  ByteReader,
  ByteWriter,
  DecodeError,
  asciiToBytes,
  bytesToAscii,
  isNodeId,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import { readFlag } from "./field-codec.ts";
import { readCommand, writeCommand } from "./command-codec.ts";
import type { Certificate, Command, Cosignature, Entry, GroupId, ProposalGroup } from "./command.ts";
import { LedgerHaltError } from "./halt.ts";
import { LIMITS } from "./limits.ts";
import { RELEASE_RULES } from "./rules.ts";
import type { RuleTable } from "./rules.ts";

const GROUP_VERSION = 1;
/** Version, certify bit and stamp of an entry come before its counts. */
const ENTRY_COUNTS_AT = 10;
const TWO_32 = 0x1_0000_0000n;

/** The 24 bytes of a group id: raft id, incarnation and counter as u64. */
export function writeGroupId(writer: ByteWriter, id: GroupId): void {
  if (id.node < 0n || id.node >= TWO_32 * TWO_32) throw new RangeError("a raft id is a u64");
  writer.u32(Number(id.node / TWO_32)).u32(Number(id.node % TWO_32));
  writer.u64(id.incarnation).u64(id.counter);
}

function readGroupId(reader: ByteReader): GroupId {
  const high = BigInt(reader.u32());
  const node = high * TWO_32 + BigInt(reader.u32());
  return { node, incarnation: reader.u64(), counter: reader.u64() };
}

/** The bytes of writeGroupId. */
export function encodeGroupId(id: GroupId): Uint8Array {
  const writer = new ByteWriter(24);
  writeGroupId(writer, id);
  return writer.finish();
}

/** @throws DecodeError */
export function decodeGroupId(bytes: Uint8Array): GroupId {
  const reader = new ByteReader(bytes);
  const id = readGroupId(reader);
  reader.finish();
  return id;
}

/** A group whose commands may already be bytes, as their submitter encoded them. */
export interface GroupToEncode extends Omit<ProposalGroup, "commands"> {
  readonly commands: readonly (Uint8Array | Command)[];
}

/** @throws RangeError if the group has no command, too many, or one out of its bounds */
export function encodeGroup(group: GroupToEncode): Uint8Array {
  const count = group.commands.length;
  if (count < 1 || count > LIMITS.entryCommandsMax)
    throw new RangeError(`a group has 1 to ${LIMITS.entryCommandsMax} commands, got ${count}`);
  const writer = new ByteWriter(256).u8(GROUP_VERSION);
  writeGroupId(writer, group.id);
  writer.u64(group.notAfter).u16(count);
  for (const command of group.commands) {
    if (command instanceof Uint8Array) writer.bytes(command);
    else writeCommand(writer, command);
  }
  return writer.finish();
}

/** Reads bytes that may be attacker-controlled. @throws DecodeError */
export function decodeGroup(bytes: Uint8Array): ProposalGroup {
  const reader = new ByteReader(bytes);
  const version = reader.u8();
  if (version !== GROUP_VERSION) throw new DecodeError("value_invalid", `unknown group version ${version}`);
  const id = readGroupId(reader);
  const notAfter = reader.u64();
  const count = reader.u16();
  if (count < 1 || count > LIMITS.entryCommandsMax)
    throw new DecodeError("value_invalid", `a group of ${count} commands`);
  const commands: Command[] = [];
  for (let position = 0; position < count; position++) commands.push(readCommand(reader));
  reader.finish();
  return { id, notAfter, commands };
}

function writeCosignature(writer: ByteWriter, cosignature: Cosignature): void {
  if (!isNodeId(cosignature.nodeId)) throw new RangeError(`not a node id: ${cosignature.nodeId}`);
  const nodeId = asciiToBytes(cosignature.nodeId);
  writer.u8(nodeId.length).bytes(nodeId).u64(cosignature.timeS).bytes(cosignature.signature, 64);
}

function readCosignature(reader: ByteReader): Cosignature {
  const bytes = reader.view(reader.u8());
  const nodeId = bytes.every((byte) => byte < 0x80) ? bytesToAscii(bytes) : "";
  if (!isNodeId(nodeId)) throw new DecodeError("value_invalid", "not a node id");
  return { nodeId, timeS: reader.u64(), signature: reader.bytes(64) };
}

export function writeCertificate(writer: ByteWriter, certificate: Certificate): void {
  const count = certificate.cosignatures.length;
  if (count > LIMITS.certificateCosignaturesMax) throw new RangeError(`a certificate of ${count} cosignatures`);
  writer.bytes(certificate.originFingerprint, 32).u64(certificate.treeSize).bytes(certificate.rootHash, 32).u8(count);
  for (const cosignature of certificate.cosignatures) writeCosignature(writer, cosignature);
}

function readCertificate(reader: ByteReader): Certificate {
  const originFingerprint = toOriginFingerprint(reader.bytes(32));
  const treeSize = reader.u64();
  const rootHash = reader.bytes(32);
  const count = reader.u8();
  if (count > LIMITS.certificateCosignaturesMax)
    throw new DecodeError("value_invalid", `a certificate of ${count} cosignatures`);
  const cosignatures: Cosignature[] = [];
  for (let position = 0; position < count; position++) cosignatures.push(readCosignature(reader));
  return { originFingerprint, treeSize, rootHash, cosignatures };
}

/** An entry whose groups may already be bytes, as they came from the node that proposes them. */
export interface EntryToEncode extends Omit<Entry, "groups"> {
  readonly groups: readonly (Uint8Array | ProposalGroup)[];
}

/** @throws RangeError if a count, a field or the whole is out of its bounds */
export function encodeEntry(entry: EntryToEncode): Uint8Array {
  const { certificates, groups } = entry;
  if (certificates.length > LIMITS.entryCertificatesMax)
    throw new RangeError(`an entry of ${certificates.length} certificates`);
  if (groups.length > LIMITS.entryGroupsMax) throw new RangeError(`an entry of ${groups.length} groups`);
  const writer = new ByteWriter(1024)
    .u8(entry.version)
    .u8(entry.certify ? 1 : 0)
    .u64(entry.acceptedMs)
    .u16(certificates.length)
    .u16(groups.length);
  for (const certificate of certificates) writeCertificate(writer, certificate);
  for (const group of groups) writer.lengthPrefixed32(group instanceof Uint8Array ? group : encodeGroup(group));
  if (writer.length > LIMITS.entryBytesMax) throw new RangeError(`an entry of ${writer.length} bytes is too large`);
  return writer.finish();
}

/**
 * Reads a committed entry, or one about to be appended.
 * @throws LedgerHaltError `entry_version_unknown` (halt: never skip an entry of a newer program) or `entry_malformed`
 */
export function decodeEntry(bytes: Uint8Array, ruleTable: RuleTable = RELEASE_RULES): Entry {
  try {
    return readEntry(new ByteReader(bytes), ruleTable);
  } catch (error) {
    if (error instanceof DecodeError) throw new LedgerHaltError("entry_malformed", `${error.code}: ${error.message}`);
    throw error;
  }
}

/**
 * The groups of an entry as they were proposed: views of its payload.
 * @param payload of an entry that decodeEntry reads
 */
export function encodedGroups(payload: Uint8Array): Uint8Array[] {
  const reader = new ByteReader(payload);
  reader.view(ENTRY_COUNTS_AT);
  const certificateCount = reader.u16();
  const groupCount = reader.u16();
  for (let position = 0; position < certificateCount; position++) readCertificate(reader);
  return Array.from({ length: groupCount }, () => reader.view(reader.u32()));
}

function readEntry(reader: ByteReader, ruleTable: RuleTable): Entry {
  const version = reader.u8();
  if (!ruleTable.readsEntries(version)) throw new LedgerHaltError("entry_version_unknown", `entry version ${version}`);
  const certify = readFlag(reader);
  const acceptedMs = reader.u64();
  const certificateCount = reader.u16();
  const groupCount = reader.u16();
  if (certificateCount > LIMITS.entryCertificatesMax || groupCount > LIMITS.entryGroupsMax)
    throw new DecodeError("value_invalid", "an entry with too many certificates or groups");
  const certificates: Certificate[] = [];
  for (let position = 0; position < certificateCount; position++) certificates.push(readCertificate(reader));
  const groups: ProposalGroup[] = [];
  for (let position = 0; position < groupCount; position++) groups.push(decodeGroup(reader.view(reader.u32())));
  reader.finish();
  return { version, certify, acceptedMs, certificates, groups };
}
