/** Fields that several commands have: text, flags, credentials, signers. */
import { DecodeError, asciiToBytes, bytesToAscii } from "@event-anchoring/protocol";
import type { ByteReader, ByteWriter } from "@event-anchoring/protocol";
import type { Credential, Signer } from "./command.ts";

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

/** Why a text is not allowed in a command, or null. */
function textFault(text: string, charsMin: number, charsMax: number): string | null {
  if (text.length < charsMin || text.length > charsMax)
    return `expected ${charsMin} to ${charsMax} characters, got ${text.length}`;
  return PRINTABLE_ASCII.test(text) ? null : "expected printable ASCII";
}

/** @throws RangeError if it is too short, too long or not printable ASCII */
export function writeText(writer: ByteWriter, text: string, charsMin: number, charsMax: number): void {
  const fault = textFault(text, charsMin, charsMax);
  if (fault !== null) throw new RangeError(fault);
  writer.u8(text.length).bytes(asciiToBytes(text));
}

export function readText(reader: ByteReader, charsMin: number, charsMax: number): string {
  const bytes = reader.view(reader.u8());
  if (bytes.some((byte) => byte > 0x7e)) throw new DecodeError("value_invalid", "not ASCII");
  const text = bytesToAscii(bytes);
  const fault = textFault(text, charsMin, charsMax);
  if (fault !== null) throw new DecodeError("value_invalid", fault);
  return text;
}

export function writeFlag(writer: ByteWriter, flag: boolean): void {
  writer.u8(flag ? 1 : 0);
}

/** A boolean has exactly two encodings. */
export function readFlag(reader: ByteReader): boolean {
  const flag = reader.u8();
  if (flag > 1) throw new DecodeError("value_invalid", `a flag is 0 or 1, got ${flag}`);
  return flag === 1;
}

/** Reads a byte of flags, none of which is unknown. @param known the bits with a meaning */
export function readFlags(reader: ByteReader, known: number): number {
  const flags = reader.u8();
  if ((flags & ~known) !== 0) throw new DecodeError("value_invalid", `unknown flags ${flags}`);
  return flags;
}

export function writeCredential(writer: ByteWriter, credential: Credential): void {
  writer.bytes(credential.apiClientId, 16).bytes(credential.keyId, 16);
}

export function readCredential(reader: ByteReader): Credential {
  return { apiClientId: reader.bytes(16), keyId: reader.bytes(16) };
}

/** @param credential null: none, since it is an operator's command */
export function writeOptionalCredential(writer: ByteWriter, credential: Credential | null): void {
  writeFlag(writer, credential !== null);
  if (credential !== null) writeCredential(writer, credential);
}

export function readOptionalCredential(reader: ByteReader): Credential | null {
  return readFlag(reader) ? readCredential(reader) : null;
}

export function writeSigner(writer: ByteWriter, signer: Signer): void {
  writer.bytes(signer.publicKey, 32).bytes(signer.signature, 64);
}

export function readSigner(reader: ByteReader): Signer {
  return { publicKey: reader.bytes(32), signature: reader.bytes(64) };
}
