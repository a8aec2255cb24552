/** Commands about claims, grants, their revocations, and erasures of client event ids, as bytes. */
import { DecodeError, REVOCATION_REASONS, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import type { ByteReader, ByteWriter } from "@event-anchoring/protocol";
import {
  readCredential,
  readFlags,
  readOptionalCredential,
  readSigner,
  writeCredential,
  writeOptionalCredential,
  writeSigner,
} from "./field-codec.ts";
import type {
  EraseClientEventCommand,
  RecordClaimCommand,
  RecordGrantCommand,
  RecordRevocationCommand,
} from "./command.ts";

/** @throws RangeError if a field is out of its bounds; so do the other writers */
export function writeRecordClaim(writer: ByteWriter, { credential, claim }: RecordClaimCommand): void {
  writeCredential(writer, credential);
  writer
    .bytes(claim.originFingerprint, 32)
    .bytes(claim.entityFingerprint, 32)
    .u32(claim.attributeType)
    .bytes(claim.attributeHash, 32)
    .u64(claim.issuedAt)
    .u64(claim.expiresAt)
    .bytes(claim.subjectPublicKey, 32)
    .bytes(claim.subjectSignature, 64)
    .bytes(claim.issuerPublicKey, 32)
    .bytes(claim.issuerSignature, 64);
}

/** Reads bytes that may be attacker-controlled; so do the other readers. @throws DecodeError */
export function readRecordClaim(reader: ByteReader): RecordClaimCommand {
  const credential = readCredential(reader);
  const claim = {
    originFingerprint: toOriginFingerprint(reader.bytes(32)),
    entityFingerprint: reader.bytes(32),
    attributeType: reader.u32(),
    attributeHash: reader.bytes(32),
    issuedAt: reader.u64(),
    expiresAt: reader.u64(),
    subjectPublicKey: reader.bytes(32),
    subjectSignature: reader.bytes(64),
    issuerPublicKey: reader.bytes(32),
    issuerSignature: reader.bytes(64),
  };
  return { kind: "record_claim", credential, claim };
}

export function writeRecordGrant(writer: ByteWriter, { credential, grant }: RecordGrantCommand): void {
  writeCredential(writer, credential);
  writer
    .bytes(grant.originFingerprint, 32)
    .bytes(grant.grantorClaimRef, 32)
    .bytes(grant.granteeClaimRef, 32)
    .bytes(grant.parentGrantRef, 32)
    .bytes(grant.scopeHash, 32)
    .u32(grant.delegationDepth)
    .u64(grant.issuedAt)
    .u64(grant.notBefore)
    .u64(grant.expiresAt)
    .bytes(grant.grantorPublicKey, 32)
    .bytes(grant.grantorSignature, 64)
    .bytes(grant.witnessPublicKey, 32)
    .bytes(grant.witnessSignature, 64);
}

export function readRecordGrant(reader: ByteReader): RecordGrantCommand {
  const credential = readCredential(reader);
  const grant = {
    originFingerprint: toOriginFingerprint(reader.bytes(32)),
    grantorClaimRef: reader.bytes(32),
    granteeClaimRef: reader.bytes(32),
    parentGrantRef: reader.bytes(32),
    scopeHash: reader.bytes(32),
    delegationDepth: reader.u32(),
    issuedAt: reader.u64(),
    notBefore: reader.u64(),
    expiresAt: reader.u64(),
    grantorPublicKey: reader.bytes(32),
    grantorSignature: reader.bytes(64),
    witnessPublicKey: reader.bytes(32),
    witnessSignature: reader.bytes(64),
  };
  return { kind: "record_grant", credential, grant };
}

const REVOKES_GRANT = 1;
const REVOCATION_NAMES_ORIGIN = 2;
const REVOCATION_IS_SIGNED = 4;
const REVOCATION_FLAGS = REVOKES_GRANT | REVOCATION_NAMES_ORIGIN | REVOCATION_IS_SIGNED;

const SIGNED_TWICE = "an operator's revocation is signed by its act alone";

export function writeRecordRevocation(
  writer: ByteWriter,
  command: RecordRevocationCommand | RecordRevocationCommand<null>,
): void {
  const { revocation, credential } = command;
  const { originFingerprint, signer, reason } = revocation;
  if (reason >= REVOCATION_REASONS.length) throw new RangeError(`no revocation reason has the number ${reason}`);
  if (credential === null && signer !== null) throw new RangeError(SIGNED_TWICE);
  writeOptionalCredential(writer, credential);
  writer
    .u8(
      (revocation.targetKind === "grant" ? REVOKES_GRANT : 0) |
        (originFingerprint === null ? 0 : REVOCATION_NAMES_ORIGIN) |
        (signer === null ? 0 : REVOCATION_IS_SIGNED),
    )
    .bytes(revocation.targetAnchorId, 32)
    .bytes(revocation.targetOriginFingerprint, 32)
    .u8(reason)
    .u64(revocation.suspectSince)
    .u64(revocation.issuedAt);
  if (originFingerprint !== null) writer.bytes(originFingerprint, 32);
  if (signer !== null) writeSigner(writer, signer);
}

function readReason(reader: ByteReader): number {
  const reason = reader.u8();
  if (reason >= REVOCATION_REASONS.length) throw new DecodeError("value_invalid", `unknown reason ${reason}`);
  return reason;
}

export function readRecordRevocation(reader: ByteReader): RecordRevocationCommand | RecordRevocationCommand<null> {
  const credential = readOptionalCredential(reader);
  const flags = readFlags(reader, REVOCATION_FLAGS);
  const revocation = {
    targetKind: (flags & REVOKES_GRANT) === 0 ? ("claim" as const) : ("grant" as const),
    targetAnchorId: toAnchorId(reader.bytes(32)),
    targetOriginFingerprint: toOriginFingerprint(reader.bytes(32)),
    reason: readReason(reader),
    suspectSince: reader.u64(),
    issuedAt: reader.u64(),
    originFingerprint: (flags & REVOCATION_NAMES_ORIGIN) === 0 ? null : toOriginFingerprint(reader.bytes(32)),
    signer: (flags & REVOCATION_IS_SIGNED) === 0 ? null : readSigner(reader),
  };
  if (credential !== null) return { kind: "record_revocation", credential, revocation };
  if (revocation.signer !== null) throw new DecodeError("value_invalid", SIGNED_TWICE);
  return { kind: "record_revocation", credential, revocation };
}

export function writeEraseClientEvent(
  writer: ByteWriter,
  command: EraseClientEventCommand | EraseClientEventCommand<null>,
): void {
  writeOptionalCredential(writer, command.credential);
  writer.bytes(command.anchorId, 32);
}

export function readEraseClientEvent(reader: ByteReader): EraseClientEventCommand | EraseClientEventCommand<null> {
  const credential = readOptionalCredential(reader);
  const anchorId = toAnchorId(reader.bytes(32));
  if (credential === null) return { kind: "erase_client_event", credential, anchorId };
  return { kind: "erase_client_event", credential, anchorId };
}
