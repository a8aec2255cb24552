/** Who signs: a key in this process, an HSM, a service of yours. */
import { bytesToHex } from "@event-anchoring/protocol";
import { verifySignature } from "./crypto.ts";
import { SigningFailed } from "./errors.ts";
import { bytes32, bytes64 } from "./inputs.ts";
import type { Bytes32, Bytes64 } from "./inputs.ts";
import type { Payload, SignerRole } from "./payload.ts";

/** A party's key, wherever it is. Ed25519 (RFC 8032) over the payload as it is, without hashing it before. */
export interface Signer {
  readonly publicKey: Bytes32;
  /** @returns 64 bytes or 128 hex digits, at once or later */
  sign(payload: Uint8Array, role: SignerRole): Bytes64 | Promise<Bytes64>;
}

/** A signer out of a public key and a callback, which an HSM, say, answers. */
export function signerOf(publicKey: Bytes32, sign: Signer["sign"]): Signer {
  return Object.freeze({ publicKey: bytes32("publicKey", publicKey), sign });
}

/** Refuses a signature that the service would refuse. @throws SigningFailed */
export function checkSignature(payload: Payload, signature: Uint8Array): void {
  const { publicKey, role, bytes } = payload;
  if (publicKey !== null && verifySignature(publicKey, bytes, signature)) return;
  const key = publicKey === null ? "no key" : bytesToHex(publicKey);
  throw new SigningFailed(`the ${role}'s signature is not by ${key} over its ${bytes.length} bytes`);
}

/**
 * Asks for a signature and checks it.
 * @throws SigningFailed whatever the signer threw is its cause
 */
export async function signWith(signer: Signer, payload: Payload): Promise<Uint8Array> {
  const signature = await answerOf(signer, payload);
  checkSignature(payload, signature);
  return signature;
}

async function answerOf(signer: Signer, payload: Payload): Promise<Uint8Array> {
  try {
    // A copy: a signer may keep or change its argument.
    return bytes64(`${payload.role}Signature`, await signer.sign(Uint8Array.from(payload.bytes), payload.role));
  } catch (error) {
    if (error instanceof SigningFailed) throw error;
    throw new SigningFailed(`the ${payload.role}'s signer gave no signature`, { cause: error });
  }
}
