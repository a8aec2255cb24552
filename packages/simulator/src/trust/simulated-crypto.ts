import { type Signer, createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import { type Crypto, concatBytes, equalBytes, utf8ToBytes } from "@event-anchoring/protocol";

const { sha256 } = nodeCrypto;
const MARK = utf8ToBytes("simulated signature");

/**
 * Signatures that cost two hashes instead of an Ed25519 multiplication, made under real public keys. Anyone with a
 * public key could make them, but no simulated process forges them. Other signatures are verified for real.
 */
export const simulatedCrypto: Crypto = {
  sha256,
  ed25519Verify: (publicKey, message, signature) =>
    equalBytes(signature, signatureOf(publicKey, message)) ||
    (!startsAlike(signature, publicKey) && nodeCrypto.ed25519Verify(publicKey, message, signature)),
};

/** The same person every time: key and signatures are a function of the name. */
export function simulatedSigner(name: string): Signer {
  const known = SIGNERS.get(name);
  if (known !== undefined) return known;
  const { publicKey } = realSigner(name);
  const signer = { publicKey, sign: (message: Uint8Array) => signatureOf(publicKey, message) };
  SIGNERS.set(name, signer);
  return signer;
}

/** A real Ed25519 signer, for what is verified without simulated crypto: the trust root. */
export function realSigner(name: string): Signer {
  return createSigner(sha256(utf8ToBytes(`simulated key of ${name}`)));
}

const SIGNERS = new Map<string, Signer>();

function signatureOf(publicKey: Uint8Array, message: Uint8Array): Uint8Array {
  const digest = sha256(concatBytes(MARK, publicKey, message));
  const signature = new Uint8Array(64);
  signature.set(publicKey.subarray(0, 32), 0);
  signature.set(digest, 32);
  return signature;
}

/** Made by the function above, for another message or with a bit turned. */
function startsAlike(signature: Uint8Array, publicKey: Uint8Array): boolean {
  return equalBytes(signature.subarray(0, 32), publicKey);
}
