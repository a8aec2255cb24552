import { bytesToHex } from "@event-anchoring/protocol";
import type { Crypto } from "@event-anchoring/protocol";

/** Verdicts remembered; forgetting one costs a verification and nothing else. */
const VERDICTS_MAX = 16_384;

/**
 * The same cryptography, remembering verdicts: a thousand receipts of one checkpoint cost its few signatures once, and
 * a cosignature that was counted is not verified again when its certificate is decided. A verdict is a pure function of
 * key, message and signature; the oldest are forgotten.
 */
export function rememberVerdicts(crypto: Crypto): Crypto {
  const verdicts = new Map<string, boolean>();
  return {
    sha256: crypto.sha256,
    ed25519Verify(publicKey, message, signature) {
      const messageHash = crypto.sha256(message);
      const name = `${bytesToHex(publicKey)}.${bytesToHex(messageHash)}.${bytesToHex(signature)}`;
      let verdict = verdicts.get(name);
      if (verdict === undefined) {
        verdict = crypto.ed25519Verify(publicKey, message, signature);
        const oldest = verdicts.size < VERDICTS_MAX ? undefined : verdicts.keys().next().value;
        if (oldest !== undefined) verdicts.delete(oldest);
        verdicts.set(name, verdict);
      }
      return verdict;
    },
  };
}
