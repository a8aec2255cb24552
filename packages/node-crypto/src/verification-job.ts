/** Signatures on their way to the verifying thread. */
import { ByteReader, ByteWriter } from "@event-anchoring/protocol";
import type { Ed25519Verify } from "@event-anchoring/protocol";

export interface SignedMessage {
  readonly publicKey: Uint8Array;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

/** In one piece: a message between threads copies the whole memory behind every array that it names. */
export function encodeJob(signed: readonly SignedMessage[]): Uint8Array {
  const writer = new ByteWriter(signed.length * 512);
  for (const { publicKey, message, signature } of signed)
    writer.lengthPrefixed32(publicKey).lengthPrefixed32(message).lengthPrefixed32(signature);
  return writer.finish();
}

/** The verdicts of a job, in its order: 1 for a good signature, 0 for another. */
export function verdictsOf(job: Uint8Array, verify: Ed25519Verify): Uint8Array {
  const reader = new ByteReader(job);
  const verdicts: number[] = [];
  while (reader.remaining > 0) {
    const isGood = verify(reader.lengthPrefixed32(), reader.lengthPrefixed32(), reader.lengthPrefixed32());
    verdicts.push(isGood ? 1 : 0);
  }
  return Uint8Array.from(verdicts);
}
