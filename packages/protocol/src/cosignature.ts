/** C2SP tlog-cosignature, cosignature/v1: "as of that time, the largest consistent tree I have seen of this origin". */
import { utf8ToBytes } from "./bytes.ts";
import type { Ed25519Verify, Sha256 } from "./crypto.ts";
import { ByteReader, ByteWriter, DecodeError } from "./encoding.ts";
import { VKEY_TYPE, keyIdOf } from "./note.ts";
import type { SignatureLine } from "./note.ts";

/** Time u64 and signature: what follows the key id on a cosignature line. */
const BLOB_BYTES = 72;

export interface Cosignature {
  /** Unix seconds. */
  readonly timeS: number;
  /** 64 bytes over cosignatureMessage(timeS, checkpoint text). */
  readonly signature: Uint8Array;
}

/** `cosignature/v1`, the time, then the whole checkpoint text without signatures. The signer's name is not in it. */
export function cosignatureMessage(timeS: number, checkpointText: string): Uint8Array {
  if (!Number.isSafeInteger(timeS) || timeS < 0) throw new RangeError(`not a time in seconds: ${timeS}`);
  return utf8ToBytes(`cosignature/v1\ntime ${timeS}\n${checkpointText}`);
}

/** The line (type 0x04) that carries a cosignature; `name` is the cosigner's. */
export function cosignatureLine(
  cosignature: Cosignature & { readonly name: string; readonly publicKey: Uint8Array },
  sha256: Sha256,
): SignatureLine {
  const { name, publicKey, timeS, signature } = cosignature;
  return {
    name,
    keyId: keyIdOf(name, VKEY_TYPE.cosignature, publicKey, sha256),
    signature: new ByteWriter(BLOB_BYTES).u64(timeS).bytes(signature, 64).finish(),
  };
}

/** Reads the line of a key known to be of type 0x04. @throws DecodeError `length_wrong` or `integer_unsafe` */
export function parseCosignatureLine(line: SignatureLine): Cosignature {
  if (line.signature.length !== BLOB_BYTES) {
    throw new DecodeError("length_wrong", `a cosignature has ${BLOB_BYTES} bytes, got ${line.signature.length}`);
  }
  const reader = new ByteReader(line.signature);
  const cosignature: Cosignature = { timeS: reader.u64(), signature: reader.bytes(64) };
  reader.finish();
  return cosignature;
}

export function verifyCosignature(
  cosignature: Cosignature & { readonly publicKey: Uint8Array; readonly checkpointText: string },
  verify: Ed25519Verify,
): boolean {
  const message = cosignatureMessage(cosignature.timeS, cosignature.checkpointText);
  return verify(cosignature.publicKey, message, cosignature.signature);
}
